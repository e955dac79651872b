"""Least squares under L1 by moments, at one alpha after the other: see `least_squares` for a single one."""

import numpy as np

from gapfit._types import Matrix, Vector
from gapfit.problem import Problem

_FINE = 0.5  # of the tolerance, in units of alpha: what sweeps may leave of a derivative
_SWEEPS = 500  # at an alpha, at most: what they leave is for another method


def minimisers(problem: Problem, alphas: Vector, tol: float | Vector) -> Matrix:
    """A row for each of the falling alphas: w, so near the minimum that its gap may be such a share of J, one
    for each or for all."""
    from gapfit.compiled.lasso_path import descend_alphas  # compiled code is loaded only when it is to run
    from gapfit.solvers.least_squares import Moments

    moments = Moments.of(problem)
    d = len(moments.cross)
    W, H, fine = (
        np.zeros((len(alphas), d)),
        np.empty((d, d)),
        np.clip(np.broadcast_to(_FINE * tol, alphas.shape), 1e-12, 0.1),
    )
    inside, active, room = np.zeros(d), np.zeros(d, np.int64), np.zeros((8, d))
    descend_alphas(moments.gram, moments.cross, alphas, fine, _SWEEPS, inside, active, room, H, W)
    return W
