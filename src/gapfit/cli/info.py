"""`gapfit info model`: what a model file holds."""

from typing import Any

import click
import numpy as np

from gapfit.cli.files import output_format, say
from gapfit.cli.tables import opened

# what a file says of a model, and the attribute that has it
SHOWN = {
    "objective": "objective_", "bound": "dual_objective_", "gap": "dual_gap_", "alpha": "alpha_", "C": "C_",
    "features": "n_features_in_", "support vectors": "n_support_", "thresholds": "thresholds_",
    "intercept": "intercept_", "classes": "classes_",
}  # fmt: skip


@click.command()
@click.argument("model")
@output_format
def info(model: str, *, output: str) -> int:
    """Show the parameters of MODEL, its certificate and its largest weights."""
    loaded = opened(model)
    fitted = loaded.model
    shown: dict[str, Any] = {"class": type(fitted).__name__, "parameters": fitted.get_params()}
    if loaded.encoder is not None:
        shown["table"] = _table(loaded.encoder)
    shown |= {
        name: getattr(fitted, attribute) for name, attribute in SHOWN.items() if _has(fitted, attribute)
    }
    shown["status"] = fitted.status_.value
    if _has(fitted, "coef_"):
        shown["nonzero weights"] = int(np.count_nonzero(fitted.coef_))
        shown["largest weights"] = largest(fitted, loaded.names)
    say(output, "\n".join(_lines(shown)), shown)
    return 0


def _has(fitted: Any, attribute: str) -> bool:
    """Is it there, as a plain value? Some are only for some kernels and losses."""
    return getattr(fitted, attribute, None) is not None


def _table(encoder: Any) -> dict[str, Any]:
    """What becomes of the columns of a table."""
    words = dict(zip(encoder.categorical, encoder.categories_, strict=True))
    told = {name: f"one of {len(column)} words" for name, column in words.items()}
    filled = dict(zip((name for name in encoder.columns_ if name not in words), encoder.fill_, strict=True))
    gaps = "refused" if encoder.missing == "refuse" else f"filled in with the {encoder.missing}"
    return {
        str(name): told.get(name) or (f"a number; gaps are {gaps}" + _by(encoder, float(filled[name])))
        for name in encoder.columns_
    }


def _by(encoder: Any, value: float) -> str:
    return "" if encoder.missing == "refuse" else f", {value:.6g}"


def largest(fitted: Any, names: Any, count: int = 10) -> list[tuple[str, float]]:
    """The features whose weights are largest in any of the parts."""
    weights = np.atleast_2d(fitted.coef_)
    size = np.abs(weights).max(axis=0)
    order = [k for k in np.argsort(-size)[:count] if size[k] > 0]
    strongest = weights[np.abs(weights).argmax(axis=0), np.arange(weights.shape[1])]
    return [(str(names[k]) if names is not None else f"feature {k + 1}", float(strongest[k])) for k in order]


def _lines(shown: dict[str, Any]) -> list[str]:
    lines = []
    for key, value in shown.items():
        if isinstance(value, dict):
            lines += [f"{key}:", *(f"  {name} = {inner!r}" for name, inner in value.items())]
        elif isinstance(value, list):
            lines += [f"{key}:", *(f"  {name}  {weight:.6g}" for name, weight in value)]
        else:
            lines.append(f"{key}: {value}")
    return lines
