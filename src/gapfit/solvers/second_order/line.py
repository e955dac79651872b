"""A search along a line for smooth J, in w and the intercept together: where its slope nearly vanishes."""

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.problem import Problem
from gapfit.rounding import EPS
from gapfit.solvers.point import Point, at_offsets

_LOOKS = 40  # at J, each O(n)
_FLAT = 0.1  # of the first slope is a slope that has nearly vanished
_FALLEN = 0.25  # of the decrement: if J has fallen so much after the whole step, it needs no shortening
_FURTHER = 4.0  # times as far at most from one look to the next


def along(problem: Problem, start: Point, s: Slope, f: Vector, t: Vector, decrement: float) -> Point:
    """A point on the line from `start` along (s, t), where the scores change by f and J begins to fall at the
    rate `decrement`.

    The whole step, if J does not go on falling there and has fallen far enough; else near the minimum.
    """
    noise = 4 * EPS * abs(start.J)
    low, high = (0.0, -decrement), (np.inf, np.inf)  # where J falls and where it rises, with the slopes
    best, length = start, 1.0
    for count in range(_LOOKS):
        trial = at_offsets(problem, start.w + length * s, start.scores + length * f, start.b + length * t)
        slope = np.inf
        if np.isfinite(trial.J):
            slope = problem.alpha * float(problem.penalty.subgradient(trial.w) @ s)
            slope += float(trial.u @ f) + float(trial.e @ t)
        fallen = start.J - trial.J
        if trial.J < best.J or best is start:
            best = trial
        flat = abs(slope) <= _FLAT * decrement or decrement <= noise
        far_enough = count == 0 and slope > 0 and fallen >= _FALLEN * decrement - noise
        if fallen >= -noise and (flat or far_enough):
            return trial
        before, width = low, high[0] - low[0]
        if slope < 0 and fallen >= -noise:
            low = (length, slope)
        else:
            high = (length, slope)
        if high[0] < np.inf and high[0] - low[0] <= 1e-12 * high[0]:
            break
        length = _next(before, low, high, halve=width < np.inf and high[0] - low[0] > 0.5 * width)
    return best


def _next(
    before: tuple[float, float], low: tuple[float, float], high: tuple[float, float], *, halve: bool
) -> float:
    """Where to look next: where the slope would vanish if it were linear, within reason."""
    if high[0] == np.inf:
        bend = (low[1] - before[1]) / (low[0] - before[0])
        reach = -low[1] / bend if bend > 0 else np.inf
        return low[0] + min(reach, (_FURTHER - 1.0) * low[0])
    width = high[0] - low[0]
    if not np.isfinite(high[1]):
        return low[0] + 0.1 * width
    share = 0.5 if halve or not high[1] > 0 else float(np.clip(low[1] / (low[1] - high[1]), 0.05, 0.95))
    return low[0] + share * width
