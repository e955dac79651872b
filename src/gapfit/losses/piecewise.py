"""Losses made of lines and parabolas, as data: six numbers per sample, from which all else follows."""

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from math import isfinite
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from gapfit import threads
from gapfit._types import Vector
from gapfit.elsewhere import as_floats, loops_of
from gapfit.forms import loss_form
from gapfit.losses.base import FREE, Certain, Leaning, Loss, Rest, Risk, ends_of_a_box
from gapfit.losses.forms import Bent, Conjugate, Curvature, Parabola, SlowCurvature, Smooth
from gapfit.losses.weighted_quantile import weighted_quantile
from gapfit.projections import project_dual_box
from gapfit.rounding import SUM, TINY, UNIT, Estimate, additions, exact_dot, exact_sum, gamma, plain_sum

Out = TypeVar("Out", bound=tuple[Any, ...])


@loss_form("a loss made of lines and parabolas")
class Atoms(NamedTuple):
    """A piecewise linear-quadratic function of one score per sample, as data:

    phi(f) = max over lo <= a <= hi of  (lin - sign * f) * a - kink * |a| - quad * a^2 / 2

    with sign = +-1, kink >= 0, quad >= 0 and lo <= 0 <= hi (infinite only where quad > 0). The maximiser a
    gives the derivative u = -sign * a, and -lin * a + kink * |a| + quad * a^2 / 2 is the conjugate at u.
    """

    sign: Vector
    lin: Vector
    kink: Vector
    quad: Vector
    lo: Vector
    hi: Vector
    total: float  # the slope in b that no sample carries: e = total + sum(u)

    @classmethod
    def each(
        cls,
        y: Vector,
        *,
        sign: ArrayLike = 1.0,
        lin: ArrayLike = 0.0,
        kink: ArrayLike = 0.0,
        quad: ArrayLike = 0.0,
        lo: ArrayLike = 0.0,
        hi: ArrayLike = 0.0,
        total: float = 0.0,
    ) -> "Atoms":
        """Atoms for the samples of y, numbers repeated where one serves all."""

        def column(x: ArrayLike) -> Vector:
            if np.ndim(x) == 0 and not np.any(x):
                return np.zeros_like(y)  # which take no memory until they are written
            return np.full_like(y, x, dtype=np.float64) if np.ndim(x) == 0 else as_floats(x)

        return cls(column(sign), column(lin), column(kink), column(quad), column(lo), column(hi), total)

    def weighted(self, p: Vector) -> "Atoms":
        """The atoms of p * phi."""
        lo, hi = (
            np.where(bound == 0, 0.0, bound * p) if bound.any() else bound for bound in (self.lo, self.hi)
        )
        return self._replace(quad=self.quad / p if self.quad.any() else self.quad, lo=lo, hi=hi)

    def maximise(self, f: Vector) -> tuple[Vector, Vector]:
        """phi(f) and its derivative u, sample by sample."""
        from gapfit.compiled.atoms import maximise  # compiled code is loaded only when it is to run

        return self._run(maximise, f, (np.empty_like(f), np.empty_like(f)))

    def sums_around(self, f: Vector, low: Vector, shift: float, slack: Vector) -> tuple[float, float, float]:
        """The sum of phi(f + low + shift), that of its absolute values, and that of how much higher phi is
        anywhere within the slack."""
        from gapfit.compiled.atoms import sums_around

        value, size, rise = self._total(sums_around, (f, low, shift, slack, UNIT), len(f))
        return value, size, rise

    def conjugate_sums(self, u: Vector) -> tuple[float, float]:
        """The sum of the conjugates at u, and that of what is added up to them in absolute values."""
        from gapfit.compiled.atoms import conjugate_sums

        value, size = self._total(conjugate_sums, u, len(u))
        return value, size

    def certain(self, lowest: Vector, highest: Vector) -> Certain:
        """What is certain of the derivatives while scores are between these."""
        from gapfit.compiled.atoms import classify

        found = Certain(*np.empty((3, len(lowest)), dtype=bool))
        return self._run(classify, (lowest, highest, UNIT), found)

    def _run(self, kernel: Any, given: Any, out: Out) -> Out:
        """Let compiled code, which does some samples at a time, write what it makes of all of them."""
        if (device := loops_of(out[0])) is not None:
            device(kernel, self, given, *out)
            return out
        parts = threads.parts(len(out[0]), _WORK * len(out[0]))
        threads.each(lambda rows: kernel(self, given, rows.start, rows.stop, *out), parts)
        return out

    def _total(self, kernel: Any, given: Any, n: int) -> Any:
        """The sums that compiled code makes of all samples, some at a time."""
        if (device := loops_of(self.lin)) is not None:
            return device(kernel, self, given)
        parts = threads.parts(n, _WORK * n)
        if len(parts) == 1:
            return kernel(self, given, 0, n)
        each = threads.each(lambda rows: kernel(self, given, rows.start, rows.stop), parts)
        return tuple(map(sum, zip(*each, strict=True)))


_WORK = 8  # multiplications for a sample
_ROUNDINGS = 8  # on the way to a value or conjugate


class PiecewiseLoss(Loss):
    """A weighted mean of phi(y_i, f_i + b), phi made of lines and parabolas. Write `atoms`."""

    infimum: ClassVar[float] = 0.0
    anywhere = True

    @abstractmethod
    def atoms(self, y: Vector) -> Atoms:
        """phi as data, unweighted."""

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        y, p = self.prepare(y, weight)
        return PiecewiseRisk(self, self.atoms(y).weighted(p), y, p, self.infimum)


class PiecewiseRisk(Risk):
    """total * b + sum_i p_i phi(y_i, f_i + b), given by the atoms of p_i phi."""

    offsets = FREE
    separable = True

    def __init__(self, loss: Loss, atoms: Atoms, y: Vector, p: Vector, infimum: float = 0.0) -> None:
        self.loss, self.atoms, self.y, self.p, self.infimum = loss, atoms, y, p, infimum
        self.farthest = float(np.abs(self.atoms.lin).max(initial=0.0))
        self.smooth = bool(self.atoms.quad.all())  # then the conjugate is strictly convex
        self.curved = self.smooth or bool(self.atoms.quad.any())  # are there parabolas?

    def forms(self) -> Iterator[Any]:
        yield self.atoms
        yield Conjugate(self.conjugate, self.project_dual)
        if self.smooth:
            yield Smooth()
            yield Curvature(self.curvature)
            yield Bent(lambda: 1.0 / self.atoms.quad)
        if self._parabola is not None:
            yield self._parabola
            yield SlowCurvature(0.0, lambda scores, b: 1.0 / self.atoms.quad, lambda: self.atoms.lin)

    @cached_property
    def _parabola(self) -> Parabola | None:
        """The atoms as parabolas, if they are nothing else."""
        sign, lin, kink, quad, lo, hi, total = self.atoms
        if total != 0 or kink.any() or np.isfinite(lo).any() or np.isfinite(hi).any():
            return None
        return Parabola(sign * lin, 1.0 / quad)

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        shift, total = float(b.sum()), self.atoms.total
        value, u = self.atoms.maximise(scores + shift if shift else scores)
        return float(value.sum() + total * shift), u, np.full(b.shape, total + u.sum() if b.size else 0.0)

    def constants(self, u: Vector) -> float:
        return float(np.abs(u) @ (np.abs(self.atoms.lin) + self.atoms.kink)) + abs(self.atoms.total)

    def roundings(self, scores: Vector) -> int:
        return _ROUNDINGS

    def value_above(self, scores: Vector, low: Vector, b: Vector, slack: Vector) -> Estimate:
        shift = float(b.sum())
        value, size, rise = self.atoms.sums_around(scores, low, shift, slack)
        own = self.atoms.total * shift
        if not isfinite(value + own + rise):
            return Estimate(np.inf, 0.0)
        return Estimate(
            value + own, self.sum_error(size + 2 * abs(own), len(scores), additions(scores)) + 1.01 * rise
        )

    @staticmethod
    def sum_error(size: Any, terms: Any, added: int = SUM) -> Any:
        """Of sums of so many terms, of this size in all: blocks are added up with what that loses."""
        return gamma(added + threads.MOST_PARTS + _ROUNDINGS) * size + terms * TINY

    def curvature(self, scores: Vector, b: Vector) -> Vector:
        atoms = self.atoms
        _, u = atoms.maximise(scores + b.sum())
        a = -atoms.sign * u
        on_a_parabola = (a != 0) & (a > atoms.lo) & (a < atoms.hi)
        return np.where(on_a_parabola, 1.0, 0.0) / atoms.quad

    def best_offset(self, scores: Vector) -> tuple[float, float] | None:
        """Polyhedral phi: every kink raises the slope in b; find where that passes zero, in O(n)."""
        if self.curved:
            return None
        sides, masses, initial = self._kinks
        positions = [at_zero - scores[rows] for rows, at_zero in sides]
        return weighted_quantile(_joined(positions), masses, -initial)

    @cached_property
    def _kinks(self) -> tuple[list[tuple[Any, Vector]], Vector, float]:
        """Which samples have a kink to the left and to the right and where, if their score is zero; by how
        much the slope in b rises there, and what it is before all of them."""
        sign, lin, kink, _, lo, hi, total = self.atoms
        sides, masses = [], []
        for shift, mass in ((-kink, hi), (kink, -lo)):
            there = mass > 0
            if there.any():
                rows: Any = slice(None) if there.all() else np.flatnonzero(there)
                sides.append((rows, sign[rows] * (lin[rows] + shift[rows])))
                masses.append(mass[rows])
        return sides, _joined(masses), total + float(self._dual_box[0].sum())

    def leaning(self, scores: Vector, b: Vector) -> Leaning | None:
        lower, upper = self._dual_box
        box = lower, upper
        if self.curved:  # where a box has no end, as far out as targets are apart
            target = self.atoms.sign * self.atoms.lin
            far = self.p * (float(self.p @ np.abs(target - self.p @ target)) or 1.0)
            box = np.where(np.isinf(lower), -far, lower), np.where(np.isinf(upper), far, upper)
        return ends_of_a_box(box, self.atoms.total, self.conjugate, scores, b)

    def affine_offset(self) -> tuple[Vector, Estimate] | None:
        """Parabolas everywhere: the derivatives weight (f + b - target) add up to zero."""
        if self._parabola is None:
            return None
        target, weight = self._parabola
        whole = float(weight.sum())
        middle = exact_dot(weight, target)
        value = middle.value / whole
        error = middle.error + gamma(2 * SUM) * float(weight @ np.abs(target))
        return weight / whole, Estimate(value, error / whole + gamma(2 * SUM) * abs(value))

    def certain(self, lowest: Vector, highest: Vector) -> Certain:
        return self.atoms.certain(lowest, highest)

    def unattained(self) -> str | None:
        return self.loss.unattained(self.y)

    def conjugate(self, u: Vector) -> float:
        return self.atoms.conjugate_sums(u)[0]

    def imbalance(self, u: Vector) -> Rest:
        rest = exact_sum(u, self.atoms.total)
        return Rest(np.array([rest.value]), np.array([rest.error]))

    def conjugate_above(self, u: Vector, *, exact: bool) -> Estimate:
        if not exact:
            value, size = self.atoms.conjugate_sums(u)
            return Estimate(value, self.sum_error(size, len(u), additions(u)))
        _, lin, kink, quad, *_ = self.atoms
        a = -self.atoms.sign * u
        bent = kink * np.abs(a) + 0.5 * quad * a * a
        first, second = exact_dot(-lin, a), plain_sum(bent, _ROUNDINGS)
        value = first.value + second.value
        return Estimate(value, first.error + second.error + UNIT * abs(value))

    def project_dual(self, u: Vector, *, balanced: bool) -> Vector:
        return project_dual_box(u, *self._dual_box, self.p, -self.atoms.total if balanced else None)

    @cached_property
    def _dual_box(self) -> tuple[Vector, Vector]:
        sign, lo, hi = self.atoms.sign, self.atoms.lo, self.atoms.hi
        return np.where(sign > 0, -hi, lo), np.where(sign > 0, -lo, hi)


def _joined(vectors: list[Vector]) -> Vector:
    """One after the other; a single one is not copied."""
    return vectors[0] if len(vectors) == 1 else np.concatenate(vectors)
