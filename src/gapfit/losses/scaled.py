"""Huber's loss with a scale of its own: the residuals say how wide it is."""

from typing import Any

import numpy as np

from gapfit._types import Target, Vector
from gapfit.errors import as_number
from gapfit.losses.base import FREE, Loss, Risk


class ScaledHuber(Loss):
    """min over s >= 0 of sum_i p_i (s + s H(r_i / s)), H(z) = z^2, or 2 e |z| - e^2 where |z| > e = epsilon.

    The s where that is least, `scale(r)`, is how widely residuals that are no outliers are spread, so
    outliers are those beyond e s, whatever the units of y: scikit-learn's `HuberRegressor`.

    Samples judge each other, so this is a loss of all of them together ::

        R = max of sum_i p_i v_i r_i     over |v_i| <= 2 e, sum_i p_i v_i^2 <= 4,

    a norm of the residuals: that of least squares for large e, that of least absolute errors for small ones.
    """

    target = Target.REAL

    def __init__(self, epsilon: float = 1.35) -> None:
        if not 1 <= as_number("epsilon", epsilon) < np.inf:
            raise ValueError(f"epsilon must be at least 1 and finite, got {epsilon!r}")
        self.epsilon = epsilon

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> "ScaledHuberRisk":
        return ScaledHuberRisk(self, *self.prepare(y, weight))

    def scale(self, residuals: Any, weight: Any = None) -> float:
        """The s where the sum is least."""
        r = np.abs(np.asarray(residuals, dtype=np.float64))
        p = np.ones_like(r) if weight is None else np.asarray(weight, dtype=np.float64)
        return self._scale(r, p / p.sum())

    def _scale(self, size: Vector, p: Vector) -> float:
        """Of absolute residuals: where sum_i p_i min((r_i / s)^2, e^2) = 1, which falls as s grows."""
        largest = float(size.max(initial=0.0))
        if largest == 0.0:
            return 0.0
        order = np.argsort(size, kind="stable")
        a, p, e2 = size[order] / largest, p[order], self.epsilon**2
        inside = np.cumsum(p * a * a)  # of the samples up to each
        beyond = np.cumsum(p[::-1])[::-1] - p
        at_ends = e2 * (inside + beyond * a * a) <= a * a  # is s at most a / e?
        first = int(np.argmax(at_ends & (a > 0))) if (at_ends & (a > 0)).any() else len(a)
        kept = inside[first - 1] if first else 0.0
        clipped = float(p[first:].sum())
        room = 1.0 - e2 * clipped
        return largest * float(np.sqrt(kept / room)) if kept > 0 and room > 0 else 0.0


class ScaledHuberRisk(Risk):
    """R, of scores and one offset."""

    offsets = FREE
    infimum = 0.0
    loss: ScaledHuber

    def __init__(self, loss: ScaledHuber, y: Vector, p: Vector) -> None:
        self.loss, self.y, self.p = loss, y, p

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        r = scores + (b[0] if len(b) else 0.0) - self.y
        s, e = self.loss._scale(np.abs(r), self.p), self.loss.epsilon
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            v = 2.0 * (np.clip(r / s, -e, e) if s > 0 else e * np.sign(r))
        square = float(self.p @ (v * v))
        v *= min(1.0, 2.0 / np.sqrt(square)) if square > 0 else 1.0  # rounding must not leave the ball
        u = self.p * v
        return float(u @ r), u, np.array([u.sum()])[: len(b)]

    def rise(self, slack: Vector) -> float:
        """R is a norm of the residuals."""
        most = 2.0 * self.loss.epsilon * float(self.p @ slack)
        return min(most, 2.0 * float(np.sqrt(self.p @ (slack * slack))))
