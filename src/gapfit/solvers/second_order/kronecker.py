"""A stand-in for the Hessian of a loss over classes that is quick to invert: a Kronecker product.

With D_i the K x K Hessian of sample i's loss, the Hessian in W is alpha + sum_i D_i (x) x_i x_i'. If all D_i
were multiples v_i S of one matrix, that would be alpha + G (x) S, with G the Gram matrix of the rows weighted
by v. The eigenvectors of G and S diagonalise it. Here v_i is the trace of D_i, and S is the mean of the D_i.

G is expensive and changes slowly: its eigenvectors are kept until as much work was done as they cost.
"""

from typing import Any

import numpy as np

from gapfit._types import Matrix, Slope, Vector
from gapfit.penalties import L2
from gapfit.records import Kept
from gapfit.solvers.second_order.definite import spectrum

MOST = 1500  # features; beyond that G is taken for a multiple of the identity
_EIGEN = 12.0  # eigenvectors of G take so many times d^3 multiplications
_LEAST = 1e-10  # S is singular, since a common shift changes nothing; its eigenvalues count as at least that


class Kronecker(Kept):
    """Solves (alpha + G (x) S) W = right-hand side, the intercepts eliminated where there are any."""

    KEPT = ("centre", "G_values", "G_vectors", "left")

    def __init__(self, rows: Any, outputs: int, alpha: float, intercept: bool) -> None:
        self.rows, self.outputs, self.alpha, self.intercept = rows, outputs, alpha, intercept
        d = rows.shape[1]
        self.dense = d <= MOST
        product = 2.0 * rows.size * outputs
        self.worth = (0.5 * rows.size * d + _EIGEN * d**3) / product if self.dense else 1.0
        self.left = 0.0  # products with X until the eigenvectors have paid

    def update(self, v: Vector, S: Matrix) -> None:
        """Take notice of new second derivatives."""
        if not (total := float(v.sum())) > 0:
            raise ArithmeticError("the second derivatives of the risk vanish")  # all samples are saturated
        if self.left <= 0:
            self._diagonalise(v / total)
            self.left = self.worth
        self.S_values, self.S_vectors = spectrum(S)
        self.S_values = np.maximum(self.S_values, _LEAST * max(float(self.S_values[-1]), 1e-300))

    def _diagonalise(self, v: Vector) -> None:
        """G, its rows centred at their mean if there are intercepts."""
        d = self.rows.shape[1]
        self.centre = self.rows.adjoint(v) if self.intercept else np.zeros(d)
        if self.dense:
            self.G_values, self.G_vectors = spectrum(self.rows.weighted_gram(v, self.centre))
            self.G_values = np.maximum(self.G_values, 0.0)
        else:
            spread = float(v @ self.rows.distances(L2(), self.centre) ** 2) / d
            self.G_values, self.G_vectors = np.full(d, spread), np.zeros((0, 0))

    def solve(self, gradient: Slope, slopes: Vector) -> tuple[Slope, Vector]:
        """The W and b at which the stand-in takes these values; both in flat form."""
        self.left -= 1
        right = gradient.reshape(-1, self.outputs)
        if self.intercept:
            right = right - np.outer(self.centre, slopes)
        turned = right @ self.S_vectors
        scale = self.alpha + np.outer(self.G_values, self.S_values)
        if self.dense:
            turned = self.G_vectors @ ((self.G_vectors.T @ turned) / scale)
        else:
            turned /= scale
        W = turned @ self.S_vectors.T
        if not self.intercept:
            return W.ravel(), slopes
        b = self.S_vectors @ ((slopes @ self.S_vectors) / self.S_values) - self.centre @ W
        return W.ravel(), b
