"""Kernels that are not positive semidefinite: a stationary point of the dual, of which nothing is proved.

The problem of an indefinite matrix is not convex. Steps on pairs still descend, and end where no pair
improves on another, as in libsvm. If the matrix at hand happens to be positive semidefinite, none of this is
needed: then the fit is certified as any other.
"""

from time import perf_counter
from typing import Any

import numpy as np

from gapfit import limits
from gapfit._types import Matrix
from gapfit.design.kernel import Gram, KernelDesign
from gapfit.losses.nu import NuLoss
from gapfit.problem import Problem
from gapfit.room import ask_for
from gapfit.solution import Certificate, Record, Solution, Status
from gapfit.solvers.pairs.dual import Dual
from gapfit.solvers.pairs.exact import Box

_STEPS = 1000  # on pairs, for each sample
_BLOCK = 1024


def local_solution(problem: Problem, tol: float, max_time: float) -> Solution:
    """Steps on pairs until the optimality conditions hold up to tol; the gap is infinite."""
    assert isinstance(problem.design, KernelDesign)
    if isinstance(problem.loss, NuLoss):
        raise ValueError(f"{problem.loss!r} needs a positive semidefinite kernel, such as 'rbf'")
    began, dual, n = perf_counter(), Dual(problem, None), len(problem.y)
    target = min(float(tol), 1e-3) * dual.scale
    path, status, taken = _Path(dual), Status.LOCAL, 0
    with limits.Interrupts() as interrupts:
        try:
            with limits.until(began + max_time), interrupts.allowed():
                path.set_out()
                taken, violation = path.box.pairs(_STEPS * n, target)
                status = Status.LOCAL if violation <= target else Status.MAX_ITER
        except limits.TimeUp:
            status = Status.TIME_LIMIT
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        path.arrive()
    at = problem.tangent(dual.f + problem.offset, np.full(problem.n_offsets, -dual.slopes().middle))
    b, J = at.b, 0.5 * problem.alpha * float(dual.v @ dual.f) + at.value
    return Solution(
        w=dual.v,
        intercept=float(b[0]),
        status=status,
        certificate=Certificate(J, -np.inf, np.inf, "none: the kernel matrix is indefinite"),
        n_iter=taken,
        history=[
            Record(0, 0.0, problem.scale, -np.inf, np.inf, False),
            Record(taken, perf_counter() - began, J, -np.inf, np.inf, False),
        ],
        minorant=problem.nothing(),
        solver="smo",
        fingerprint=None,
        state={},
    )


class _Path:
    """The variables on their way: where they started from, until the matrix is there."""

    def __init__(self, dual: Dual) -> None:
        self.dual = dual
        self.box: Any = None

    def set_out(self) -> None:
        dual = self.dual
        K = _matrix(dual.gram)
        K[np.diag_indices_from(K)] += dual.quad
        self.box = Box(K, dual.gradient, dual.v, dual.lower, dual.upper, dual.kink, dual.sums)

    def arrive(self) -> None:
        """Tell the dual where they are; the gradient has the scores in it."""
        if self.box is not None:
            dual, n = self.dual, len(self.dual.v)
            dual.v = self.box.v[:n]
            dual.f = self.box.K[:n, :n] @ dual.v - dual.quad * dual.v


def _matrix(gram: Gram) -> Matrix:
    """All of it, symmetric to the last bit; it must fit into the memory that there is."""
    n = gram.tiles.n
    if 16 * n * n > gram.memory:
        raise ValueError(
            f"a kernel that is not positive semidefinite needs its whole matrix: raise cache_size to "
            f"{16 * n * n / 1e6:.0f} megabytes, or use 'rbf'"
        )
    ask_for(8 * n * n, f"the kernel matrix of {n} samples", "use kernel='rbf', which needs no whole matrix")
    each = np.arange(n)
    K = np.asarray(gram.tiles.tile(each, each, np.float64))
    for first in range(0, n, _BLOCK):  # in place, a block and its mirror image at a time
        rows = slice(first, first + _BLOCK)
        for second in range(first, n, _BLOCK):
            limits.look()
            columns = slice(second, second + _BLOCK)
            mean = 0.5 * (K[rows, columns] + K[columns, rows].T)
            K[rows, columns], K[columns, rows] = mean, mean.T
    return K
