"""The penalty 1/2 |w|_p^2, between l1 and l2."""

import numpy as np

from gapfit._types import Data, Matrix, Slope, Vector
from gapfit.design.rows import row_norms
from gapfit.errors import as_number
from gapfit.penalties.base import Penalty


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
