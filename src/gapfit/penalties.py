"""Penalties Omega(w), each with minimum zero, and their conjugates.

A solver needs a penalty in three ways: its value, its conjugate `Omega*(mu) = sup_w <mu, w> - Omega(w)` with
the maximiser (which turns a minorant into a lower bound and a point), and, for master problems, the curvature
of the conjugate. Penalties that are sums over coordinates (`Separable`) can be restricted by `Box`.

`modulus` m and `norm` state strong convexity: Omega(v) >= Omega(w) + <g, v - w> + m/2 norm(v - w)^2 for
g in the subdifferential at w. The gap then bounds the distance to the optimum; modulus 0 means it does not.
"""

import re
from abc import ABC, abstractmethod
from inspect import signature
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import logsumexp, softmax, wrightomega, xlogy

from gapfit._types import Data, Matrix, Slope, Vector
from gapfit.design.rows import row_norms
from gapfit.errors import as_number, as_numbers


class Penalty(ABC):
    """Omega(w). Representation and equality follow the parameters."""

    modulus: float = 0.0  # strong convexity in `norm`; 0 if there is none
    inner_product: bool = False  # does `norm` come from an inner product?
    euclidean: bool = False  # is Omega 1/2 |w|^2?
    quadratic: bool = False  # is the conjugate a quadratic form? Then masters work on a Gram matrix
    polyhedral: bool = False  # is Omega piecewise linear? Then masters are linear programs
    smooth: bool = False  # is Omega differentiable on its whole domain R^d?

    @abstractmethod
    def value(self, w: Slope) -> float:
        """Omega(w), +inf outside the domain."""

    @abstractmethod
    def conjugate(self, mu: Slope) -> float:
        """sup over w of <mu, w> - Omega(w)."""

    @abstractmethod
    def argmax(self, mu: Slope) -> Slope:
        """The w that attains the conjugate: its gradient at mu."""

    @abstractmethod
    def curvature(self, mu: Slope, V: Matrix) -> Matrix:
        """V' H V, H the Hessian (or a generalised one) of the conjugate at mu."""

    @abstractmethod
    def subgradient(self, w: Slope) -> Slope:
        """One subgradient of Omega at w."""

    @abstractmethod
    def prox(self, v: Slope, step: float) -> Slope:
        """argmin over w of step * Omega(w) + |w - v|^2 / 2."""

    def shrinkage(self, mu: Slope) -> float:
        """The largest t <= 1 for which the conjugate is finite at t * mu."""
        del mu
        return 1.0

    def norm(self, w: Slope) -> float:
        """The norm in which Omega is strongly convex."""
        return float(np.linalg.norm(w))

    def dual_norms(self, X: Data, centre: Vector) -> Vector:
        """The dual norm of each row of X - centre: how far a score can move with w."""
        return row_norms(X, centre)

    def check(self, d: int) -> None:
        """Raise a ValueError if the parameters do not fit d features."""

    @property
    def name(self) -> str:
        """The snake_case name by which the registry knows the class."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()

    def __repr__(self) -> str:
        parameters = signature(type(self)).parameters
        return f"{type(self).__name__}({', '.join(f'{k}={getattr(self, k)!r}' for k in parameters)})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


class QuadraticForm(Penalty):
    """1/2 w'Qw for a symmetric positive definite Q."""

    modulus = 1.0
    inner_product = True
    quadratic = True
    smooth = True

    def __init__(self, Q: Any) -> None:
        self.Q = as_numbers("Q", Q)
        if self.Q.ndim != 2 or self.Q.shape[0] != self.Q.shape[1] or not np.isfinite(self.Q).all():
            raise ValueError("Q must be a finite square matrix")
        if not np.allclose(self.Q, self.Q.T):
            raise ValueError("Q must be symmetric")
        try:
            self._factor = cho_factor(self.Q)
        except LinAlgError as error:
            raise ValueError("Q must be positive definite") from error

    def value(self, w: Slope) -> float:
        return 0.5 * float(w @ self.Q @ w)

    def conjugate(self, mu: Slope) -> float:
        return 0.5 * float(mu @ self.argmax(mu))

    def argmax(self, mu: Slope) -> Slope:
        return np.asarray(cho_solve(self._factor, mu))

    def curvature(self, mu: Slope, V: Matrix) -> Matrix:
        return np.asarray(V.T @ cho_solve(self._factor, V))

    def subgradient(self, w: Slope) -> Slope:
        return np.asarray(self.Q @ w)

    def prox(self, v: Slope, step: float) -> Slope:
        return np.asarray(np.linalg.solve(np.eye(len(v)) + step * self.Q, v))

    def norm(self, w: Slope) -> float:
        return float(np.sqrt(w @ self.Q @ w))

    def dual_norms(self, X: Data, centre: Vector) -> Vector:
        rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64) - centre
        return np.asarray(np.sqrt(np.maximum((rows * cho_solve(self._factor, rows.T).T).sum(axis=1), 0)))

    def check(self, d: int) -> None:
        if len(self.Q) != d:
            raise ValueError(f"Q is {len(self.Q)} x {len(self.Q)} but X has {d} columns")


class SquaredLp(Penalty):
    """1/2 |w|_p^2 for 1 < p <= 2; with 1/p + 1/q = 1 the conjugate is 1/2 |mu|_q^2."""

    smooth = True

    def __init__(self, p: float = 1.5) -> None:
        if not 1 < as_number("p", p) <= 2:
            raise ValueError(f"p must lie in (1, 2], got {p!r}")
        self.p = p
        self._q = p / (p - 1)
        self.modulus = p - 1

    def value(self, w: Slope) -> float:
        return 0.5 * _norm(w, self.p) ** 2

    def conjugate(self, mu: Slope) -> float:
        return 0.5 * _norm(mu, self._q) ** 2

    def argmax(self, mu: Slope) -> Slope:
        return _gradient_of_half_squared_norm(mu, self._q)

    def curvature(self, mu: Slope, V: Matrix) -> Matrix:
        size = _norm(mu, self._q)
        if size == 0:
            return np.asarray(V.T @ V)
        unit = np.abs(mu) / size
        diagonal = (self._q - 1) * unit ** (self._q - 2)
        first = V.T @ (np.sign(mu) * unit ** (self._q - 1))
        return np.asarray((V.T * diagonal) @ V - (self._q - 2) * np.outer(first, first))

    def subgradient(self, w: Slope) -> Slope:
        return _gradient_of_half_squared_norm(w, self.p)

    def prox(self, v: Slope, step: float) -> Slope:
        """By bisection on the norm n of the answer, which solves w + step n^(2-p) w^(p-1) = |v|."""
        size = np.abs(v)
        lo, hi = 0.0, _norm(v, self.p)
        for _ in range(60):
            n = 0.5 * (lo + hi)
            w = _solve_power(size, step * n ** (2 - self.p), self.p - 1)
            lo, hi = (n, hi) if _norm(w, self.p) > n else (lo, n)
        return np.asarray(np.sign(v) * _solve_power(size, step * hi ** (2 - self.p), self.p - 1))

    def norm(self, w: Slope) -> float:
        return _norm(w, self.p)

    def dual_norms(self, X: Data, centre: Vector) -> Vector:
        return row_norms(X, centre, self._q)


def _norm(w: Slope, p: float) -> float:
    """|w|_p without overflow."""
    largest = float(np.abs(w).max(initial=0.0))
    if largest in (0.0, np.inf):
        return largest
    return largest * float(((np.abs(w) / largest) ** p).sum() ** (1 / p))


def _gradient_of_half_squared_norm(w: Slope, p: float) -> Slope:
    size = _norm(w, p)
    if size == 0:
        return np.zeros_like(w)
    return np.asarray(np.sign(w) * (np.abs(w) / size) ** (p - 1) * size)


def _solve_power(v: Slope, s: float, r: float) -> Slope:
    """The w >= 0 with w + s w^r = v >= 0, 0 < r <= 1, by bisection in each coordinate."""
    lo, hi = np.zeros_like(v), v.copy()
    for _ in range(60):
        w = 0.5 * (lo + hi)
        high = w + s * w**r > v
        lo, hi = np.where(high, lo, w), np.where(high, w, hi)
    return np.asarray(0.5 * (lo + hi))


class SimplexEntropy(Penalty):
    """sum w log w + log d on the probability simplex (+inf elsewhere)."""

    modulus = 1.0

    def value(self, w: Slope) -> float:
        if (w < 0).any() or abs(w.sum() - 1) > 1e-6:
            return np.inf
        return max(float(xlogy(w, w).sum()) + float(np.log(len(w))), 0.0)

    def conjugate(self, mu: Slope) -> float:
        return float(logsumexp(mu)) - float(np.log(len(mu)))

    def argmax(self, mu: Slope) -> Slope:
        return np.asarray(softmax(mu))

    def curvature(self, mu: Slope, V: Matrix) -> Matrix:
        w = self.argmax(mu)
        centred = V - w @ V
        return np.asarray((centred.T * w) @ centred)

    def subgradient(self, w: Slope) -> Slope:
        return np.log(np.maximum(w, np.finfo(float).tiny))

    def prox(self, v: Slope, step: float) -> Slope:
        """The unnormalised answer, with the shift that makes it sum to one."""
        lo, hi = float(v.min()) - 1.0 - step * (1 + np.log(len(v))), float(v.max()) + step * 40
        for _ in range(200):
            shift = 0.5 * (lo + hi)
            lo, hi = (shift, hi) if _entropy_prox(v - shift, step).sum() > 1 else (lo, shift)
        w = _entropy_prox(v - 0.5 * (lo + hi), step)
        return np.asarray(w / w.sum())

    def norm(self, w: Slope) -> float:
        return float(np.abs(w).sum())

    def dual_norms(self, X: Data, centre: Vector) -> Vector:
        return row_norms(X, centre, np.inf)


def _entropy_prox(v: Slope, step: float) -> Slope:
    """The w with step log w + w = v."""
    return np.asarray(step * wrightomega(v / step - np.log(step)))


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
        return float(mu @ w - self.values(w).sum())

    def curvature(self, mu: Slope, V: Matrix) -> Matrix:
        return np.asarray((V.T * self.argmax_slope(mu)) @ V)

    def shrinkage(self, mu: Slope) -> float:
        excess = float((np.abs(mu) / self.limits(mu)).max(initial=0.0))
        return 1.0 if excess <= 1 else (1.0 - 4 * np.finfo(float).eps) / excess


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

    def values(self, w: Slope) -> Vector:
        return np.asarray(self.l1_ratio * np.abs(w) + 0.5 * self.modulus * w * w)

    def argmax(self, mu: Slope) -> Slope:
        beyond = np.maximum(np.abs(mu) - self.l1_ratio, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(beyond == 0, 0.0, np.sign(mu) * beyond / self.modulus)

    def argmax_slope(self, mu: Slope) -> Vector:
        return np.where(np.abs(mu) > self.l1_ratio, 1.0, 0.0) / max(self.modulus, np.finfo(float).tiny)

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


class L1(ElasticNet):
    """|w|_1."""

    def __init__(self) -> None:
        super().__init__(1.0)


class Entropy(Separable):
    """sum w log w - w + 1 over w >= 0 (+inf elsewhere)."""

    def values(self, w: Slope) -> Vector:
        return np.where(w < 0, np.inf, xlogy(w, np.maximum(w, 0.0)) - w + 1.0)

    def argmax(self, mu: Slope) -> Slope:
        with np.errstate(over="ignore"):
            return np.exp(mu)

    def conjugate(self, mu: Slope) -> float:
        with np.errstate(over="ignore"):
            return float(np.expm1(mu).sum())

    def argmax_slope(self, mu: Slope) -> Vector:
        return self.argmax(mu)

    def subgradient(self, w: Slope) -> Slope:
        return np.log(np.maximum(w, np.finfo(float).tiny))

    def prox(self, v: Slope, step: float) -> Slope:
        return _entropy_prox(v, step)


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
        if not np.isfinite(penalty.values(np.clip(1.0, self.lo, self.hi))).all():
            raise ValueError(f"{penalty!r} is infinite everywhere between lo and hi")

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

    def subgradient(self, w: Slope) -> Slope:
        return self.penalty.subgradient(w)

    def prox(self, v: Slope, step: float) -> Slope:
        return np.clip(self.penalty.prox(v, step), self.lo, self.hi)

    def check(self, d: int) -> None:
        for name, bound in (("lo", self.lo), ("hi", self.hi)):
            if bound.ndim and bound.shape != (d,):
                raise ValueError(f"{name} has shape {bound.shape} but X has {d} columns")
