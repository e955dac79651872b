"""Least squares under L1 by moments, at one alpha after the other: see `least_squares` for a single one."""

import numpy as np

from gapfit._types import Matrix, Vector
from gapfit.problem import Problem

_FINE = 0.05  # of the tolerance, in units of alpha: what sweeps may leave of a derivative
_SWEEPS = 500  # at an alpha, at most: what they leave is for another method


def minimisers(problem: Problem, alphas: Vector, tol: float) -> Matrix:
    """A row for each of the falling alphas: w, so near the minimum that its gap may be such a share of J."""
    from gapfit.compiled.lasso_path import descend_alphas  # compiled code is loaded only when it is to run
    from gapfit.solvers.least_squares import Moments

    moments = Moments.of(problem)
    d = len(moments.cross)
    W, inside, before = np.zeros((len(alphas), d)), np.zeros(d), np.zeros(d)
    slopes, active, fine = -moments.cross, np.zeros(d, np.int64), min(max(_FINE * tol, 1e-12), 1e-3)
    descend_alphas(moments.gram, slopes, alphas, fine, _SWEEPS, inside, active, before, W)
    return W
