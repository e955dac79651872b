"""The quadratic model of the risk by its matrix of second derivatives: X is not needed any more."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from gapfit._types import Indices, Matrix, Slope, Vector
from gapfit.solvers.columns.bend import AnyBend
from gapfit.solvers.columns.columns import Selection
from gapfit.solvers.columns.kinds import AnyTerms

_SWEEPS = 15  # in a round, at most: they do not read the columns
_FEWER = 12  # equations that may be missing from a system whose factor is known: each costs a solution more


class ByMatrix:
    """The second derivatives as a matrix, for few columns: then rows of X are not needed any more."""

    sweeps = _SWEEPS
    passes = 0.0

    def __init__(self, H: Matrix, a: Slope, rounding: Vector) -> None:
        self.H, self.a, self.rounding = H, a.copy(), rounding  # of its diagonal
        self.factor: _Factor | None = None  # of the last system that was solved from nothing

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

    def sweep(self, terms: AnyTerms, w: Slope) -> float:
        """One pass of coordinate descent; the largest change of a derivative by its own coordinate."""
        return terms.sweep_matrix(self.H, w, self.a)

    def derivatives(self, some: Indices) -> Slope:
        """Of the quadratic part, at the w of the last `sweep` or `go`."""
        return self.a[some]

    def solve(self, some: Indices, more: AnyBend, b: Slope, tolerance: float, far_enough: Any) -> Slope:
        """The step after which these derivatives have changed by b, those of the penalty included."""
        del tolerance, far_enough
        if self.factor is not None and more.constant and (without := self.factor.without(some)) is not None:
            return self.factor.solve(b, without)
        H = self.H.take(some, axis=0).take(some, axis=1)  # twice as fast as by pairs of indices
        H[np.diag_indices(len(some))] += self.rounding[some]
        more.add_to(H)
        root, failed = dpotrf(H.T, clean=False)  # which need not be copied: it is symmetric
        if failed:  # rounding: indefinite
            return np.asarray(np.linalg.solve(H, b), np.float64)
        self.factor = _Factor(some, root)
        return self.factor.solve(b, np.empty(0, np.int64))

    def image(self, some: Indices, step: Slope) -> Vector:
        """What a step of these coordinates changes; linear in the step."""
        return np.asarray(step @ self.H[some])

    def bend(self, some: Indices, step: Slope, image: Vector) -> float:
        """Second derivative of the quadratic part along the step."""
        return float(step @ image[some])

    def go(self, some: Indices, step: Slope, image: Vector) -> None:
        """Take the step."""
        self.a += image


class _Factor(NamedTuple):
    """Cholesky's factor of the equations of some coordinates, which serves those of nearly all of them, too.

    One that has met its kink is zero from then on: a force on its equation alone holds it there.
    """

    some: Indices
    root: Matrix

    def without(self, others: Indices) -> Indices | None:
        """Which of its equations the others lack, if they are among them and lack few."""
        if not 0 <= len(self.some) - len(others) <= _FEWER:
            return None
        lacking = np.flatnonzero(~np.isin(self.some, others, assume_unique=True))
        return lacking if len(self.some) - len(lacking) == len(others) else None

    def solve(self, b: Slope, lacking: Indices) -> Slope:
        """For the right-hand side b of all but those."""
        right = np.zeros((len(self.some), 1 + len(lacking)), order="F")
        kept = np.delete(np.arange(len(self.some)), lacking)
        right[kept, 0] = b
        right[lacking, np.arange(1, right.shape[1])] = 1.0
        solution, _ = dpotrs(self.root, right, overwrite_b=True)
        if len(lacking):
            forces = np.linalg.solve(solution[lacking, 1:], solution[lacking, 0])
            return np.asarray((solution[:, 0] - solution[:, 1:] @ forces)[kept])
        return np.asarray(solution[:, 0])
