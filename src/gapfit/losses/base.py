"""What a loss is, and the two ways to write one.

A `Loss` holds parameters only (`Quantile(0.9)`); `bind` joins it to targets and weights and gives a `Risk`,
a convex function of *all* scores at once. Most losses are means over samples,

    R(f, b) = sum_i p_i phi(y_i, f_i + b),      p_i = weight_i / sum of weights,

and there are two base classes for them:

* `PointwiseLoss`: write `value_and_slope`, the value and one derivative of phi at each sample. That is all
  the bundle solvers need. With `conjugate` and `slope_range`, dual points give lower bounds as well.
* `PiecewiseLoss`: for a phi made of lines and parabolas write `atoms`, six numbers per sample; value,
  derivative, conjugate and best offset follow, and the coordinate solvers read the same numbers.

Weights, their normalisation and the offset b are dealt with here, once.
"""

import re
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gapfit._types import Vector
from gapfit.losses.weighted_quantile import weighted_quantile
from gapfit.projections import project_box_hyperplane


class Cone(NamedTuple):
    """Where the unpenalised offsets b live: R^size."""

    size: int


NONE = Cone(0)
FREE = Cone(1)


class Risk(ABC):
    """A loss bound to its data: R(f, b), convex in all the scores f and the offsets b together."""

    loss: "Loss"
    n_samples: int
    offsets: Cone = NONE  # the offsets this risk can have; a Problem may fix them at zero
    infimum: float = -np.inf  # a lower bound of R
    capabilities: frozenset[str] = frozenset()  # of "smooth", "conjugate", "dual_atoms"

    @abstractmethod
    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        """R(f, b) and one subgradient: u in f, e in b."""

    def best_offset(self, scores: Vector) -> tuple[float, float] | None:
        """The smallest and largest minimiser over a single b, where a formula is known."""
        del scores
        return None

    def unattained(self) -> str | None:
        """Why no offset attains the minimum on these data, if that is so."""
        return None

    def conjugate(self, u: Vector) -> float:
        """sup over f of <u, f> - R(f, 0), for u in its domain ("conjugate")."""
        raise TypeError(f"{self.loss!r} has no conjugate")

    def project_dual(self, u: Vector, *, balanced: bool) -> Vector:
        """The nearest point of the conjugate's domain, with e = 0 if `balanced` ("conjugate")."""
        raise TypeError(f"{self.loss!r} has no conjugate")

    def dual_atoms(self) -> "Atoms":
        """The risk as data for coordinate solvers ("dual_atoms")."""
        raise TypeError(f"{self.loss!r} has no dual atoms")


class Loss(ABC):
    """The parameters of a loss. Representation, equality and hash follow them."""

    @abstractmethod
    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        """Join targets and positive weights; `groups` are queries, for losses that rank within them."""

    @property
    def name(self) -> str:
        """The snake_case name by which the registry knows the class."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def __repr__(self) -> str:
        parameters = ", ".join(f"{key}={value!r}" for key, value in vars(self).items())
        return f"{type(self).__name__}({parameters})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), tuple(vars(self).items())))

    def check_target(self, y: Vector) -> None:
        """Raise a ValueError that names `y` where it is outside the loss's domain."""

    def unattained(self, y: Vector) -> str | None:
        """Why no intercept attains the minimum for these targets, if that is so."""
        del y
        return None


class PointwiseLoss(Loss):
    """The weighted mean of phi(y_i, f_i + b). Write `value_and_slope`; the rest is optional."""

    smooth: ClassVar[bool] = False  # is phi differentiable?
    infimum: ClassVar[float] = 0.0  # a lower bound of phi
    has_conjugate: ClassVar[bool] = False  # are `conjugate` and `slope_range` written?

    @abstractmethod
    def value_and_slope(self, f: Vector, y: Vector) -> tuple[Vector, Vector]:
        """phi(y, f) and a derivative in f, sample by sample."""

    def conjugate(self, v: Vector, y: Vector) -> Vector:
        """sup over f of v f - phi(y, f), sample by sample, for v within `slope_range`."""
        raise TypeError(f"{self!r} has no conjugate")

    def slope_range(self, y: Vector) -> tuple[Vector, Vector]:
        """The closed interval of the derivatives of phi, sample by sample."""
        raise TypeError(f"{self!r} has no conjugate")

    def best_offset(self, f: Vector, y: Vector, p: Vector) -> tuple[float, float] | None:
        """The smallest and largest b minimising sum p phi(y, f + b), where a formula is known."""
        del f, y, p
        return None

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        del groups
        y = np.asarray(y, dtype=np.float64)
        self.check_target(y)
        return PointwiseRisk(self, y, weight / weight.sum())


class PointwiseRisk(Risk):
    """sum_i p_i phi(y_i, f_i + b) for a `PointwiseLoss`."""

    offsets = FREE

    def __init__(self, loss: PointwiseLoss, y: Vector, p: Vector) -> None:
        self.loss: PointwiseLoss = loss
        self.y, self.p, self.n_samples = y, p, len(y)
        self.infimum = loss.infimum
        offered = {"smooth": loss.smooth, "conjugate": loss.has_conjugate}
        self.capabilities = frozenset(name for name, there in offered.items() if there)

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        value, slope = self.loss.value_and_slope(scores + b.sum(), self.y)
        u = self.p * slope
        with np.errstate(invalid="ignore"):  # far out an exponential overflows: the risk is inf there
            return float(self.p @ value), u, np.full(b.shape, u.sum())

    def best_offset(self, scores: Vector) -> tuple[float, float] | None:
        return self.loss.best_offset(scores, self.y, self.p)

    def unattained(self) -> str | None:
        return self.loss.unattained(self.y)

    def conjugate(self, u: Vector) -> float:
        lo, hi = self.loss.slope_range(self.y)
        return float(self.p @ self.loss.conjugate(np.clip(u / self.p, lo, hi), self.y))

    def project_dual(self, u: Vector, *, balanced: bool) -> Vector:
        lo, hi = self.loss.slope_range(self.y)
        return _project(u, self.p * lo, self.p * hi, self.p, 0.0 if balanced else None)


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
        y = np.asarray(y, dtype=np.float64)
        self.check_target(y)
        return PiecewiseRisk(self, y, weight / weight.sum())


class PiecewiseRisk(Risk):
    """total * b + sum_i p_i phi(y_i, f_i + b) for a `PiecewiseLoss`."""

    offsets = FREE

    def __init__(self, loss: PiecewiseLoss, y: Vector, p: Vector) -> None:
        self.loss: PiecewiseLoss = loss
        self.y, self.p, self.n_samples = y, p, len(y)
        self.atoms = loss.atoms(y).weighted(p)
        self.infimum = loss.infimum
        smooth = {"smooth"} if self.atoms.quad.all() else set()  # a strictly convex conjugate
        self.capabilities = frozenset({"conjugate", "dual_atoms"} | smooth)

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        value, a = self.atoms.maximise(scores + b.sum())
        u = -self.atoms.sign * a
        total = self.atoms.total
        return float(value.sum() + total * b.sum()), u, np.full(b.shape, total + u.sum())

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
        return _project(u, lower, upper, self.p, -self.atoms.total if balanced else None)

    def dual_atoms(self) -> Atoms:
        return self.atoms


def _project(u: Vector, lower: Vector, upper: Vector, p: Vector, balance: float | None) -> Vector:
    """The nearest point in the box, and on the hyperplane sum(u) = balance if one is asked for.

    Distances are weighted by 1/p, so that a sample of weight k is treated as k samples.
    """
    if balance is None:
        return np.clip(u, lower, upper)
    return project_box_hyperplane(u, lower, upper, np.ones_like(u), balance, weights=1.0 / p)
