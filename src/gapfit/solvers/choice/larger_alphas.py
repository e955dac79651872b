"""A start for small alphas where the penalty makes weights zero: rough solutions at larger ones.

From nothing a small alpha lets nearly all weights in, and it takes long until most of them are out again. At
larger alphas few are not zero, and each of them is a start for the next.
"""

import logging
from collections.abc import Generator
from itertools import islice
from typing import Any

import numpy as np

from gapfit.problem import Problem
from gapfit.registry import as_solver
from gapfit.solution import Certificate, Iterate

logger = logging.getLogger("gapfit")

_CROWDED = 10  # samples for each feature: with more, larger alphas teach less than they cost
_SMALL = 1e-4  # of the largest alpha that lets a weight move: below that, larger ones go first
_FIRST = 0.03  # of the largest alpha that lets a weight move: where they begin
_DOWN = 10**0.5  # the factor from one alpha to the next
_ROUGH = 0.1  # the relative gap at which an alpha is left
_STEPS = 6  # at each alpha, at most


def from_larger_alphas(problem: Problem, name: str) -> Generator[Iterate, Certificate, dict[str, Any]]:
    """A point to start from, if alpha is small, weights may be zero, and samples are not very many."""
    state: dict[str, Any] = {}
    n, d = problem.design.shape
    if problem.penalty.smooth or n > _CROWDED * d:
        return state
    u = problem.tangent(problem.scores(problem.start())).u
    largest = float(np.abs(problem.design.adjoint(u)).max())  # at which the first weight moves, about
    if not problem.alpha < _SMALL * largest < np.inf:
        return state
    more = int(np.ceil(np.log(_FIRST * largest / problem.alpha) / np.log(_DOWN)))
    logger.info("auto: %s at %d larger alphas, because this one is small", name, more)
    for k in range(more, 0, -1):
        steps = as_solver(name)(problem.at(problem.alpha * _DOWN**k), state=state)
        for iterate in islice(steps, _STEPS):
            yield iterate._replace(minorant=None, primal=None, snapshot=dict, estimate=np.inf)
            state = {"w": iterate.point()}
            if iterate.estimate <= _ROUGH * abs(iterate.objective):
                break
    return state
