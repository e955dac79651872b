"""Losses made of lines and parabolas, as data: six numbers per sample, from which all else follows."""

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from math import isfinite
from typing import Any, ClassVar

import numpy as np

from gapfit import threads
from gapfit._types import Vector
from gapfit.cached import Spared
from gapfit.losses.atoms import Atoms
from gapfit.losses.base import FREE, Certain, Formula, Loss, Rest, Risk
from gapfit.losses.forms import Bent, Conjugate, Curvature, Parabola, SlowCurvature, Smooth
from gapfit.losses.leaning import Leaning, ends_of_a_box
from gapfit.losses.weighted_quantile import weighted_quantile
from gapfit.projections import project_dual_box
from gapfit.rounding import SUM, TINY, UNIT, Estimate, additions, exact_dot, exact_sum, gamma, plain_sum
from gapfit.rowwise import of_each, once, whole

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
        p = once(p)
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
        value, u = self.atoms.maximise(scores, shift)
        return float(value.sum() + total * shift), u, np.full(b.shape, total + u.sum() if b.size else 0.0)

    def formula(self) -> Formula:
        return Formula("atoms", self.atoms[:-1], self.atoms.total)

    def constants(self, u: Vector) -> float:
        turn = of_each(lambda lin, kink: np.abs(lin) + kink, self.atoms.lin, self.atoms.kink)
        return float(np.abs(u) @ turn) + abs(self.atoms.total)

    def roundings(self, scores: Vector) -> int:
        return _ROUNDINGS

    def value_above(self, scores: Vector, low: Vector, b: Vector, slack: Vector) -> Estimate:
        shift = float(b.sum())
        value, size, rise = self.atoms.sums_around(scores, low, shift, slack)
        own = self.atoms.total * shift
        if not isfinite(value + own + rise):
            return Estimate(np.inf, 0.0)
        lost = self.sum_error(size + 2 * abs(own), len(scores), additions(scores))
        return Estimate(value + own, lost + 1.01 * rise)

    @staticmethod
    def sum_error(size: Any, terms: Any, added: int = SUM) -> Any:
        """Of sums of so many terms, of this size in all: blocks are added up with what that loses."""
        return gamma(added + threads.MOST_PARTS + _ROUNDINGS) * size + terms * TINY

    def curvature(self, scores: Vector, b: Vector) -> Vector:
        atoms = self.atoms
        _, u = atoms.maximise(scores, float(b.sum()))
        a = -atoms.sign * u
        on_a_parabola = (a != 0) & (a > atoms.lo) & (a < atoms.hi)
        return np.where(on_a_parabola, 1.0, 0.0) / atoms.quad

    def best_offset(self, scores: Vector) -> tuple[float, float] | None:
        """Polyhedral phi: every kink raises the slope in b; find where that passes zero, in O(n)."""
        if self.curved:
            return None
        sides, masses, initial = self._kinks
        positions = [at_zero - scores[rows] for rows, at_zero in sides]
        del sides
        return weighted_quantile(_joined(positions), masses, -initial)

    @Spared
    def _kinks(self) -> tuple[list[tuple[Any, Vector]], Vector, float]:
        """Which samples have a kink to the left and to the right and where, if their score is zero; by how
        much the slope in b rises there, and what it is before all of them."""
        sign, lin, kink, _, lo, hi, total = self.atoms
        before = total + float(self._dual_box[0].sum())
        sides, masses = [], []
        kinks: list[tuple[Any, Vector]] = [(np.subtract, hi), (np.add, of_each(np.negative, lo))]
        if not kink.any():  # both are in the same place
            kinks = [(np.subtract, of_each(np.subtract, hi, lo))]
        for side, mass in kinks:
            there = mass > 0
            if there.any():
                rows: Any = slice(None) if there.all() else np.flatnonzero(there)
                sides.append((rows, sign[rows] * of_each(side, lin[rows], kink[rows])))
                masses.append(whole(mass[rows]))
        return sides, _joined(masses), before

    def leaning(self, scores: Vector, b: Vector) -> Leaning | None:
        return ends_of_a_box(self._ends, self.atoms.total, self.conjugate, scores, b)

    def _ends(self) -> tuple[Vector, Vector]:
        """Those of the dual box; where it has no end, as far out as targets are apart."""
        lower, upper = self._dual_box
        if not self.curved:
            return lower, upper
        target = self.atoms.sign * self.atoms.lin
        far = self.p * (float(self.p @ np.abs(target - self.p @ target)) or 1.0)
        return np.where(np.isinf(lower), -far, lower), np.where(np.isinf(upper), far, upper)

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
        lower, upper = self._dual_box
        return project_dual_box(u, lower, upper, self.p, -self.atoms.total if balanced else None)

    @Spared
    def _dual_box(self) -> tuple[Vector, Vector]:
        sign, lo, hi = self.atoms.sign, self.atoms.lo, self.atoms.hi
        up = sign > 0
        return np.where(up, of_each(np.negative, hi), lo), np.where(up, of_each(np.negative, lo), hi)


def _joined(vectors: list[Vector]) -> Vector:
    """One after the other; a single one is not copied."""
    return vectors[0] if len(vectors) == 1 else np.concatenate(vectors)
