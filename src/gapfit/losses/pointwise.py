"""Losses given by their value and slope at each sample: the weighted mean of phi(y_i, f_i + b)."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from gapfit import threads
from gapfit._types import Vector
from gapfit.losses.base import FREE, Certain, Loss, Risk, project_dual_box
from gapfit.rounding import UNIT, Estimate, plain_sum, two_sum


class PointwiseLoss(Loss):
    """The weighted mean of phi(y_i, f_i + b). Write `value_and_slope`; the rest is optional."""

    smooth: ClassVar[bool] = False  # is phi differentiable?
    infimum: ClassVar[float] = 0.0  # a lower bound of phi
    has_curvature: ClassVar[bool] = False  # is `curvature` written?
    has_conjugate: ClassVar[bool] = False  # are `conjugate` and `slope_range` written?
    never_flat: ClassVar[bool] = False  # is no derivative of phi zero, nor one of its extremes?
    curved_at_most: ClassVar[float] = np.inf  # a bound on the second derivative of phi, if there is one
    has_entropy: ClassVar[bool] = False  # is the conjugate a log a + (1 - a) log(1 - a) over `slope_range`?

    @abstractmethod
    def value_and_slope(self, f: Vector, y: Vector) -> tuple[Vector, Vector]:
        """phi(y, f) and a derivative in f, sample by sample."""

    def curvature(self, f: Vector, y: Vector) -> Vector:
        """The second derivative of phi in f, sample by sample."""
        raise TypeError(f"{self!r} has no curvature")

    def conjugate(self, v: Vector, y: Vector) -> Vector:
        """sup over f of v f - phi(y, f), sample by sample, for v within `slope_range`."""
        raise TypeError(f"{self!r} has no conjugate")

    def slope_range(self, y: Vector) -> tuple[Vector, Vector]:
        """The closed interval of the derivatives of phi, sample by sample."""
        raise TypeError(f"{self!r} has no conjugate")

    def terms(self, f: Vector, y: Vector, value: Vector, slope: Vector) -> Vector:
        """What is added up to phi(y, f), in absolute values, for an f that has been rounded once."""
        del y
        return np.abs(value) + np.abs(f * slope)

    def conjugate_terms(self, v: Vector, y: Vector, value: Vector) -> Vector:
        """What is added up to the conjugate at v, in absolute values."""
        del y
        return np.abs(value) + np.abs(v)

    def best_offset(self, f: Vector, y: Vector, p: Vector) -> tuple[float, float] | None:
        """The smallest and largest b minimising sum p phi(y, f + b), where a formula is known."""
        del f, y, p
        return None

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        del groups
        return PointwiseRisk(self, *self.prepare(y, weight))


_ROUNDINGS = 32  # of a value or conjugate: exponentials and logarithms have a few each
_WORK = 32  # multiplications that the evaluation of a loss is worth


class PointwiseRisk(Risk):
    """sum_i p_i phi(y_i, f_i + b) for a `PointwiseLoss`."""

    offsets = FREE
    separable = True

    def __init__(self, loss: PointwiseLoss, y: Vector, p: Vector) -> None:
        self.loss: PointwiseLoss = loss
        self.y, self.p = y, p
        self.infimum, self.never_flat = loss.infimum, loss.never_flat
        offered = {
            "smooth": loss.smooth,
            "curvature": loss.has_curvature,
            "conjugate": loss.has_conjugate,
            "dual_entropy": loss.has_entropy,
        }
        self.capabilities = frozenset(name for name, there in offered.items() if there)

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        value, slope = self._each(scores + b.sum())
        u = self.p * slope
        with np.errstate(invalid="ignore"):  # far out an exponential overflows: the risk is inf there
            return float((self.p * value).sum()), u, np.full(b.shape, u.sum())

    def _each(self, f: Vector) -> tuple[Vector, Vector]:
        value, slope = np.empty_like(f), np.empty_like(f)

        def evaluate(rows: slice) -> None:
            value[rows], slope[rows] = self.loss.value_and_slope(f[rows], self.y[rows])

        threads.each(evaluate, threads.parts(len(f), _WORK * len(f)))
        return value, slope

    def constants(self, u: Vector) -> float:
        return float(np.abs(u) @ (1.0 + np.abs(self.y)))

    def roundings(self, scores: Vector) -> int:
        del scores
        return _ROUNDINGS

    def value_above(self, scores: Vector, low: Vector, b: Vector, slack: Vector) -> Estimate:
        f, rest = two_sum(scores, float(b.sum()))
        f = f + (rest + low)
        reach = slack + 2 * UNIT * np.abs(f)
        with np.errstate(over="ignore", invalid="ignore"):
            here, slope = self._each(f)
            rise = self._rise(f, here, slope, reach)
            terms = self.loss.terms(f, self.y, here, slope) + 2 * rise
            size = float(self.p @ terms)
        if not np.isfinite(size):
            return Estimate(np.inf, 0.0)
        value = plain_sum(self.p * here, _ROUNDINGS, size)
        return Estimate(value.value, value.error + 1.01 * float(self.p @ rise))

    def _rise(self, f: Vector, here: Vector, slope: Vector, reach: Vector) -> Vector:
        """How much higher phi can be within the reach of f."""
        if np.isfinite(self.loss.curved_at_most):  # slopes are rounded as well
            return np.asarray(reach * ((1 + 64 * UNIT) * np.abs(slope) + self.loss.curved_at_most * reach))
        ends = [self._each(f + side)[0] for side in (-reach, reach)]  # it is convex: highest at one of them
        return np.maximum(np.maximum(*ends) - here, 0.0)

    def curvature(self, scores: Vector, b: Vector) -> Vector:
        return self.p * self.loss.curvature(scores + b.sum(), self.y)

    def best_offset(self, scores: Vector) -> tuple[float, float] | None:
        return self.loss.best_offset(scores, self.y, self.p)

    def certain(self, lowest: Vector, highest: Vector) -> Certain:
        """Slopes rise with the scores. One that is computed as zero may have been too small for a number."""
        room = 16 * UNIT
        with np.errstate(over="ignore", invalid="ignore"):
            at_lowest = self.loss.value_and_slope(lowest - room * (1 + np.abs(lowest)), self.y)[1]
            at_highest = self.loss.value_and_slope(highest + room * (1 + np.abs(highest)), self.y)[1]
        never = np.zeros(len(lowest), dtype=bool)
        return Certain(never, never, (at_lowest > 0) | (at_highest < 0))

    def unattained(self) -> str | None:
        return self.loss.unattained(self.y)

    def conjugate(self, u: Vector) -> float:
        lo, hi = self.loss.slope_range(self.y)
        return float((self.p * self.loss.conjugate(np.clip(u / self.p, lo, hi), self.y)).sum())

    def conjugate_above(self, u: Vector, *, exact: bool) -> Estimate:
        del exact  # what is lost is lost in each sample's conjugate
        lo, hi = self.loss.slope_range(self.y)
        v = np.clip(u / self.p, lo, hi)
        values = self.loss.conjugate(v, self.y)
        terms = self.loss.conjugate_terms(v, self.y, values)
        return plain_sum(self.p * values, _ROUNDINGS, float(self.p @ terms))

    def project_dual(self, u: Vector, *, balanced: bool) -> Vector:
        lo, hi = self.loss.slope_range(self.y)
        return project_dual_box(u, self.p * lo, self.p * hi, self.p, 0.0 if balanced else None)

    def dual_entropy(self) -> tuple[Vector, Vector]:
        lo, hi = self.loss.slope_range(self.y)
        return -self.p * hi, -self.p * lo
