"""A point of a problem with everything that one evaluation of the risk tells of it: what primal methods move.

Scores are linear in w. So whoever moves along a line keeps them, and another evaluation costs no pass over X.
"""

from typing import NamedTuple

import numpy as np

from gapfit import limits
from gapfit._types import Slope, Vector
from gapfit.losses.base import Rest
from gapfit.problem import Problem
from gapfit.records import storable


@storable
class Point(NamedTuple):
    """(w, b), its scores without b, J in two parts, and a subgradient of the risk.

    `Problem.minorant` makes the tangent plane of it, whatever b is.
    """

    w: Slope
    b: Vector
    scores: Vector
    penalty: float  # alpha * Omega(w)
    risk: float
    u: Vector  # slopes of the risk in the scores
    e: Vector  # and in b; zero where b is the best one
    height: float  # of the tangent plane: the risk, up to rounding
    left: Rest | None = None  # by rounding, of slopes in b that should be zero; None: what u says of them

    @property
    def J(self) -> float:
        return self.penalty + self.risk


def look(
    problem: Problem, w: Slope, guess: Vector | None = None, *, rough: bool = False
) -> tuple[float, Slope, Vector]:
    """The risk at w, minimised over b, its slope in w, and b: for steps (see `Design.look`)."""
    if not problem.n_offsets and not problem.shifted:
        none = np.zeros(0)
        return *problem.design.look(problem.risk, w, none, rough=rough)[:2], none
    at = problem.tangent(problem.scores(w), guess)
    return at.value, problem.design.adjoint(at.u), at.b


def at_offsets(problem: Problem, w: Slope, scores: Vector, b: Vector) -> Point:
    """The point (w, b), whose scores are known."""
    limits.look()
    risk, u, e = problem.risk.value_and_subgradient(scores, b)
    return Point(w, b, scores, problem.alpha * problem.penalty.value(w), risk, u, e, risk)


def at_best_offsets(
    problem: Problem, w: Slope, scores: Vector, guess: Vector | None = None, penalty: float | None = None
) -> Point:
    """The point w with the offsets that are best for it, its slopes balanced.

    The penalty is given where w holds some of the weights only.
    """
    limits.look()
    at = problem.tangent(scores, guess)
    if penalty is None:
        penalty = problem.alpha * problem.penalty.value(w)
    return Point(w, at.b, scores, penalty, at.value, at.u, np.zeros_like(at.b), at.height, at.left)
