"""Penalties that are sums over coordinates, and their restriction to a box."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from gapfit._types import Indices, Matrix, Slope, Vector
from gapfit.errors import as_number, as_numbers
from gapfit.penalties.base import Penalty
from gapfit.penalties.forms import Everywhere, Net
from gapfit.rounding import EPS, TINY, Estimate, gamma, plain_sum, square_sum

_ROUNDINGS = 16  # on the way to a summand
_EVERYWHERE = Everywhere()


class Separable(Penalty):
    """A sum of convex functions of one coordinate each. Write these; the conjugate follows."""

    @abstractmethod
    def values(self, w: Slope) -> Vector:
        """Omega's summands."""

    @abstractmethod
    def argmax_slope(self, mu: Slope) -> Vector:
        """The derivative of `argmax`, coordinate by coordinate."""

    def limits(self, mu: Slope) -> Vector:
        """How large |mu_i| may be, in mu's direction, before the conjugate is infinite."""
        return np.full_like(mu, np.inf)

    def value(self, w: Slope) -> float:
        return float(self.values(w).sum())

    def conjugate(self, mu: Slope) -> float:
        w = self.argmax(mu)
        if not np.isfinite(w).all():
            return np.inf
        return float((mu * w - self.values(w)).sum())

    def value_above(self, w: Slope, *, exact: bool = False) -> Estimate:
        return plain_sum(self.values(w), _ROUNDINGS, float(self.terms(w).sum()))

    def conjugate_above(self, mu: Slope, slack: float, *, exact: bool = False) -> Estimate:
        """By the maximiser, where it moves no faster than mu; else every summand at the worse of its ends."""
        if self.modulus > 0:
            summands, size = self._summands(mu)
            here, length = plain_sum(summands, _ROUNDINGS, size), self.length(self.argmax(mu))
            move = slack + 4 * EPS * self.length(mu)
            return Estimate(here.value, here.error + move * (length + move / self.modulus))
        moves = slack + 4 * EPS * np.abs(mu)
        (first, first_size), (second, second_size) = self._summands(mu - moves), self._summands(mu + moves)
        return plain_sum(np.maximum(first, second), _ROUNDINGS, first_size + second_size)

    def _summands(self, mu: Slope) -> tuple[Vector, float]:
        """Those of the conjugate, and the sum of the absolute values that they are made of."""
        w = self.argmax(mu)
        if not np.isfinite(w).all():
            return np.full_like(mu, np.inf), np.inf
        return mu * w - self.values(w), float((np.abs(mu * w) + self.terms(w)).sum())

    def terms(self, w: Slope) -> Vector:
        """What is added up to Omega's summands, in absolute values."""
        return np.abs(self.values(w))

    def curvature(self, mu: Slope, V: Matrix) -> Matrix:
        return np.asarray((V.T * self.argmax_slope(mu)) @ V)

    def shrinkage(self, mu: Slope, slack: float = 0.0) -> float:
        with np.errstate(over="ignore"):
            excess = float(((np.abs(mu) * (1 + 8 * EPS) + slack) / self.limits(mu)).max(initial=0.0))
        return 1.0 if excess <= 1 else (1.0 - 16 * EPS) / excess


class ElasticNet(Separable):
    """l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2, 0 <= l1_ratio <= 1."""

    inner_product = True

    def __init__(self, l1_ratio: float = 0.5) -> None:
        if not 0 <= as_number("l1_ratio", l1_ratio) <= 1:
            raise ValueError(f"l1_ratio must lie in [0, 1], got {l1_ratio!r}")
        self.l1_ratio = l1_ratio
        self.modulus = 1.0 - l1_ratio
        self.polyhedral = l1_ratio == 1
        self.smooth = self.quadratic = self.euclidean = l1_ratio == 0

    def forms(self) -> Iterator[Any]:
        yield _EVERYWHERE  # the first to be asked for
        yield Net(self.l1_ratio, self.modulus)
        yield from super().forms()

    def values(self, w: Slope) -> Vector:
        return np.asarray(self.l1_ratio * np.abs(w) + 0.5 * self.modulus * w * w)

    def argmax(self, mu: Slope) -> Slope:
        beyond = np.maximum(np.abs(mu) - self.l1_ratio, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(beyond == 0, 0.0, np.sign(mu) * beyond / self.modulus)

    def conjugate(self, mu: Slope) -> float:
        beyond = np.maximum(np.abs(mu) - self.l1_ratio, 0.0)
        if self.modulus == 0:
            return np.inf if beyond.any() else 0.0
        return 0.5 * float(beyond @ beyond) / self.modulus

    def conjugate_above(self, mu: Slope, slack: float, *, exact: bool = False) -> Estimate:
        """Half the square of the length of what is beyond, which moves no farther than mu."""
        if self.modulus == 0:
            return Estimate(np.inf if self.shrinkage(mu, slack) < 1 else 0.0, 0.0)
        beyond = np.maximum(np.abs(mu) - self.l1_ratio, 0.0) if self.l1_ratio else mu
        square = square_sum(beyond)
        length = float(np.sqrt(square.above))
        move = slack + 4 * EPS * (self.length(mu) if self.l1_ratio else length)
        value = 0.5 * square.value / self.modulus
        error = 0.5 * square.error / self.modulus + gamma(16) * value
        return Estimate(value, error + move * (length + 0.5 * move) / self.modulus)

    def argmax_slope(self, mu: Slope) -> Vector:
        return np.where(np.abs(mu) > self.l1_ratio, 1.0, 0.0) / max(self.modulus, TINY)

    def limits(self, mu: Slope) -> Vector:
        return np.full_like(mu, self.l1_ratio if self.polyhedral else np.inf)

    def subgradient(self, w: Slope) -> Slope:
        return np.asarray(self.l1_ratio * np.sign(w) + self.modulus * w)

    def prox(self, v: Slope, step: float) -> Slope:
        beyond = np.maximum(np.abs(v) - step * self.l1_ratio, 0.0)
        return np.asarray(np.sign(v) * beyond / (1.0 + step * self.modulus))


class L2(ElasticNet):
    """1/2 |w|^2."""

    def __init__(self) -> None:
        super().__init__(0.0)

    def value(self, w: Slope) -> float:
        return 0.5 * float(w @ w)

    def conjugate(self, mu: Slope) -> float:
        return 0.5 * float(mu @ mu)

    def value_above(self, w: Slope, *, exact: bool = False) -> Estimate:
        square = square_sum(w)
        return Estimate(0.5 * square.value, 0.5 * square.error)

    def argmax(self, mu: Slope) -> Slope:
        return mu.copy()

    def argmax_error(self, mu: Slope, slack: float) -> float:
        return slack + 16 * EPS * self.length(mu)

    def subgradient(self, w: Slope) -> Slope:
        return w.copy()


class L1(ElasticNet):
    """|w|_1."""

    def __init__(self) -> None:
        super().__init__(1.0)


class Box(Separable):
    """A separable penalty restricted to lo <= w <= hi (numbers or arrays, possibly infinite)."""

    def __init__(self, penalty: Separable, lo: Any = 0.0, hi: Any = np.inf) -> None:
        if not isinstance(penalty, Separable) or isinstance(penalty, Box):
            raise TypeError(
                f"Box needs a penalty that is a sum over coordinates (L2, L1, ElasticNet, Entropy), "
                f"got {penalty!r}"
            )
        self.penalty = penalty
        self.lo, self.hi = as_numbers("lo", lo), as_numbers("hi", hi)
        if not (self.lo <= self.hi).all() or (self.lo == np.inf).any() or (self.hi == -np.inf).any():
            raise ValueError("lo must not exceed hi, and there must be a finite number between them")
        self.modulus, self.polyhedral = penalty.modulus, penalty.polyhedral
        self.inner_product = penalty.inner_product
        rest = penalty.argmax(np.zeros(1))
        self.least_is_zero = bool((self.lo <= rest).all() and (rest <= self.hi).all())
        if not np.isfinite(penalty.values(np.clip(1.0, self.lo, self.hi))).all():
            raise ValueError(f"{penalty!r} is infinite everywhere between lo and hi")

    def forms(self) -> Iterator[Any]:
        yield from (form for form in self.penalty.forms() if isinstance(form, Net))

    def values(self, w: Slope) -> Vector:
        return np.where((w < self.lo) | (w > self.hi), np.inf, self.penalty.values(w))

    def argmax(self, mu: Slope) -> Slope:
        return np.clip(self.penalty.argmax(mu), self.lo, self.hi)

    def argmax_slope(self, mu: Slope) -> Vector:
        w = self.penalty.argmax(mu)
        return np.where((w > self.lo) & (w < self.hi), self.penalty.argmax_slope(mu), 0.0)

    def limits(self, mu: Slope) -> Vector:
        outward = np.where(mu > 0, self.hi, -self.lo)
        return np.where(np.isfinite(outward), np.inf, self.penalty.limits(mu))

    def bounds(self, d: int) -> tuple[Vector, Vector]:
        return np.broadcast_to(self.lo, (d,)), np.broadcast_to(self.hi, (d,))

    def subgradient(self, w: Slope) -> Slope:
        return self.penalty.subgradient(w)

    def prox(self, v: Slope, step: float) -> Slope:
        return np.clip(self.penalty.prox(v, step), self.lo, self.hi)

    def terms(self, w: Slope) -> Vector:
        return self.penalty.terms(w)

    def rounded(self, w: Slope, dtype: Any) -> Slope:
        """Clipped again, to the outermost numbers of that precision in the box; else as it is."""
        lo, hi = (bound.astype(dtype) for bound in (self.lo, self.hi))
        lo = np.where(lo < self.lo, np.nextafter(lo, lo.dtype.type(np.inf)), lo)
        hi = np.where(hi > self.hi, np.nextafter(hi, hi.dtype.type(-np.inf)), hi)
        return np.clip(w.astype(dtype, copy=False), lo, hi) if (lo <= hi).all() else w

    def take(self, columns: Indices) -> "Box":
        return Box(self.penalty, *(end[columns] if end.ndim else end for end in (self.lo, self.hi)))

    def check(self, d: int) -> None:
        for name, bound in (("lo", self.lo), ("hi", self.hi)):
            if bound.ndim and bound.shape != (d,):
                raise ValueError(f"{name} has shape {bound.shape} but X has {d} columns")
