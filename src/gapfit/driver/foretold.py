"""A point that others foretell, proved as it is if it is good enough: no product with the data, and no loop.

What is returned rests on `certify` alone, as in the loop.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from time import perf_counter

import numpy as np

from gapfit._types import Vector
from gapfit.certify import bounded
from gapfit.driver.at_once import quietly
from gapfit.driver.together import NOTHING
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.solution import Record, Solution, Status, as_intercept

logger = logging.getLogger("gapfit")

_FAR = 0.2  # a relative gap of one that foretells nothing


def foretold(
    problem: Problem,
    start: Solution,
    scores: Vector,
    slack: Vector,
    tries: Callable[[Problem, Vector], Iterable[tuple[Vector, Minorant]]],
    tol: float,
    near: float,
) -> Solution | None:
    """The start as a solution, whose status is CERTIFIED if its gap is small enough; else it is one to begin
    with, or None if that would be no help.

    `scores` are its own, off by the slack at most; `tries` are offsets and minorants, one dearer
    than the other, as long as the gap is within `near` times the tolerance.
    """
    began = perf_counter()
    w = problem.penalty.rounded(start.w, problem.dtype)
    b = np.atleast_1d(np.asarray(start.intercept, dtype=np.float64))[: problem.n_offsets]
    w64 = w.astype(np.float64, copy=False)
    if w is not start.w:  # in the precision of the data
        slack = slack + problem.design.row_sizes * problem.design.length(w64 - start.w)
    with quietly():
        upper, rests_on = problem.most(w64, b, scores, slack=slack), start.minorant
        certificate = NOTHING
        for there, plane in tries(problem, b):
            if there is not b and (at := problem.most(w64, there, scores, slack=slack)).above < upper.above:
                b, upper = there, at
            found = bounded(problem, upper, max(plane, rests_on, key=problem.dual))
            certificate, rests_on = found
            if not tol < certificate.relative_gap < near * tol:
                break
    if certificate.relative_gap <= tol:
        logger.info("%s: %s after 0 steps, gap %.3g", start.solver, Status.CERTIFIED.name, certificate.gap)
        return replace(
            start, w=w, intercept=as_intercept(b), status=Status.CERTIFIED, certificate=certificate, n_iter=0,
            history=[Record(0, perf_counter() - began, *certificate[:3])], minorant=rests_on, state={},
        )  # fmt: skip
    if not certificate.relative_gap < _FAR:
        return None
    return replace(start, status=Status.STOPPED, minorant=rests_on, state={**start.state, "weighed": True})
