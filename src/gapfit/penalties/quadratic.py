"""The penalty 1/2 w'Qw: another metric for the weights."""

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from gapfit._types import Data, Matrix, Slope, Vector
from gapfit.errors import as_numbers
from gapfit.penalties.base import Penalty


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
