"""Kernels that are not positive semidefinite: a stationary point of the dual, of which nothing is proved.

The problem of an indefinite matrix is not convex. Steps on pairs still descend, and end where no pair
improves on another, as in libsvm. If the matrix at hand happens to be positive semidefinite, none of this is
needed: then the fit is certified as any other.
"""

import numpy as np

from gapfit._types import Matrix
from gapfit.design.kernel import KernelDesign
from gapfit.losses.nu import NuLoss
from gapfit.problem import Problem
from gapfit.solution import Certificate, Solution, Status
from gapfit.solvers.smo_dual import Dual
from gapfit.solvers.smo_exact import Box

_STEPS = 1000  # on pairs, for each sample


def local_solution(problem: Problem, tol: float) -> Solution:
    """Steps on pairs until the optimality conditions hold up to tol; the gap is infinite."""
    assert isinstance(problem.design, KernelDesign)
    if isinstance(problem.loss, NuLoss):
        raise ValueError(f"{problem.loss!r} needs a positive semidefinite kernel, such as 'rbf'")
    K, dual, n = _matrix(problem.design), Dual(problem, None), len(problem.y)
    box = Box(
        K + np.diag(dual.quad), dual.gradient, dual.v, dual.lower, dual.upper, dual.kink, dual.sums
    )  # fmt: skip
    target = min(float(tol), 1e-3) * dual.scale
    taken, violation = box.pairs(_STEPS * n, target)
    dual.v = box.v[:n]
    dual.f = K @ dual.v
    risk, *_, b = problem.tangent(dual.f + problem.offset, np.full(problem.n_offsets, -dual.slopes().middle))
    J = 0.5 * problem.alpha * float(dual.v @ dual.f) + risk
    return Solution(
        w=dual.v,
        intercept=float(b[0]),
        status=Status.LOCAL if violation <= target else Status.MAX_ITER,
        certificate=Certificate(J, -np.inf, np.inf, "none: the kernel matrix is indefinite"),
        n_iter=taken,
        history=[],
        minorant=problem.nothing(),
        solver="smo",
        fingerprint=None,
        state={},
    )


def _matrix(design: KernelDesign) -> Matrix:
    """All of it, which must fit into the memory that there is."""
    n = design.shape[0]
    if 16 * n * n > design.memory:
        raise ValueError(
            f"a kernel that is not positive semidefinite needs its whole matrix: raise cache_size to "
            f"{16 * n * n / 1e6:.0f} megabytes, or use 'rbf'"
        )
    each = np.arange(n)
    K = design.tiles.tile(each, each, np.float64)
    return np.asarray(0.5 * (K + K.T))
