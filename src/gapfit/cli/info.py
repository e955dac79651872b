"""`gapfit info model`: what a model file holds."""

from typing import Any

import click
import numpy as np

from gapfit.cli.files import output_format, say
from gapfit.persistence import load


@click.command()
@click.argument("model")
@output_format
def info(model: str, *, output: str) -> int:
    """Show the parameters of MODEL, its certificate and its largest weights."""
    fitted = load(model)
    shown: dict[str, Any] = {"class": type(fitted).__name__, "parameters": fitted.get_params()}
    if hasattr(fitted, "coef_"):
        shown |= {
            "status": fitted.status_.value,
            "objective": fitted.objective_,
            "bound": fitted.dual_objective_,
            "gap": fitted.dual_gap_,
            "alpha": fitted.alpha_,
            "C": fitted.C_,
            "features": fitted.n_features_in_,
            "nonzero weights": int(np.count_nonzero(fitted.coef_)),
            "intercept": fitted.intercept_,
        }
        if hasattr(fitted, "classes_"):
            shown["classes"] = fitted.classes_
        shown["largest weights"] = _largest(fitted)
    say(output, "\n".join(_lines(shown)), shown)
    return 0


def _largest(fitted: Any, count: int = 10) -> list[tuple[str, float]]:
    """The features whose weights are largest in any of the parts."""
    weights = np.atleast_2d(fitted.coef_)
    size = np.abs(weights).max(axis=0)
    names = getattr(fitted, "feature_names_in_", None)
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
