"""What J is at a point that a solver has found, for who is to certify it."""

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from gapfit import limits
from gapfit._types import Slope, Vector
from gapfit.solution import Iterate

if TYPE_CHECKING:
    from gapfit.driver.best import Best

__all__ = ["looked"]

_LAST_OFFSETS = 0.3  # seconds for the offsets of the last iterate when time is up


def looked(best: "Best", w: Slope, iterate: Iterate) -> tuple[Slope, float, Vector, Vector | None]:
    """The point, J there at its best offsets, these, and the scores if they are known.

    A look that is likely to be the last one is at the point in the precision of the data, which is what will
    be returned: to look at it as it is as well would cost another pass. Unless that spoils the tolerance.
    """
    rounded = best.problem.penalty.rounded(w, best.problem.dtype)
    claimed = iterate.objective() if callable(iterate.objective) else iterate.objective
    if rounded is not w and claimed is not None and best.would_do(claimed):
        wide = rounded.astype(np.float64, copy=False)
        primal, b, scores = _value(best, wide, iterate.b)
        if best.would_do(primal):
            return wide, primal, b, scores
    return w, *_value(best, w, iterate.b)


def _value(best: "Best", w: Slope, b: Vector) -> tuple[float, Vector, Vector | None]:
    """J(w, b) at the best offsets, these, and the scores if they are known; or, where time is up before the
    best offsets are found, at those given."""
    try:
        with limits.until(max(best.deadline, perf_counter()), _LAST_OFFSETS):
            return best.problem.best(w, b)
    except limits.TimeUp:
        return best.problem.evaluate(w, b), b, None
