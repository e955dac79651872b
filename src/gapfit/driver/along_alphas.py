"""Many small fits of least squares under L1 that nobody watches, at one alpha after the other.

Steps are taken on the moments of the data, for all alphas in one call; all are proved together. See `together` for
problems of other samples.
"""

from time import perf_counter

import numpy as np

from gapfit.alphas import Alphas, shares_a_matrix
from gapfit.driver.at_once import quietly
from gapfit.problem import Problem
from gapfit.solution import Record, Solution, Status, as_intercept
from gapfit.solvers.columns.along_alphas import minimisers
from gapfit.solvers.least_squares import least_squares

_WORTH = 20.0  # products with X that an alpha costs otherwise
_MOST = 3000  # columns


def suits(problem: Problem, alphas: int) -> bool:
    """Are there so many alphas that moments of the data cost less than what they save?"""
    n, d = problem.design.shape
    if d > _MOST or d > n or not shares_a_matrix(problem):
        return False
    per_row = problem.design.size / max(n, 1)
    return 0.5 * per_row <= _WORTH * alphas


def along_alphas(problem: Problem, alphas: list[float], tol: float) -> dict[float, Solution]:
    """Solutions at those of the falling alphas where steps on moments prove enough."""
    began, falling = perf_counter(), np.array(alphas)
    with quietly():
        W = minimisers(problem, falling, tol)
        proved = Alphas(problem).proved(falling, W)
    each = (perf_counter() - began) / len(alphas)
    return {
        alpha: Solution(
            one.w, as_intercept(one.b), Status.CERTIFIED, one.certificate, 1,
            [Record(1, each, *one.certificate[:3])], one.minorant, least_squares.__name__, None,
        )
        for alpha, one in zip(alphas, proved, strict=True)
        if one.certificate.relative_gap <= tol
    }  # fmt: skip
