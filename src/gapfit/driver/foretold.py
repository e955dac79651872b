"""A point that others foretell, proved as it is if it is good enough: no product with the data, and no loop.

What is returned rests on `certify` alone, as in the loop.
"""

import logging
from dataclasses import replace
from time import perf_counter

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.certify import proved
from gapfit.driver.at_once import quietly
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.solution import Certificate, Record, Solution, Status, as_intercept

logger = logging.getLogger("gapfit")

_NEAR = 30.0  # times the tolerance: a gap that the tangent at the point may close


def foretold(
    problem: Problem, start: Solution, scores: Vector, slack: Vector, tol: float, *, tangent: bool
) -> Solution | None:
    """The start as a solution, whose status is CERTIFIED if its gap is small enough; else it is one to begin
    with, or None if zero were a better one.

    `scores` are its own, off by the slack at most. Where the loss is smooth, the `tangent` there may prove more
    than what is foretold, for one product.
    """
    began = perf_counter()
    w = problem.penalty.rounded(start.w, problem.dtype)
    b = np.atleast_1d(np.asarray(start.intercept, dtype=np.float64))[: problem.n_offsets]
    if w is not start.w:  # in the precision of the data
        moved = problem.design.length(w.astype(np.float64) - start.w)
        slack = slack + problem.design.row_sizes * moved

    def looked_at(b: Vector, minorant: Minorant) -> tuple[Certificate, Minorant, Vector]:
        w64: Slope = w.astype(np.float64, copy=False)
        return *proved(problem, w64, b, minorant, scores, exact=False, slack=slack), b

    with quietly():
        found, rests_on, b = looked_at(b, start.minorant)
        if tangent and tol < found.relative_gap < _NEAR * tol:
            at = problem.tangent(scores, b)
            other = looked_at(at.b, problem.minorant(at, scores))
            found, rests_on, b = min((found, rests_on, b), other, key=lambda one: one[0].gap)
        at_rest = problem.best(problem.start(), np.zeros(problem.n_offsets))[0]
    if found.relative_gap <= tol:
        logger.info("%s: %s after 0 steps, gap %.3g", start.solver, Status.CERTIFIED.name, found.gap)
        history = [Record(0, perf_counter() - began, *found[:3])]
        return Solution(
            w, as_intercept(b), Status.CERTIFIED, found, 0, history, rests_on, start.solver, start.fingerprint
        )
    if not found.primal < at_rest:
        return None
    return replace(start, status=Status.STOPPED, minorant=rests_on, state={**start.state, "weighed": True})
