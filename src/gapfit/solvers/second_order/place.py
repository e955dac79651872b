"""Where a Newton step begins and what it proves where it ends, whoever solves for it."""

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.losses.forms import Conjugate
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.solvers.point import Point, at_best_offsets, at_offsets

_ASTRAY = 0.5  # of the derivatives not balanced by others: then b gets a search of its own


def place(problem: Problem, w: Slope, b: Vector | None) -> Point:
    """The point (w, b), or w with the best intercept for it."""
    scores = problem.scores(w)
    b = at_best_offsets(problem, w, scores).b if b is None else b
    return at_offsets(problem, np.array(w), scores, b)


def is_astray(point: Point) -> bool:
    """Does b need a search of its own? Far out a model says little of it."""
    return float(np.abs(point.e).sum()) > _ASTRAY * float(np.abs(point.u).sum())


def bound_of(problem: Problem, point: Point, dual: Vector) -> Minorant:
    """What the dual point proves, or the tangent at the next point where the loss knows no dual points."""
    if problem.has(Conjugate):
        return problem.minorant_at(dual)
    return problem.minorant(problem.tangent(point.scores, point.b), point.scores)
