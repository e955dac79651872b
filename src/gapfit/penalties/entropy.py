"""Entropies: penalties for non-negative weights and for weights on the simplex."""

from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax, wrightomega, xlogy

from gapfit._types import Data, Matrix, Slope, Vector
from gapfit.design.rows import row_norms
from gapfit.penalties.base import Penalty
from gapfit.penalties.separable import Separable
from gapfit.rounding import EPS, SUM, TINY, Estimate, exact_sum, gamma, plain_sum


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

    def terms(self, w: Slope) -> Vector:
        return np.asarray(np.abs(xlogy(w, np.maximum(w, 0.0))) + np.abs(w) + 1.0)

    def conjugate_above(self, mu: Slope, slack: float, *, exact: bool = False) -> Estimate:
        with np.errstate(over="ignore"):
            here, move = np.expm1(mu), slack + 4 * EPS * np.abs(mu)
            error = (here + 1.0) * np.expm1(move)  # it rises with every coordinate
        if not np.isfinite(error).all():
            return Estimate(np.inf, 0.0)
        value = plain_sum(here, 8)
        return Estimate(value.value, value.error + float(error.sum()) * (1 + gamma(SUM)))

    def argmax_slope(self, mu: Slope) -> Vector:
        return self.argmax(mu)

    def subgradient(self, w: Slope) -> Slope:
        return np.log(np.maximum(w, TINY))

    def prox(self, v: Slope, step: float) -> Slope:
        return _entropy_prox(v, step)


_ASTRAY = 1e-13  # from one the sum of weights on the simplex may be, for each of them, by rounding


class SimplexEntropy(Penalty):
    """sum w log w + log d on the probability simplex (+inf elsewhere)."""

    modulus = 1.0

    def value(self, w: Slope) -> float:
        if (w < 0).any() or self.astray(w) > _ASTRAY * len(w):
            return np.inf
        return max(float(xlogy(w, w).sum()) + float(np.log(len(w))), 0.0)

    def value_above(self, w: Slope, *, exact: bool = False) -> Estimate:
        """Of w divided by its sum, which is 1 up to rounding."""
        value = self.value(w)
        size = float(np.abs(xlogy(w, w)).sum()) + np.log(len(w)) + 1.0
        return Estimate(value, gamma(SUM + 8) * size + 2 * self.astray(w) * (1.0 + size))

    def conjugate(self, mu: Slope) -> float:
        return float(logsumexp(mu)) - float(np.log(len(mu)))

    def conjugate_above(self, mu: Slope, slack: float, *, exact: bool = False) -> Estimate:
        """No coordinate moves by more than the slack, and so does the maximum of all."""
        size = float(np.abs(mu).max()) + float(np.log(len(mu))) + 1.0
        return Estimate(self.conjugate(mu), slack + gamma(len(mu) + SUM) * size)

    def astray(self, w: Slope) -> float:
        rest = exact_sum(w, -1.0)
        return abs(rest.value) + rest.error

    def rounded(self, w: Slope, dtype: Any) -> Slope:
        """In full precision: in single precision the sum would not be one."""
        return w

    def argmax(self, mu: Slope) -> Slope:
        return np.asarray(softmax(mu))

    def curvature(self, mu: Slope, V: Matrix) -> Matrix:
        w = self.argmax(mu)
        centred = V - w @ V
        return np.asarray((centred.T * w) @ centred)

    def subgradient(self, w: Slope) -> Slope:
        return np.log(np.maximum(w, TINY))

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
