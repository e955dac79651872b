"""Systems with a Hessian, which is definite but for rounding."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from gapfit._types import Matrix, Slope, Vector
from gapfit.design.base import Design
from gapfit.penalties.forms import Euclidean
from gapfit.problem import Problem
from gapfit.records import storable
from gapfit.rounding import EPS

_RIDGES = 20  # the last is 1e38 times the rounding of the largest entry: only NaN and infinity withstand it
_LEAST_RIDGE = 1e-300
_TOO_LARGE = "the second derivatives of the risk are too large"


def solve_definite(design: Design, hessian: Matrix, gradient: Slope) -> Slope:
    """A solution of the system; where rounding has cost the Hessian its definiteness, of one near by."""
    solution: Slope = factorised(design, hessian).solve(gradient)
    return solution


def with_penalty(problem: Problem, gram: Matrix) -> Matrix:
    """Gram + alpha Q, Q of the penalty 1/2 w'Qw, from its gradients; where the former is."""
    if problem.has(Euclidean):
        hessian = gram.copy()
        hessian[np.diag_indices_from(hessian)] += problem.alpha
        return hessian
    Q = problem.alpha * problem.penalty.subgradient(np.eye(problem.design.shape[1]))
    return gram + np.asarray(Q, like=gram)


@storable
class Factor(NamedTuple):
    """A Cholesky factor as LAPACK has it."""

    matrix: Matrix
    lower: bool

    def solve(self, gradient: Slope) -> Slope:
        """The solution of the system that was factorised."""
        return np.asarray(cho_solve(self, gradient, check_finite=False))


def factorised(design: Design, hessian: Matrix) -> Any:
    """The Cholesky factor, which solves systems; where rounding has cost definiteness, of a matrix near by.

    Only the lower triangle of the Hessian counts. A ridge is added that grows from the rounding of the
    largest entry until the matrix is definite, at the latest when it exceeds the sum of any row.
    """
    attempt = _by_lapack if isinstance(hessian, np.ndarray) else design.cholesky
    ridge = 0.0
    for _ in range(_RIDGES):
        if (factor := attempt(hessian)) is not None:
            return factor
        more = max(100 * ridge, EPS * _size(hessian), _LEAST_RIDGE)
        if not more < np.inf:
            break
        hessian = hessian.copy()
        hessian[np.diag_indices_from(hessian)] += more - ridge
        ridge = more
    raise OverflowError(_TOO_LARGE)


def _by_lapack(hessian: Matrix) -> Factor | None:
    """The factor; None where rounding has cost the matrix its definiteness."""
    try:
        # a lower triangle, row by row, is an upper one, column by column, as LAPACK wants it
        factor = Factor(*cho_factor(hessian.T, lower=False, check_finite=False))
    except LinAlgError:
        return None
    if not np.isfinite(np.diagonal(factor.matrix)).all():
        raise OverflowError(_TOO_LARGE)
    return factor


def _size(hessian: Matrix) -> float:
    """The trace, or what is larger."""
    trace = float(hessian[np.diag_indices_from(hessian)].sum())
    whole = hessian if not isinstance(hessian, np.ndarray) else np.tril(hessian)
    return max(trace, float(np.abs(whole).max()))


def spectrum(hessian: Matrix) -> tuple[Vector, Matrix]:
    """Eigenvalues, ascending, and eigenvectors; only the lower triangle counts."""
    if not np.isfinite(hessian).all():
        raise OverflowError(_TOO_LARGE)
    values, vectors = eigh(hessian, driver="evd", check_finite=False)
    return values, vectors
