"""Losses given by their value and slope at each sample: the weighted mean of phi(y_i, f_i + b)."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from gapfit import threads
from gapfit._types import Vector
from gapfit.cached import Spared
from gapfit.elsewhere import loops_of
from gapfit.losses.base import FREE, Certain, Formula, Loss, Risk
from gapfit.losses.forms import Bent, BinaryEntropy, Conjugate, Curvature, SlowCurvature, Smooth
from gapfit.losses.leaning import Leaning, ends_of_a_box
from gapfit.projections import project_dual_box
from gapfit.rounding import TINY, UNIT, Estimate, additions, gamma, two_sum
from gapfit.rowwise import once


class PointwiseLoss(Loss):
    """The weighted mean of phi(y_i, f_i + b). Write `value_and_slope`; the rest is optional."""

    smooth: ClassVar[bool] = False  # is phi differentiable?
    infimum: ClassVar[float] = 0.0  # a lower bound of phi
    has_curvature: ClassVar[bool] = False  # is `curvature` written?
    has_conjugate: ClassVar[bool] = False  # are `conjugate` and `slope_range` written?
    never_flat: ClassVar[bool] = False  # is no derivative of phi zero, nor one of its extremes?
    curved_at_most: ClassVar[float] = np.inf  # a bound on the second derivative of phi, if there is one
    curvature_rate: ClassVar[float] = np.inf  # |phi'''| is at most so many times phi'', if that is known
    anywhere = True
    formula: ClassVar[str | None] = None  # its name in `gapfit.device.oracle`, if it is there
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

    def centre(self, y: Vector) -> Vector:
        """What is subtracted from f before anything else, rounded: 0 unless the loss says so."""
        return np.zeros_like(y)

    def terms(self, f: Vector, y: Vector, value: Vector, slope: Vector) -> Vector:
        """What is added up to phi(y, f), in absolute values, for an f that has been rounded once."""
        return np.abs(value) + np.abs(f * slope)

    def conjugate_terms(self, v: Vector, y: Vector, value: Vector) -> Vector:
        """What is added up to the conjugate at v, in absolute values."""
        return np.abs(value) + np.abs(v)

    def best_offset(self, f: Vector, y: Vector, p: Vector) -> tuple[float, float] | None:
        """The smallest and largest b minimising sum p phi(y, f + b), where a formula is known."""
        return None

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        y, p = self.prepare(y, weight)
        return PointwiseRisk(self, y, once(p))


def log_sum_exp(f: Vector, p: Vector) -> float:
    """log sum p exp(f), far out as well."""
    largest = float(f.max(initial=-np.inf))
    return largest + float(np.log(p @ np.exp(f - largest))) if np.isfinite(largest) else largest


_ROUNDINGS = 32  # of a value or conjugate: exponentials and logarithms have a few each
_WORK = 32  # multiplications that the evaluation of a loss is worth
_BLOCK = 2**15  # samples at a time: their numbers stay in the cache, and take little memory

# What is done to some samples: vectors that are to be added up, and vectors that are to be kept. On a device
# each of these functions is one kernel, over all samples.

Found = tuple[tuple[Vector, ...], tuple[Vector, ...]]


def _evaluated(loss: PointwiseLoss, f: Vector, shift: Any, y: Vector, p: Vector) -> Found:
    here, slope = loss.value_and_slope(f + shift, y)
    with np.errstate(invalid="ignore"):  # far out an exponential overflows: the risk is inf there
        u = p * slope
        return (p * here, u), (u,)


def _bends(loss: PointwiseLoss, f: Vector, shift: Any, y: Vector, p: Vector) -> Found:
    return (), (p * loss.curvature(f + shift, y),)


def _around(
    loss: PointwiseLoss, f: Vector, shift: Any, low: Vector, slack: Vector, y: Vector, p: Vector
) -> Found:
    """The losses, what these are made of, and how much higher they can be within the slack."""
    f, rest = two_sum(f, shift)
    f = f + (rest + low)
    reach = slack + 2 * UNIT * (np.abs(f) + np.abs(loss.centre(y)))
    with np.errstate(over="ignore", invalid="ignore"):
        here, slope = loss.value_and_slope(f, y)
        if np.isfinite(loss.curved_at_most):
            steepest = np.abs(slope) + loss.curved_at_most * reach
        else:  # it is convex: steepest at one of the ends
            steepest = np.maximum(*(np.abs(loss.value_and_slope(f + side, y)[1]) for side in (-reach, reach)))
        rise = reach * steepest * (1 + 2 * _ROUNDINGS * UNIT)  # slopes are rounded as well
        terms = loss.terms(f, y, here, slope) + 2 * rise
        return (p * here, p * terms, p * rise), ()


def _conjugates(loss: PointwiseLoss, u: Vector, slopes: Any, y: Vector, p: Vector) -> Found:
    v = np.clip(u / p, *slopes)
    values = loss.conjugate(v, y)
    return (p * values, p * loss.conjugate_terms(v, y, values)), ()


def _over(
    function: Callable[..., Found], loss: PointwiseLoss, *arguments: Any, kept: int = 0
) -> tuple[list[float], list[Vector]]:
    """The sums that such a function makes of all samples, block by block, and the vectors that it keeps."""
    vector = arguments[0]
    if (device := loops_of(vector)) is not None:
        found: tuple[list[float], list[Vector]]
        found = device(function, loss, *(x if isinstance(x, float) else x[:] for x in arguments))
        return found
    n, out = len(vector), [np.empty_like(vector) for _ in range(kept)]

    def of(rows: slice) -> Vector:
        sums, keep = function(loss, *(x if isinstance(x, float) else x[rows] for x in arguments))
        for where, what in zip(out, keep, strict=True):
            where[rows] = what
        with np.errstate(invalid="ignore"):
            return np.array([part.sum() for part in sums])  # by pairs: `SUM` counts them

    def over(rows: slice) -> list[Vector]:
        starts = range(rows.start, rows.stop, _BLOCK)
        return [of(slice(start, min(start + _BLOCK, rows.stop))) for start in starts]

    parts = threads.parts(n, _WORK * n)
    sums = threads.each(of, parts) if n <= _BLOCK else list(chain(*threads.each(over, parts)))
    with np.errstate(invalid="ignore"):
        total = sums[0] if len(sums) == 1 else np.sum(sums, axis=0)
    return total.tolist(), out


class PointwiseRisk(Risk):
    """sum_i p_i phi(y_i, f_i + b) for a `PointwiseLoss`."""

    offsets = FREE
    separable = True

    def __init__(self, loss: PointwiseLoss, y: Vector, p: Vector) -> None:
        self.loss: PointwiseLoss = loss
        self.y, self.p = y, p
        self.infimum, self.never_flat = loss.infimum, loss.never_flat

    def forms(self) -> Iterator[Any]:
        loss = self.loss
        if loss.smooth:
            yield Smooth()
        if loss.has_curvature:
            yield Curvature(self.curvature)
            if np.isfinite(loss.curvature_rate):
                yield SlowCurvature(loss.curvature_rate, self.curvature, lambda: loss.centre(self.y))
        if np.isfinite(loss.curved_at_most):
            yield Bent(lambda: self.p * loss.curved_at_most)
        if loss.has_conjugate:
            yield Conjugate(self.conjugate, self.project_dual)
        if loss.has_entropy:
            yield BinaryEntropy(self._entropy_bounds)

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        shift = float(b.sum())
        (value, total), (u,) = _over(_evaluated, self.loss, scores, shift, self.y, self.p, kept=1)
        return value, u, np.full(b.shape, total)

    def formula(self) -> Formula | None:
        name = self.loss.formula
        return None if name is None else Formula(name, (self.y, self.p, self.loss.centre(self.y)))

    def constants(self, u: Vector) -> float:
        return float(np.abs(u) @ (1.0 + np.abs(self.y)))

    def roundings(self, scores: Vector) -> int:
        return _ROUNDINGS

    def value_above(self, scores: Vector, low: Vector, b: Vector, slack: Vector) -> Estimate:
        shift = float(b.sum())
        (value, size, rise), _ = _over(_around, self.loss, scores, shift, low, slack, self.y, self.p)
        if not np.isfinite(value + size):
            return Estimate(np.inf, 0.0)
        return Estimate(value, self._sum_error(size, scores) + 1.01 * rise)

    @staticmethod
    def _sum_error(size: float, of: Vector) -> float:
        """Of sums of blocks, which are added up one after the other."""
        added = additions(of) + len(of) // _BLOCK + threads.MOST_PARTS
        return gamma(added + _ROUNDINGS) * size + len(of) * TINY

    def curvature(self, scores: Vector, b: Vector) -> Vector:
        return _over(_bends, self.loss, scores, float(b.sum()), self.y, self.p, kept=1)[1][0]

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
        return self.conjugate_above(u, exact=False).value

    @Spared
    def _dual_box(self) -> tuple[Vector, Vector]:
        return self._box_of(slice(None))

    @cached_property
    def _slopes(self) -> tuple[Vector, Vector]:
        return self.loss.slope_range(self.y)

    def slopes_of(self, rows: Any) -> tuple[Vector, Vector]:
        if self.spare:
            return self.loss.slope_range(self.y[rows])
        lo, hi = self._slopes
        return lo[rows], hi[rows]

    def _box_of(self, rows: Any) -> tuple[Vector, Vector]:
        lo, hi = self.slopes_of(rows)
        lo = self.p[rows] * lo
        return lo, self.p[rows] * hi

    def leaning(self, scores: Vector, b: Vector) -> Leaning | None:
        if not self.loss.has_conjugate:
            return None
        return ends_of_a_box(lambda: self._dual_box, 0.0, self.conjugate, scores, b)

    def _entropy_bounds(self, rows: Any = slice(None)) -> tuple[Vector, Vector]:
        lo, hi = self._box_of(rows)
        return -hi, -lo

    def conjugate_above(self, u: Vector, *, exact: bool) -> Estimate:
        # sums with more digits would not help: what is lost is lost in each sample's conjugate
        (value, size), _ = _over(_conjugates, self.loss, u, _Slopes(self), self.y, self.p)
        return Estimate(value, self._sum_error(size, u))

    def project_dual(self, u: Vector, *, balanced: bool) -> Vector:
        lower, upper = self._dual_box
        return project_dual_box(u, lower, upper, self.p, 0.0 if balanced else None)


class _Slopes:
    """The bounds of the derivatives, of those samples that are asked for."""

    def __init__(self, risk: PointwiseRisk) -> None:
        self.risk = risk

    def __getitem__(self, rows: Any) -> tuple[Vector, Vector]:
        return self.risk.slopes_of(rows)
