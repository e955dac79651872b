"""`gapfit train -C`: the best of some alphas by cross-validation, as liblinear's -C finds C."""

from typing import Any

import click

from gapfit.estimators import LinearClassifier, LinearClassifierCV, LinearRegressor, LinearRegressorCV
from gapfit.selection.measures import SCORERS

CHOOSERS: dict[type, type] = {LinearClassifier: LinearClassifierCV, LinearRegressor: LinearRegressorCV}
_FOLDS = 5

choose_option = click.option(
    "-C",
    "--choose",
    is_flag=True,
    help="Choose alpha by cross-validation with -v folds [default: 5], then fit. Without MODEL: only tell.",
)


def check_choice(options: dict[str, Any], *, checkpoint: bool) -> None:
    """What does not go with a choice is named."""
    if options["alpha"] is not None or options["C"] is not None or options["metric"] is not None:
        raise click.UsageError("-C chooses alpha; leave --alpha, -c and --metric out")
    if checkpoint:
        raise click.UsageError("--checkpoint keeps one fit, and -C makes many; leave one of them out")


def make_chooser(estimator: Any, folds: int | None, scoring: str | None) -> Any:
    """The estimator, with alphas to choose from in place of one."""
    if type(estimator) not in CHOOSERS:
        raise click.UsageError("-C is for classification and regression")
    if scoring is not None and scoring not in SCORERS:
        raise click.UsageError(f"--scoring {scoring} goes with --alpha search; -C takes {', '.join(SCORERS)}")
    chooser = CHOOSERS[type(estimator)]()
    both = estimator.get_params(deep=False).keys() & chooser.get_params(deep=False).keys()
    chooser.set_params(**{name: getattr(estimator, name) for name in both})
    return chooser.set_params(cv=folds or _FOLDS, scoring=scoring and SCORERS[scoring])


def told(model: Any) -> tuple[str, dict[str, Any]]:
    """What a person and a machine want to know of a choice."""
    table = model.cv_results_
    folds = sum(name.startswith("score_") for name in table)
    words = (
        f"alpha {model.alpha_:.6g} (C {model.C_:.6g}): score {model.best_score_:.6g}, the best of "
        f"{len(table['alpha'])} alphas in {folds} folds"
    )
    facts = {"best_alpha": model.alpha_, "best_score": model.best_score_}
    return words, {**facts, "alphas": table["alpha"], "scores": table["mean_score"]}
