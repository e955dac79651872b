"""Entropies: penalties for non-negative weights and for weights on the simplex."""

import numpy as np
from scipy.special import logsumexp, softmax, wrightomega, xlogy

from gapfit._types import Data, Matrix, Slope, Vector
from gapfit.design.rows import row_norms
from gapfit.penalties.base import Penalty
from gapfit.penalties.separable import Separable


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
