"""Newton's method for smooth risks and quadratic penalties, with the intercept eliminated.

The risk is a sum of functions of one score each, so with D their second derivatives the Hessian in w is

    alpha Q + X'DX - (X'D1)(X'D1)' / (1'D1),

the last term because the intercept is minimised for every w. A step solves this system and searches along the
line; scores are linear, so the search costs no pass over X. Losses made of lines and parabolas have no second
derivative at their seams, where any of its limits serves. Near the optimum every step doubles the number of
correct digits, of J as of the lower bound that the tangent at w proves.
"""

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from gapfit._types import Matrix, Slope, Vector
from gapfit.problem import Problem
from gapfit.solution import Iterate
from gapfit.solvers.base import Steps, needs
from gapfit.solvers.bundle import Point, evaluate

_EPS = float(np.finfo(float).eps)


@needs("curvature", penalty="quadratic")
def newton(problem: Problem, state: dict[str, Any] | None = None) -> Steps:
    """One step: one Hessian, one dense factorisation, one line search. For up to some thousand features."""
    state = state or {}
    penalty_hessian = problem.alpha * _quadratic_form(problem)
    objective = (problem.alpha, problem.penalty)
    fresh = state.get("objective") != objective  # a run that goes on has already reported its point
    if fresh:
        w = np.array(state.get("w", problem.start()))
        point = evaluate(problem, w, problem.scores(w))
    else:
        point = state["point"]
    while True:
        minorant = problem.minorant(point.u, point.height, point.scores)
        if fresh:
            now: dict[str, Any] = {"objective": objective, "point": point}
            yield Iterate(point.w, point.b, minorant, point.J, now.copy)
        fresh = True
        gradient = problem.alpha * problem.penalty.subgradient(point.w) + minorant.a
        step = -_solve(penalty_hessian + _risk_hessian(problem, point), gradient)
        slope = float(gradient @ step)
        if -slope <= 2 * _EPS * abs(point.J):
            return  # what is left to gain is rounding
        point = _line_search(problem, point, step, slope)


def _quadratic_form(problem: Problem) -> Matrix:
    """Q of the penalty 1/2 w'Qw, from its gradients."""
    d = problem.design.shape[1]
    return np.column_stack([problem.penalty.subgradient(unit) for unit in np.eye(d)])


def _risk_hessian(problem: Problem, point: Point) -> Matrix:
    D = problem.risk.curvature(point.scores, point.b)
    hessian = problem.design.weighted_gram(D)
    total = float(D.sum())
    if problem.n_offsets and total > 0:
        along_intercept = problem.design.adjoint(D)
        hessian -= np.outer(along_intercept, along_intercept) / total
    return hessian


def _solve(hessian: Matrix, gradient: Slope) -> Slope:
    """A solution of the system; where rounding has cost the Hessian its definiteness, of one near by."""
    ridge = 0.0
    while True:
        try:
            return np.asarray(cho_solve(cho_factor(hessian + ridge * np.eye(len(gradient))), gradient))
        except LinAlgError:
            ridge = max(100 * ridge, _EPS * float(np.trace(hessian)))


def _line_search(problem: Problem, point: Point, step: Slope, slope: float) -> Point:
    """The first of the steps 1, 1/2, 1/4, ... after which J has fallen as a tangent promises, in part."""
    scores_step: Vector = problem.design.scores(step)
    s = 1.0
    while True:
        trial = evaluate(problem, point.w + s * step, point.scores + s * scores_step, point.b)
        fallen = point.J - trial.J
        if fallen >= -1e-4 * s * slope - 4 * _EPS * abs(point.J) or s < 1e-12:
            return trial
        s *= 0.5
