"""Sparse multinomial models: one class after the other, then all of them together.

Softmax in the scores of one class, the others as they are, is the logistic loss with known offsets:

    log(exp(f_k) + sum_l exp(f_l)) = log(1 + exp(f_k - r)) + r,     r = log sum over l != k of exp(f_l).

So a turn of a class is a step of `primal_cd`, which knows what to do with many columns of which few are in
use. Turns soon find out which weights are zero, but classes compete, and their turns undo each other: the
rest of the way goes by Newton steps on the weights in use of all classes (`second_order.joint_classes`).
A number added to the weights that a feature has in all classes changes no probability: the best one is known.
"""

from functools import partial
from typing import Any

import numpy as np

from gapfit._types import Matrix, Slope, Vector
from gapfit.design.forms import WideRows
from gapfit.losses.forms import Conditional, Conjugate
from gapfit.losses.multiclass import ClassCurvature
from gapfit.minorant import Minorant
from gapfit.penalties.forms import Everywhere, Net
from gapfit.problem import Problem
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.choice.work import work_of
from gapfit.solvers.point import Point, at_best_offsets, at_offsets
from gapfit.solvers.primal_cd import primal_cd
from gapfit.solvers.second_order.joint_classes import no_worse, towards_the_minimum

_SETTLED = 0.1  # of the weights in use may change in a cycle before they are moved together


def _effort(problem: Problem) -> Effort:
    """Some products a cycle."""
    n, _, product, _, hard, *_ = work_of(problem)
    step = 3e7 + 40 * product + 2e3 * n
    return Effort(1.5e7, step, 1.2 * hard**0.12 if problem.penalty.smooth else 5.0, 8.0 * problem.design.size)


@needs(Conditional, ClassCurvature, Conjugate, Net, WideRows, effort=_effort)
def classes_in_turn(problem: Problem, state: dict[str, Any] | None = None) -> Steps:
    """One step: a turn of each class, and a Newton step of all."""
    state, turns = state or {}, _turns(problem)
    point: Point
    if state.get("same"):
        point = state["point"]
    else:
        w = np.clip(state.get("w", problem.start()), *problem.penalty.bounds(problem.design.shape[1]))
        point = at_best_offsets(problem, w, problem.scores(w))
    while True:
        before, point = point.w != 0, _after_turns(problem, turns, point)
        changed = int(np.count_nonzero(before != (point.w != 0)))
        if changed <= _SETTLED * np.count_nonzero(point.w):
            point = towards_the_minimum(problem, point)
        w = _shifted(problem, point.w)
        point = at_best_offsets(problem, w, problem.scores(w), point.b)
        yield Iterate(point.w, point.b, partial(_bound, problem, point), point.J, partial(dict, point=point))


def _turns(problem: Problem) -> list[Problem]:
    """The problem of each class, at scores of zero of all others."""
    matrix, K = problem.form(WideRows)
    d, labels = matrix.shape[1], problem.form(Conditional).labels
    return [
        Problem(
            matrix, labels(k), "logistic", problem.penalty.take(np.arange(k, d * K, K)), problem.alpha,
            problem.weight, problem.n_offsets > 0,
        )
        for k in range(K)
    ]  # fmt: skip


def _after_turns(problem: Problem, turns: list[Problem], start: Point) -> Point:
    """The point after one turn of each class; the start, if that is better by more than rounding."""
    K, W, F = len(turns), *_columns(problem, start, len(turns))
    offset = problem.form(Conditional).offset
    known = problem.offset.reshape(-1, K)
    b = start.b.copy()
    for k, turn in enumerate(turns):
        inner = turn.tilted(known[:, k] + offset(F, k))
        step = next(primal_cd(inner, state={"w": W[:, k].copy()}))
        W[:, k] = step.point()
        F[:, k] = inner.design.scores(W[:, k]) + known[:, k]
        if b.size:
            b[k] = float(step.b[0])
            F[:, k] += b[k]
    w = _shifted(problem, W.ravel())
    moved = at_offsets(problem, w, problem.scores(w), b)
    return moved if no_worse(moved, start) else start


def _shifted(problem: Problem, w: Slope) -> Slope:
    """w with the number added to the weights of each feature that makes their penalty least.

    A sum of l1 |w_k - t| + l2 (w_k - t)^2 / 2 is least at the median of the w_k and of where its derivative
    would vanish if so many of them were below t and all others above.
    """
    if not problem.has(Everywhere):
        return w  # it may not be allowed
    (l1, l2), K = problem.form(Net), problem.risk.outputs
    W = w.reshape(-1, K)
    candidates = W
    if l2:
        above = (K - 2.0 * np.arange(K + 1)) * (l1 / l2)
        candidates = np.concatenate([W, (W.sum(axis=1)[:, None] + above) / K], axis=1)
    middle = (candidates.shape[1] - 1) // 2
    return np.asarray(W - np.partition(candidates, middle, axis=1)[:, middle : middle + 1]).ravel()


def _columns(problem: Problem, at: Point, K: int) -> tuple[Matrix, Matrix]:
    """Weights and scores, with offsets, a column for each class."""
    F = at.scores.reshape(-1, K) + (at.b if at.b.size else 0.0)
    return at.w.reshape(-1, K).copy(), F


def _bound(problem: Problem, at: Point) -> Minorant:
    """What the derivatives at the point prove, scaled down as far as the penalty demands."""
    slopes: Slope = problem.design.adjoint(at.u)
    u: Vector = problem.penalty.shrinkage(slopes / -problem.alpha) * at.u
    return problem.minorant_at(u)
