"""Losses made of lines and parabolas, as data: six numbers per sample, from which all else follows."""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gapfit._types import Vector
from gapfit.losses.base import FREE, Loss, Risk, project_dual_box
from gapfit.losses.weighted_quantile import weighted_quantile


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
            return np.array(np.broadcast_to(x, y.shape), dtype=np.float64)

        return cls(column(sign), column(lin), column(kink), column(quad), column(lo), column(hi), total)

    def weighted(self, p: Vector) -> "Atoms":
        """The atoms of p * phi."""
        lo, hi = (np.where(bound == 0, 0.0, bound * p) for bound in (self.lo, self.hi))
        return self._replace(quad=self.quad / p, lo=lo, hi=hi)

    def maximise(self, f: Vector) -> tuple[Vector, Vector]:
        """phi(f) and the maximising a, sample by sample."""
        z = self.lin - self.sign * f
        beyond = np.sign(z) * np.maximum(np.abs(z) - self.kink, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            a = np.clip(np.where(beyond == 0, 0.0, beyond / self.quad), self.lo, self.hi)
        return z * a - self.kink * np.abs(a) - 0.5 * self.quad * a * a, a

    def cost(self, a: Vector) -> Vector:
        """The conjugate at u = -sign * a, sample by sample."""
        return -self.lin * a + self.kink * np.abs(a) + 0.5 * self.quad * a * a


class PiecewiseLoss(Loss):
    """A weighted mean of phi(y_i, f_i + b), phi made of lines and parabolas. Write `atoms`."""

    infimum: ClassVar[float] = 0.0

    @abstractmethod
    def atoms(self, y: Vector) -> Atoms:
        """phi as data, unweighted."""

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        del groups
        return PiecewiseRisk(self, *self.prepare(y, weight))


class PiecewiseRisk(Risk):
    """total * b + sum_i p_i phi(y_i, f_i + b) for a `PiecewiseLoss`."""

    offsets = FREE

    def __init__(self, loss: PiecewiseLoss, y: Vector, p: Vector) -> None:
        self.loss: PiecewiseLoss = loss
        self.y, self.p = y, p
        self.atoms = loss.atoms(y).weighted(p)
        self.infimum = loss.infimum
        smooth = {"smooth", "curvature"} if self.atoms.quad.all() else set()  # a strictly convex conjugate
        self.capabilities = frozenset({"conjugate", "dual_atoms"} | smooth)

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        value, a = self.atoms.maximise(scores + b.sum())
        u = -self.atoms.sign * a
        total = self.atoms.total
        return float(value.sum() + total * b.sum()), u, np.full(b.shape, total + u.sum())

    def curvature(self, scores: Vector, b: Vector) -> Vector:
        atoms = self.atoms
        _, a = atoms.maximise(scores + b.sum())
        on_a_parabola = (a != 0) & (a > atoms.lo) & (a < atoms.hi)
        return np.where(on_a_parabola, 1.0, 0.0) / atoms.quad

    def best_offset(self, scores: Vector) -> tuple[float, float] | None:
        """Polyhedral phi: every kink raises the slope in b; find where that passes zero, in O(n)."""
        sign, lin, kink, quad, lo, hi, total = self.atoms
        if quad.any():
            return None
        kinks = np.concatenate([sign * (lin - kink) - scores, sign * (lin + kink) - scores])
        slope_at_minus_infinity = total - float(np.where(sign > 0, hi, -lo).sum())
        return weighted_quantile(kinks, np.concatenate([hi, -lo]), -slope_at_minus_infinity)

    def unattained(self) -> str | None:
        return self.loss.unattained(self.y)

    def conjugate(self, u: Vector) -> float:
        return float(self.atoms.cost(-self.atoms.sign * u).sum())

    def project_dual(self, u: Vector, *, balanced: bool) -> Vector:
        sign, lo, hi = self.atoms.sign, self.atoms.lo, self.atoms.hi
        lower, upper = np.where(sign > 0, -hi, lo), np.where(sign > 0, -lo, hi)
        return project_dual_box(u, lower, upper, self.p, -self.atoms.total if balanced else None)

    def dual_atoms(self) -> Atoms:
        return self.atoms
