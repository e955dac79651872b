"""A search for low J on the way from a point to the target that a model of some columns proposes."""

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.problem import Problem
from gapfit.rounding import EPS
from gapfit.solvers.columns.kinds import AnyTerms
from gapfit.solvers.point import Point, at_best_offsets

_LOOKS = 20  # at J along a step, at most
_LEVEL = 0.3  # of the first slope: where it has fallen to that, the search ends
_BEYOND = 4.0  # times as far as the last look says is where the next one goes
_NO_LESS = 1e-4  # of the way to the last look is where the next one goes, at least


def search(
    problem: Problem, terms: AnyTerms, point: Point, a: Slope, target: Slope, f: Vector, D: Vector
) -> tuple[Point | None, float]:
    """The target, where the scores change by f, if J falls there by half of what the model says; else a point
    on the way to it where the slope of J nearly vanishes, or the lowest that was met. And its share of the
    way.

    J is convex. Where most samples lie on lines the model knows no distance, and only a tiny share of the way
    is good. The far end tells which: where the slope would vanish if it were linear, and where the tangents
    at both ends meet. Then looks go between shares at which J falls and at which it rises.
    """
    bend, way = 0.5 * float(f @ (D * f)), target - point.w
    if problem.n_offsets:
        bend -= 0.5 * float(D @ f) ** 2 / float(D.sum())
    noise = 4 * EPS * (abs(point.risk) + point.penalty)
    slope = float((a * way + terms.changes(point.w, target)).sum())
    share, best, most, good = 1.0, None, -noise, 0.0
    low, high = 0.0, 1.0  # shares at which J falls, and at which it rises
    for _ in range(_LOOKS if slope < 0 else 0):
        w = target if share == 1 else (1 - share) * point.w + share * target
        trial = at_best_offsets(problem, w, point.scores + share * f, point.b, terms.value(w))
        fallen = point.risk - trial.risk + point.penalty - trial.penalty
        if share == 1 and fallen >= max(-0.5 * (slope + bend), 0.0) - noise:
            return trial, share
        if fallen > most:
            best, most, good = trial, fallen, share
        there = float(trial.u @ f) + terms.slope(w, way) if np.isfinite(trial.risk) else np.inf
        if abs(there) <= -_LEVEL * slope and (there <= 0 or fallen >= -noise):
            return trial, share  # a value above the first would be rounding
        low, high = (low, share) if there > 0 else (share, high)
        if high <= 2 * low:
            break
        if low > 0:
            share = float(np.sqrt(low * high))
        else:
            parabola = slope / (slope - there)
            lines = (fallen + there * share) / ((there - slope) * share) if there < np.inf else 0.0
            share *= min(max(_BEYOND * min(parabola, lines), _NO_LESS), 0.5)
    return best, good
