"""Newton's method for smooth risks and quadratic penalties, with the intercept eliminated.

The risk is a sum of functions of one score each, so with D their second derivatives the Hessian in w is

    alpha Q + (X - 1m')'D(X - 1m'),

m being the mean of the rows weighted by D (zero without an intercept), because the intercept is minimised for
every w. A step solves this system and searches along the
line; scores are linear, so the search costs no pass over X. Losses made of lines and parabolas have no second
derivative at their seams, where any of its limits serves. Near the optimum every step doubles the number of
correct digits, of J as of the lower bound that the tangent at w proves.

The first steps do not need the exact Hessian: with many samples they sum it over a random part of them, drawn
by their curvature, which grows whenever a step has gained little. Gradients are always exact.
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
_MANY, _SAMPLES_PER_FEATURE = 50, 20  # if there are many, so few make the first Hessian
_EXACT = 64  # times as many as there are: then those with little curvature are all counted, too
_LITTLE, _MORE = 0.1, 4.0  # if the decrement fell to more than a tenth, take four times as many


@needs("curvature", penalty="quadratic", design="rows")
def newton(problem: Problem, state: dict[str, Any] | None = None, *, seed: int = 0) -> Steps:
    """One step: one Hessian, one dense factorisation, one line search. For up to some thousand features.

    Parameters
    ----------
    seed : of the choice of samples for the first Hessians, where there are very many.
    """
    state = state or {}
    n, d = problem.design.shape
    samples = state.get("samples", _SAMPLES_PER_FEATURE * d if n > _MANY * d else np.inf)
    decrement = state.get("decrement", np.inf)
    lot = np.random.default_rng(seed).random(n) if samples < _EXACT * n else np.zeros(n)
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
            now: dict[str, Any] = {"objective": objective, "point": point, "samples": samples}
            now["decrement"] = decrement
            yield Iterate(point.w, point.b, minorant, point.J, now.copy)
        fresh = True
        gradient = problem.alpha * problem.penalty.subgradient(point.w) + minorant.a
        step = -solve_definite(penalty_hessian + _risk_hessian(problem, point, lot, samples), gradient)
        before, decrement = decrement, -float(gradient @ step)
        if samples >= _EXACT * n and decrement <= 2 * _EPS * abs(point.J):
            return  # what is left to gain is rounding
        if decrement > _LITTLE * before:
            samples *= _MORE
        point = _line_search(problem, point, step, -decrement)


def _quadratic_form(problem: Problem) -> Matrix:
    """Q of the penalty 1/2 w'Qw, from its gradients."""
    d = problem.design.shape[1]
    return np.asarray(problem.penalty.subgradient(np.eye(d)))


def _risk_hessian(problem: Problem, point: Point, lot: Vector, samples: float) -> Matrix:
    """X'DX, centred, or an estimate from about so many samples, drawn with chances proportional to D."""
    D = problem.risk.curvature(point.scores, point.b)
    total = float(D.sum())
    if samples < _EXACT * len(D) and total > 0:
        chance = np.minimum(D * (samples / total), 1.0)
        D = np.where(lot < chance, D / np.maximum(chance, 1e-300), 0.0)
        total = float(D.sum())
    centre = problem.design.adjoint(D) / total if problem.n_offsets and total > 0 else None
    return problem.memory.weighted_gram(D, centre)


def solve_definite(hessian: Matrix, gradient: Slope) -> Slope:
    """A solution of the system; where rounding has cost the Hessian its definiteness, of one near by.

    Only the lower triangle of the Hessian counts.
    """
    ridge = 0.0
    while True:
        try:
            # a lower triangle, row by row, is an upper one, column by column, as LAPACK wants it
            factor = cho_factor(hessian.T, lower=False, check_finite=False)
            return np.asarray(cho_solve(factor, gradient, check_finite=False))
        except LinAlgError:
            more = max(100 * ridge, _EPS * float(np.trace(hessian)))
            hessian = hessian + (more - ridge) * np.eye(len(gradient))
            ridge = more


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
