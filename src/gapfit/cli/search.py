"""`gapfit train --alpha search`: the alpha of the least cross-validated error in a range, with a proof."""

from typing import Any

import click

from gapfit.cli.options import together
from gapfit.estimators import LinearClassifier, LinearRegressor
from gapfit.estimators.alpha_search import AlphaSearchCV
from gapfit.selection.measures import LABELS, NUMBERS

SEARCH = "search"


class Alpha(click.ParamType):  # type: ignore[type-arg]  # generic in new versions only
    """A number, or the word that asks for a search."""

    name = "number|search"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            return value if value == SEARCH else float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor {SEARCH!r}", param, ctx)


search_options = together(
    click.option(
        "--alpha",
        type=Alpha(),
        help="Weight of the penalty; the loss is a mean. 'search': the best one by cross-validation over the "
        "whole of --alpha-range, with a proof [default: 0.0001].",
    ),
    click.option(
        "--alpha-range", type=float, nargs=2, default=(1e-4, 1.0), show_default=True,
        help="For --alpha search.",
    ),
    click.option(
        "--scoring", type=click.Choice([*LABELS, *NUMBERS]),
        help="For --alpha search [default: accuracy or mse].",
    ),
    click.option(
        "--eps", type=float, default=0.01, show_default=True,
        help="For --alpha search: how much better another alpha may be at most.",
    ),
    click.option("--max-fits", type=int, help="For --alpha search: the most fits."),
)  # fmt: skip


def make_search(estimator: Any, asked: dict[str, Any]) -> AlphaSearchCV:
    """The search that the options describe."""
    if not isinstance(estimator, LinearClassifier | LinearRegressor):
        raise click.UsageError("--alpha search is for classification and regression")
    if estimator.checkpoint is not None:
        raise click.UsageError(
            "--checkpoint keeps one fit, and --alpha search makes many; leave one of them out"
        )
    names = ("alpha_range", "scoring", "eps", "max_fits", "max_time")
    return AlphaSearchCV(estimator, **{name: asked[name] for name in names})


def told(search: AlphaSearchCV) -> tuple[str, dict[str, Any]]:
    """What a person and a machine want to know of a search."""
    facts = {
        "best_alpha": search.best_alpha_,
        "best_error": search.best_error_,
        "proven_regret": search.proven_regret_,
        "open_ranges": search.open_ranges_,
        "fits": search.n_fits_,
    }
    words = (
        f"alpha {search.best_alpha_:.6g}: error {search.best_error_:.6g}, proved to be within "
        f"{search.proven_regret_:.3g} of any in the range; {search.n_fits_} fits"
    )
    if search.open_ranges_:
        shown = ", ".join(f"{least:.4g} to {most:.4g}" for least, most in search.open_ranges_[:5])
        words += f"; open: {shown}{', ...' if len(search.open_ranges_) > 5 else ''}"
    return words, facts
