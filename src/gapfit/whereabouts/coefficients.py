"""What is proved of single weights: zeros, signs, and their ranges over all nearly optimal models.

*Zeros.* If sample i's loss curves by at most K_i, the dual objective is strongly concave, and the slopes
a = A'u of a dual point with a proved gap are near those of the optimum:

    |a_j - a_j*| <= sqrt(2 gap * min over m of sum_i K_i (x_ij - m)^2)

(m = 0 without intercept). Where that leaves |a_j*| < alpha l1, w_j* = 0 in every optimum.

*Ranges.* For sigma > 0 a lower bound D of min J + sigma w_j proves w_j >= (D - U - eps) / sigma for all
models with J <= J* + eps, U being J at hand; and the other way round for sigma < 0. Under L2 such a tilt
moves w by -sigma / alpha in coordinate j, which is a known offset -(sigma / alpha) x_j in the scores.
"""

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Vector
from gapfit.design.forms import Rows
from gapfit.losses.forms import Bent
from gapfit.penalties.forms import Euclidean, Everywhere, Net
from gapfit.problem import Problem
from gapfit.rounding import EPS, gamma
from gapfit.solution import Solution
from gapfit.solve import solve
from gapfit.statements import Ball, proof

_TOL = 1e-8  # of tilted fits
_TILTS = 6  # of them, at most, for one end
_NEAR = 0.02  # relative distance of the rise of J from eps at which a tilt is good enough


def slope_doubt(problem: Problem, gap: float) -> Vector | None:
    """How far each slope of the minorant that proves this gap can be from that of the optimum."""
    bent, rows = problem.risk.form(Bent), problem.design.form(Rows)
    if bent is None or rows is None or not np.isfinite(gap):
        return None
    most, X = bent.most(), rows.matrix
    squares = X.squares(most)
    room = gamma(len(most) + 16) * squares
    if problem.n_offsets:
        mass = float(most.sum())
        squares = np.maximum(squares - X.adjoint(most) ** 2 / mass, 0.0)
    return np.asarray(np.sqrt(2 * gap * (squares + 4 * room)) * (1 + 8 * EPS))


def zeros_and_signs(
    problem: Problem, solution: Solution, ball: Ball | None
) -> tuple[NDArray[np.bool_], NDArray[np.int8]]:
    """Which weights are zero in every optimum, and which signs are the same in all: 0 where that is open."""
    d = len(solution.w)
    zeros, signs = np.zeros(d, dtype=bool), np.zeros(d, dtype=np.int8)
    if problem.risk.outputs > 1:
        return zeros, signs
    if ball is not None:
        reach = problem.penalty.stretch * ball.radius * (1 + 8 * EPS)
        signs = np.where(np.abs(ball.centre) > reach, np.sign(ball.centre), 0).astype(np.int8)
    if not (problem.penalty.has(Net) and problem.penalty.has(Everywhere)):
        return zeros, signs
    edge = problem.alpha * problem.form(Net).l1
    if not edge:
        return zeros, signs  # no weight is held at zero
    gap, minorant = proof(problem, solution)
    doubt = slope_doubt(problem, gap)
    if doubt is None:
        return zeros, signs
    doubt = doubt + minorant.spread
    zeros = np.abs(minorant.a) + doubt < edge * (1 - 8 * EPS)
    beyond = np.abs(minorant.a) - doubt > edge * (1 + 8 * EPS)
    return zeros, np.where(beyond, -np.sign(minorant.a), signs).astype(np.int8)


def tilted_end(problem: Problem, solution: Solution, j: int, side: float, eps: float) -> float:
    """A bound of w_j, from below if side is +1, for all models with J <= J* + eps; infinite if unknown."""
    if not (problem.has(Euclidean) and problem.has(Rows)):
        return -side * np.inf
    alpha, upper, lower = problem.alpha, solution.certificate.primal, solution.certificate.dual
    upper = max(upper, lower + solution.certificate.gap)
    unit = np.zeros(problem.design.shape[1])
    unit[j] = 1.0
    column = problem.design.scores(unit)
    sigma, best = side * np.sqrt(2 * eps * alpha), -side * np.inf
    start = solution.w.astype(np.float64)
    for _ in range(_TILTS):
        tilted = problem.tilted(-(sigma / alpha) * column)
        fit = solve(tilted, tol=_TOL, start=start + (sigma / alpha) * unit)
        if fit.dual_point is None:
            break  # what the offsets' own rounding does is not known then
        least = fit.certificate.dual - sigma * sigma / (2 * alpha)
        room = 16 * EPS * (abs(least) + abs(upper) + sigma * sigma / alpha) + EPS * problem.scale
        room += 8 * EPS * float(np.abs(fit.dual_point) @ (np.abs(tilted.offset) + np.abs(problem.offset)))
        bound = (least - upper - eps - room) / sigma
        best = max(best, bound) if side > 0 else min(best, bound)
        start = fit.w.astype(np.float64) - (sigma / alpha) * unit
        own = fit.certificate.primal - sigma * sigma / (2 * alpha) - sigma * start[j]  # J where the tilt led
        rise = max(own - lower, 1e-3 * eps)
        if abs(rise - eps) <= _NEAR * eps:
            break
        sigma *= float(np.clip(np.sqrt(eps / rise), 0.2, 5.0))
    return float(best)
