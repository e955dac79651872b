"""What a fit in one call is given: see `in_one_call`."""

from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from gapfit._types import Vector
from gapfit.design.memory import MemoryDesign
from gapfit.errors import as_positive
from gapfit.losses.base import Loss
from gapfit.penalties import Penalty
from gapfit.penalties.forms import Everywhere, Net

__all__ = ["Plain"]

FILLED = 4  # times as many entries as are stored, at most, has a matrix that is sooner passed as a dense one
MOST = 4_000_000  # of them


class Plain(NamedTuple):
    """Samples in double precision, a loss, and a penalty of l1 and l2 everywhere, alpha included."""

    design: MemoryDesign
    weight: Vector
    loss: Loss
    net: Net
    intercept: bool

    @classmethod
    def of(
        cls, design: MemoryDesign, weight: Vector, loss: Loss, penalty: Penalty, alpha: float, intercept: bool
    ) -> Self | None:
        """None, where it is more than that."""
        if design.dtype != np.float64:
            return None
        net = penalty.form(Net)
        if net is None or not penalty.has(Everywhere):
            return None
        alpha = float(as_positive("alpha", alpha))
        return cls(_filled(design), weight, loss, Net(alpha * net.l1, alpha * net.l2), intercept)


def _filled(design: MemoryDesign) -> MemoryDesign:
    """Sparse rows that are nearly full, as dense ones: entries that need not be looked up are passed several
    at a time."""
    n, d = design.shape
    if not sparse.issparse(design.X) or n * d > min(FILLED * design.size, MOST):
        return design
    return MemoryDesign(design.X.toarray())
