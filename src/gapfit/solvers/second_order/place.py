"""Where a Newton step begins, where it leads and what it proves, whoever solves for it."""

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.losses.forms import Conjugate
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.solvers.point import Point, at_best_offsets, at_offsets
from gapfit.solvers.second_order.line import along

_ASTRAY = 0.5  # of the derivatives not balanced by others: then b gets a search of its own


def place(problem: Problem, w: Slope, b: Vector | None) -> Point:
    """The point (w, b), or w with the best intercept for it."""
    scores = problem.scores(w)
    b = at_best_offsets(problem, w, scores).b if b is None else b
    return at_offsets(problem, np.array(w), scores, b)


def moved(problem: Problem, point: Point, s: Slope, f: Vector, t: Vector, decrement: float) -> Point:
    """The point that a step leads to, see `along`; b gets a search of its own where the step left it astray:
    far out a model says little of it."""
    there = along(problem, point, s, f, t, decrement)
    astray = float(np.abs(there.e).sum()) > _ASTRAY * float(np.abs(there.u).sum())
    return place(problem, there.w, None) if astray else there


def bound_of(problem: Problem, point: Point, dual: Vector) -> Minorant:
    """What the dual point proves, or the tangent at the next point where the loss knows no dual points."""
    if problem.has(Conjugate):
        return problem.minorant_at(dual)
    return problem.minorant(problem.tangent(point.scores, point.b), point.scores)
