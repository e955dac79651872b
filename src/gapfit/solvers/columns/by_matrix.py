"""The quadratic model of the risk by its matrix of second derivatives: X is not needed any more."""

from typing import Any

import numpy as np
from scipy.linalg.lapack import dposv

from gapfit._types import Indices, Matrix, Slope, Vector
from gapfit.solvers.columns.columns import Selection
from gapfit.solvers.columns.terms import Terms

_SWEEPS = 15  # in a round, at most: they do not read the columns


class ByMatrix:
    """The second derivatives as a matrix, for few columns: then rows of X are not needed any more."""

    sweeps = _SWEEPS
    passes = 0.0

    def __init__(self, H: Matrix, a: Slope, rounding: Vector) -> None:
        self.H, self.a, self.rounding = H, a.copy(), rounding  # of its diagonal

    @classmethod
    def of(cls, columns: Selection, a: Slope, D: Vector, per_total: float) -> "ByMatrix":
        """That of some columns; `a` are the derivatives."""
        H = columns.gram(D)
        square = H.diagonal().copy()
        if per_total:
            m = columns.adjoint(D)
            H -= np.outer(per_total * m, m)
        # where the difference cancels, rounding is all there is to know of it
        np.fill_diagonal(H, np.maximum(H.diagonal(), 1e-15 * square))
        return cls(H, a, 16 * columns.precision * square)  # it must stay positive definite

    def sweep(self, terms: Terms, w: Slope) -> float:
        """One pass of coordinate descent; the largest change of a derivative by its own coordinate."""
        from gapfit.compiled.columns import sweep_matrix

        return float(sweep_matrix(self.H, w, self.a, terms))

    def derivatives(self, some: Indices) -> Slope:
        """Of the quadratic part, at the w of the last `sweep` or `go`."""
        return self.a[some]

    def solve(self, some: Indices, l2: float, b: Slope, tolerance: float, far_enough: Any) -> Slope:
        """The step after which these derivatives have changed by b, l2 included."""
        del tolerance, far_enough
        H = self.H.take(some, axis=0).take(some, axis=1)  # twice as fast as by pairs of indices
        H[np.diag_indices(len(some))] += l2 + self.rounding[some]
        _, step, failed = dposv(H.T, b)  # which need not be copied: it is symmetric
        return np.asarray(np.linalg.solve(H, b) if failed else step, np.float64)  # rounding: indefinite

    def image(self, some: Indices, step: Slope) -> Vector:
        """What a step of these coordinates changes; linear in the step."""
        return np.asarray(step @ self.H[some])

    def bend(self, some: Indices, step: Slope, image: Vector) -> float:
        """Second derivative of the quadratic part along the step."""
        return float(step @ image[some])

    def go(self, some: Indices, step: Slope, image: Vector) -> None:
        """Take the step."""
        self.a += image
