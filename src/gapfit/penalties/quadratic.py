"""The penalty 1/2 w'Qw: another metric for the weights."""

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from gapfit._types import Data, Matrix, Slope, Vector
from gapfit.errors import as_numbers
from gapfit.penalties.base import Penalty
from gapfit.rounding import EPS, Estimate, exact_dot, gamma


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
        size = float(np.abs(self.Q).max(initial=0.0))
        if (np.abs(self.Q - self.Q.T) > 8 * EPS * size).any():
            raise ValueError("Q must be symmetric; take (Q + Q.T) / 2 if only rounding makes it differ")
        self.Q = 0.5 * (self.Q + self.Q.T)
        try:
            self._factor = cho_factor(self.Q)
        except LinAlgError as error:
            raise ValueError("Q must be positive definite") from error
        eigenvalues = np.linalg.eigvalsh(self.Q)
        # eigenvalues are those of a matrix near by; what is left above zero is proved
        self._least = float(eigenvalues[0] - 16 * len(self.Q) * EPS * eigenvalues[-1])
        if not self._least > 0:
            raise ValueError(
                "Q must be positive definite beyond rounding: its eigenvalues range over "
                f"[{eigenvalues[0]:.3g}, {eigenvalues[-1]:.3g}]; add a multiple of the identity"
            )
        self.stretch = float(1 / np.sqrt(self._least)) * (1 + 8 * EPS)

    def value(self, w: Slope) -> float:
        return 0.5 * float(w @ self.Q @ w)

    def conjugate(self, mu: Slope) -> float:
        return 0.5 * float(mu @ self.argmax(mu))

    def argmax(self, mu: Slope) -> Slope:
        return np.asarray(cho_solve(self._factor, mu, check_finite=False))

    def value_above(self, w: Slope, *, exact: bool = False) -> Estimate:
        size = 0.5 * float(np.abs(w) @ np.abs(self.Q) @ np.abs(w))
        return Estimate(self.value(w), gamma(2 * w.size + 8) * size)

    def conjugate_above(self, mu: Slope, slack: float, *, exact: bool = False) -> Estimate:
        """With x a solution of Q x = mu up to a residual r: 1/2 x'Qx + <x, r> + 1/2 r'Q^-1 r."""
        x = self.argmax(mu)
        residual, lost = self._residual(mu, x)
        rest = self.length(np.abs(residual) + lost) + slack + 4 * EPS * self.length(mu)
        here = self.value_above(x)
        cross = exact_dot(x, residual)
        error = here.error + cross.error + float(np.abs(x) @ lost) * 2 + slack * self.length(x)
        return Estimate(here.value + cross.value, error + 0.5 * rest * rest / self._least)

    def argmax_error(self, mu: Slope, slack: float) -> float:
        """By the residual, too: the length of Q^-1/2 times it."""
        residual, lost = self._residual(mu, self.argmax(mu))
        rest = self.length(np.abs(residual) + lost) + slack + 8 * EPS * self.length(mu)
        return self.stretch * rest * (1 + 8 * EPS)

    def _residual(self, mu: Slope, x: Slope) -> tuple[Vector, Vector]:
        """mu - Q x, and how far each coordinate may be from that."""
        return mu - self.Q @ x, gamma(x.size + 4) * (np.abs(mu) + np.abs(self.Q) @ np.abs(x))

    def curvature(self, mu: Slope, V: Matrix) -> Matrix:
        return np.asarray(V.T @ cho_solve(self._factor, V, check_finite=False))

    def subgradient(self, w: Slope) -> Slope:
        return np.asarray(self.Q @ w)

    def prox(self, v: Slope, step: float) -> Slope:
        return np.asarray(np.linalg.solve(np.eye(len(v)) + step * self.Q, v))

    def norm(self, w: Slope) -> float:
        return float(np.sqrt(2 * max(self.value(w), 0.0)))

    def norm_below(self, w: Slope) -> float:
        return float(np.sqrt(2 * max(self.value_above(w).below, 0.0)))

    def dual_norms(self, X: Data, centre: Vector) -> Vector:
        """sqrt(x'Q^-1 x) by a solution z of Q z = x up to a residual: at most |z| + |Q^-1/2 residual|."""
        rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64) - centre
        d = len(self.Q)
        Z: Matrix = np.asarray(cho_solve(self._factor, rows.T, check_finite=False)).T
        products, sizes = Z @ self.Q, np.abs(Z) @ np.abs(self.Q)
        squares = (Z * products).sum(axis=1) + gamma(2 * d + 8) * (np.abs(Z) * sizes).sum(axis=1)
        residuals = np.abs(rows - products) + gamma(d + 8) * (np.abs(rows) + sizes)
        rest = self.stretch * np.linalg.norm(residuals, axis=1)
        return np.asarray((np.sqrt(np.maximum(squares, 0.0)) + rest) * (1 + gamma(d + 16)))

    def check(self, d: int) -> None:
        if len(self.Q) != d:
            raise ValueError(f"Q is {len(self.Q)} x {len(self.Q)} but X has {d} columns")
