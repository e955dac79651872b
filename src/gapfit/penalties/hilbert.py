"""The norm of a reproducing kernel Hilbert space, in terms of the coefficients of a kernel expansion."""

from typing import Any

import numpy as np

from gapfit._types import Data, Matrix, Slope, Vector
from gapfit.penalties.base import Penalty
from gapfit.proofs import near_square, square
from gapfit.rounding import EPS, Estimate, exact_dot


class HilbertNorm(Penalty):
    """1/2 w'Kw, where a kernel design gives inner products w'Kw: what L2 becomes there.

    Slopes are coefficients as well, so that the pairing <mu, w> is mu'Kw and the conjugate is 1/2 mu'K mu.
    """

    modulus = 1.0
    inner_product = True
    quadratic = True
    smooth = True

    def __init__(self, design: Any, plain: Penalty) -> None:
        self.design, self.plain = design, plain

    def value(self, w: Slope) -> float:
        return 0.5 * max(float(self.design.inner(w, w)), 0.0)

    def conjugate(self, mu: Slope) -> float:
        return self.value(mu)

    def value_above(self, w: Slope, *, exact: bool = False) -> Estimate:
        """w'Kw is a sum over pairs of samples, which may cancel; but no function has a negative square."""
        precise = self.design.precise_scores(w) if exact else None
        if precise is not None:
            first, second = exact_dot(w, precise.high), exact_dot(w, precise.low)
            value = first.value + second.value
            error = first.error + second.error + float(np.abs(w) @ precise.slack) + EPS * abs(value)
            return self._positive(0.5 * value, 0.5 * error)
        size, scores = np.abs(w), self.design.scores(w)
        slack, absolute = float(size @ self.design.slack(w)), float(size @ np.abs(scores))
        return self._positive(*square(self.design.inner(w, w), absolute, slack, w.size))

    def _positive(self, value: float, error: float) -> Estimate:
        if value < -2 * error:
            raise ValueError(
                f"the kernel matrix is not positive semidefinite: a function has the square {2 * value:.3g}; "
                "add a multiple of the identity"
            )
        return Estimate(max(value, 0.0), error)

    def conjugate_above(self, mu: Slope, slack: float, *, exact: bool = False) -> Estimate:
        return near_square(self.value_above(mu, exact=exact), self.design.length(mu), slack)

    def length(self, w: Slope) -> float:
        return float(np.sqrt(2 * max(self.value_above(w).above, 0.0)))

    def argmax(self, mu: Slope) -> Slope:
        return mu.copy()

    def curvature(self, mu: Slope, V: Matrix) -> Matrix:
        return np.asarray(V.T @ np.stack([self.design.scores(column) for column in V.T], axis=1))

    def subgradient(self, w: Slope) -> Slope:
        return w.copy()

    def prox(self, v: Slope, step: float) -> Slope:
        return v / (1.0 + step)

    def norm(self, w: Slope) -> float:
        return float(np.sqrt(2 * self.value(w)))

    def norm_below(self, w: Slope) -> float:
        return float(np.sqrt(2 * max(self.value_above(w).below, 0.0)))

    def dual_norms(self, X: Data, centre: Vector) -> Vector:
        raise TypeError("distances in a kernel's space are the design's to say")

    def __repr__(self) -> str:
        return repr(self.plain)
