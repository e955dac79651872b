"""Newton's method for ordered levels: w and all thresholds together.

An entry is a pair of a sample and a threshold, with a loss of the margin x_i'w - b_k. With D the second
derivatives of the entries, a step (s, t) solves

    (alpha Q + X'diag(D 1)X) s - X'D t = -gradient in w,        -D'X s + diag(D'1) t = -gradient in b.

The thresholds are eliminated: what is left is a system of the size of w. Thresholds that their order keeps
together move as one. The tangent at the next point, its thresholds the best for it, is the lower bound.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Indices, Matrix, Slope, Vector
from gapfit.design.forms import RowSums
from gapfit.losses.forms import ThresholdCurvature
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.rounding import EPS
from gapfit.solution import Iterate
from gapfit.solvers.base import Steps
from gapfit.solvers.point import Point
from gapfit.solvers.second_order.definite import solve_definite
from gapfit.solvers.second_order.line import along
from gapfit.solvers.second_order.place import place


class _Step(NamedTuple):
    w: Slope
    b: Vector
    decrement: float  # twice what the step promises


def newton_thresholds(problem: Problem, state: dict[str, Any]) -> Steps:
    """One step: a Gram matrix, a factorisation and a line search."""
    if state.get("same"):
        point: Point = state["point"]
    else:
        told = state["foretold"].intercept if "foretold" in state else state.get("b")
        point = place(problem, state.get("w", problem.start()), _in_order(problem, told))
    moving = True
    while moving:
        step = _step(problem, point)
        moving = step.decrement > 2 * EPS * abs(point.J)
        estimate = 0.0
        if moving:
            there = _moved(problem, point, step)
            fallen = point.J - there.J
            # if the model were right, J would fall by half the decrement, and nothing would be left
            estimate = 0.5 * step.decrement * (1.0 - 2.0 * fallen / step.decrement) ** 2
            moving, point = fallen > 0 or there is not point, there
        now: dict[str, Any] = {"point": point, "ended": not moving}
        yield Iterate(point.w, point.b, partial(_bound, problem, point), None, now.copy, estimate, point.J)


def _in_order(problem: Problem, b: Any) -> Vector | None:
    """Thresholds that are known, if they are as many as there are to be, and in order."""
    known = None if b is None else np.atleast_1d(np.asarray(b, dtype=np.float64))
    fits = known is not None and len(known) == problem.n_offsets and problem.risk.offsets.contains(known)
    return known if fits else None


def _bound(problem: Problem, point: Point) -> Minorant:
    return problem.minorant(problem.tangent(point.scores, point.b), point.scores)


def _step(problem: Problem, point: Point) -> _Step:
    design = problem.form(RowSums).matrix
    D = problem.form(ThresholdCurvature).at(point.scores, point.b)
    curved, pool = D.sum(axis=1), _pools(point.b)
    D, e = _summed(D[:, : len(point.b)], pool), _summed(point.e[None, :], pool)[0]
    centre, total = problem.mean if problem.n_offsets else np.zeros(design.shape[1]), D.sum(axis=0)
    hessian = design.weighted_gram(curved, centre)
    hessian = np.tril(hessian) + np.tril(hessian, -1).T
    hessian += problem.alpha * np.asarray(problem.penalty.subgradient(np.eye(len(hessian))))
    gradient = problem.alpha * problem.penalty.subgradient(point.w) + problem.design.adjoint(point.u)
    # in terms of x - centre, whose scores the thresholds follow
    across = design.adjoint(D) - np.outer(centre, total)
    safe = np.where(total > 0, total, np.inf)
    hessian -= (across / safe) @ across.T
    shifted = gradient + centre * e.sum()
    s = -solve_definite(problem.design, hessian, shifted + (across / safe) @ e)
    t = (across.T @ s - e) / safe + float(centre @ s)
    decrement = -float(gradient @ s) - float(e @ t)
    return _Step(s, t[pool], decrement)


def _pools(b: Vector) -> Indices:
    """The number of the pool of each threshold: equal ones are together."""
    return np.cumsum(np.diff(b, prepend=b[:1]) > 0) if len(b) else np.zeros(0, np.intp)


def _summed(columns: Matrix, pool: Indices) -> Matrix:
    """The sums of the columns of each pool."""
    if not len(pool) or pool[-1] == len(pool) - 1:
        return columns
    return np.asarray(np.add.reduceat(columns, np.flatnonzero(np.diff(pool, prepend=-1)), axis=1))


def _moved(problem: Problem, point: Point, step: _Step) -> Point:
    """Along the step; with the best thresholds, where their order matters."""
    f = problem.design.scores(step.w)
    there = along(problem, point, step.w, f, step.b, step.decrement)
    if (np.diff(there.b) > 0).all():
        return there
    there = place(problem, there.w, None)
    return there if there.J < point.J else place(problem, point.w, None)
