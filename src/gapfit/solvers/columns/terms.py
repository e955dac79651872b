"""L1, L2 and the elastic net, in a box or not, as sums over columns."""

from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Indices, Matrix, Slope, Vector
from gapfit.penalties.forms import Net
from gapfit.problem import Problem
from gapfit.solvers.columns.glide import glide


class Terms(NamedTuple):
    """alpha * Omega(w) = l1 |w|_1 + l2 |w|^2 / 2 over lower <= w <= upper."""

    l1: float
    l2: float
    lower: Vector
    upper: Vector

    @classmethod
    def of(cls, problem: Problem) -> "Terms":
        net = problem.form(Net)
        bounds = (np.array(bound) for bound in problem.penalty.bounds(problem.design.shape[1]))
        return cls(problem.alpha * net.l1, problem.alpha * net.l2, *bounds)

    def take(self, columns: Indices) -> "Terms":
        """Those of some columns."""
        return self._replace(lower=self.lower[columns], upper=self.upper[columns])

    def value(self, w: Slope) -> float:
        """alpha * Omega(w), for w within the bounds."""
        return self.l1 * float(np.abs(w).sum()) + 0.5 * self.l2 * float(w @ w)

    def changes(self, w: Slope, target: Slope) -> Vector:
        """How much each coordinate's penalty grows from w to the target, also where that is little."""
        middle = 0.5 * (target + w)
        return self.l1 * (np.abs(target) - np.abs(w)) + self.l2 * (target - w) * middle

    def slope(self, w: Slope, way: Slope) -> float:
        """How fast alpha * Omega grows along the way from w."""
        signs = np.where(w == 0, np.sign(way), np.sign(w))
        return float(way @ (self.l1 * signs + self.l2 * w))

    def urges(self, a: Slope, w: Slope) -> Vector:
        """See `compiled.columns.urges`."""
        from gapfit.compiled.columns import urges

        return np.asarray(urges(a, w, self))

    @property
    def selects(self) -> bool:
        """Does it keep weights at zero whose derivatives are small?"""
        return self.l1 > 0

    def within_reach(self, most: Slope) -> Any:
        """Whose derivatives, of this size at most, could move a weight from zero."""
        return most >= self.l1

    def whole(self, chosen: Any) -> Any:
        """Those chosen, and all that must go with them."""
        return chosen

    def signs(self, w: Slope) -> Vector:
        """What is settled when it no longer changes."""
        return np.sign(w)

    def sweep(self, columns: Any, chosen: Indices, model: Any, w: Slope, shift: float) -> tuple[float, float]:
        """See `compiled.columns.sweep`."""
        from gapfit.compiled.columns import sweep

        worst, shift = sweep(columns, chosen, model, self, w, shift)
        return float(worst), float(shift)

    def sweep_matrix(self, H: Matrix, w: Slope, a: Slope) -> float:
        """See `compiled.columns.sweep_matrix`."""
        from gapfit.compiled.columns import sweep_matrix

        return float(sweep_matrix(H, w, a, self))

    def glide(self, form: Any, w: Slope, tolerance: float) -> bool:
        """See `columns.glide`."""
        return glide(form, self, w, tolerance)
