"""Needs as they were written before they were types: `needs("smooth", penalty="L2")`."""

import warnings
from typing import Any

from gapfit.design.forms import Plain, Rows
from gapfit.losses.atoms import Atoms
from gapfit.losses.forms import Conjugate, Curvature, Smooth
from gapfit.penalties.forms import Differentiable, Euclidean, Net, Quadratic

_OLD: dict[str, dict[Any, type]] = {
    "loss": {"smooth": Smooth, "curvature": Curvature, "conjugate": Conjugate, "dual_atoms": Atoms},
    "penalty": {"L2": Euclidean, "quadratic": Quadratic, "smooth": Differentiable, "elastic net": Net},
    "design": {"euclidean": Plain, "rows": Rows},
}


def as_forms(needs: tuple[Any, ...], old: dict[str, Any]) -> tuple[Any, ...]:
    """The needs, texts among them replaced by the types they meant."""
    named = [("loss", need) for need in needs if isinstance(need, str)] + list(old.items())
    for part, name in named:
        if name not in _OLD.get(part, {}):
            raise TypeError(f"needs takes types such as gapfit.losses.Atoms, not {part} {name!r}")
    if named:
        instead = tuple(_OLD[part][name] for part, name in named)
        text = f"needs({', '.join(kind.__name__ for kind in instead)})"
        warnings.warn(f"needs takes types instead of texts: {text}", DeprecationWarning, stacklevel=4)
        return (*(need for need in needs if not isinstance(need, str)), *instead)
    return needs
