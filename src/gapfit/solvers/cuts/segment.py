"""A rough minimum of J on the segment from the best point known to the one that the model proposes.

Scores are linear along the segment, so a look at J costs O(n) and no pass over X. With an intercept, b moves
along with w: to minimise over b at every look would cost more than all the rest.
"""

from typing import NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.problem import Problem
from gapfit.solvers.point import Point, at_best_offsets, at_offsets

_LOOKS = 3  # at J between the two ends
_BEYOND = 0.1  # cut this share of the remaining way beyond the minimum: cuts from its far side say more
_FAR = 1e6  # times the risk at w = 0: a cut so high says nothing of what is near, and drowns all others


def search(problem: Problem, best: Point, target: Point, reach: float = 1.0) -> tuple[Point, Point]:
    """The best point found on the way from `best` to `target`, and, a little further on, where to cut.

    If J still falls at the target, look up to `reach` times as far.
    """
    line = _Line(problem, best, target)
    lo, hi = line.first, line.second  # J falls at `lo` and rises at `hi`
    looks = _LOOKS
    while hi.slope < 0 and hi.s < reach and looks:
        lo, hi = hi, line.look(min(2 * hi.s, reach))
        looks -= 1
    lowest = lo if lo.J <= hi.J else hi
    while hi.slope > 0 and looks and lo.s < hi.s:
        probe = line.look(_between(lo, hi, secant=looks % 2 == 1))
        looks -= not line.explodes(probe.J)  # the way back from where the risk explodes is free
        lowest = probe if probe.J < lowest.J else lowest
        lo, hi = (probe, hi) if probe.slope < 0 else (lo, probe)
    cut = line.point(lowest.s + _BEYOND * (max(hi.s, 1.0) - lowest.s))
    found = lowest.point or line.point(lowest.s)
    if line.explodes(cut.J):
        near = line.point(lowest.s + _BEYOND * (hi.s - lowest.s))
        cut = found if line.explodes(near.J) else near
    return min(found, cut, key=lambda point: point.J), cut


class _Probe(NamedTuple):
    """J and its slope along the line, at s."""

    s: float
    J: float
    slope: float
    point: Point | None  # if b was the best one


class _Line:
    """The points (1 - s) * first + s * second, with b on the way from the one's to the other's."""

    def __init__(self, problem: Problem, first: Point, second: Point) -> None:
        self.problem, self.start = problem, first
        self.highest = _FAR * max(abs(first.J), problem.scale)
        self.w, self.scores, self.b = second.w - first.w, second.scores - first.scores, second.b - first.b
        self.first, self.second = self._known(0.0, first), self._known(1.0, second)

    def explodes(self, J: float) -> bool:
        """Is J too high to go by, or not even a number?"""
        return not self.highest >= J

    def point(self, s: float) -> Point:
        """The point at s with the best b."""
        for end in (self.first, self.second):
            if s == end.s and end.point is not None:
                return end.point
        return at_best_offsets(self.problem, *self._at(s), self.start.b + s * self.b)

    def look(self, s: float) -> _Probe:
        """J at s, with the b of the line."""
        if not len(self.b):
            return self._known(s, self.point(s))
        there = at_offsets(self.problem, *self._at(s), self.start.b + s * self.b)
        return _Probe(s, there.J, self._slope(there) + float(there.e @ self.b), None)

    def _known(self, s: float, point: Point) -> _Probe:
        return _Probe(s, point.J, self._slope(point), point)

    def _at(self, s: float) -> tuple[Slope, Vector]:
        return self.start.w + s * self.w, self.start.scores + s * self.scores

    def _slope(self, point: Point) -> float:
        """Of J along the line, b apart; infinite where J is too high to go by."""
        if self.explodes(point.J):
            return np.inf
        along = float(self.problem.penalty.subgradient(point.w) @ self.w)
        return self.problem.alpha * along + float(point.u @ self.scores)


def _between(lo: _Probe, hi: _Probe, *, secant: bool) -> float:
    """Where to look next: where the slope would vanish, or where the tangents meet."""
    width = hi.s - lo.s
    if not np.isfinite(hi.slope):
        return lo.s + 0.1 * width
    rise = hi.J - lo.J
    if lo.s == 0.0:
        # the best point known is often at a kink, where rounding chooses among the slopes: do without one
        bend = hi.slope * width - rise
        share = 1.0 - 0.5 * hi.slope * width / bend if bend > 0 else 0.0
    elif secant:
        share = lo.slope / (lo.slope - hi.slope)
    else:
        share = (rise - hi.slope * width) / ((lo.slope - hi.slope) * width)
    return lo.s + float(np.clip(share, 0.02, 0.98)) * width
