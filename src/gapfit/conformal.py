"""Full conformal prediction: which targets of a new sample conform to those at hand, decided by bounds.

A target z conforms at a level if, in the model fitted to all samples *and* (x, z), the residual of the new
sample is not among the largest: if at least k = floor(level * (n + 1)) of the n others are as large. Bounds
of all scores bound all residuals. A range of targets is thus certainly in the set, certainly not, or cut in
two; the model is fitted anew only where those that are known leave too much open.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import NamedTuple

import numpy as np

from gapfit._types import Vector
from gapfit.rounding import EPS
from gapfit.whereabouts.candidates import Candidates

__all__ = ["ConformalSet", "Ends", "as_large", "conformal_set", "verdict"]

_FIRST = 4.0  # usual residuals away from the prediction the first fits are
_FARTHER = 3.0  # times as far the next ones, where targets still conform
_TAILS = 6  # of those, before the set is taken to be unbounded
_BLAME = 2.0  # times what a range adds to it, the gap of a pair calls for another fit
_EXACT = 1e-11  # of the objective: no fit makes a gap smaller

Interval = tuple[float, float]


class Ends(NamedTuple):
    """Bounds of the residuals: of the samples at hand, and of the new one."""

    lo: Vector
    hi: Vector
    own_lo: float
    own_hi: float


class ConformalSet(NamedTuple):
    """Intervals of targets: all that conform are in `outer`, and all in `inner` conform."""

    outer: list[Interval]
    inner: list[Interval]
    n_fits: int


def as_large(level: float, n: int) -> int:
    """How many of n residuals must be as large as that of a target that conforms."""
    return floor(Fraction(str(float(level))) * (n + 1))  # what is written as .1 is a tenth


def verdict(ends: Ends, k: int) -> bool | None:
    """Does the target conform? None if the bounds leave that open."""
    if int((ends.lo >= ends.own_hi).sum()) >= k:
        return True
    return False if int((ends.hi >= ends.own_lo).sum()) < k else None


def conformal_set(
    candidates: Candidates, y: Vector, guess: float, usual: float, k: int, narrow: float
) -> ConformalSet:
    """The targets of the last sample that conform, up to ranges as narrow as `narrow`.

    `guess` is about what is predicted for it, `usual` the size of a residual.
    """
    if k < 1:
        return ConformalSet([(-np.inf, np.inf)], [(-np.inf, np.inf)], 0)
    return _Cover(candidates, y, k, narrow).run(guess, usual)


class _Cover:
    """Ranges of targets that are decided, and those that are not."""

    def __init__(self, candidates: Candidates, y: Vector, k: int, narrow: float) -> None:
        self.candidates, self.y, self.k, self.narrow = candidates, y, k, narrow
        self.inside: list[Interval] = []
        self.open: list[Interval] = []

    def run(self, guess: float, usual: float) -> ConformalSet:
        self.candidates.fit(guess)
        bounded = [self._tail(guess, side * _FIRST * usual) for side in (-1.0, 1.0)]
        fitted = sorted(self.candidates.known)
        if not bounded[0]:
            self.open.append((-np.inf, fitted[0]))
        if not bounded[1]:
            self.open.append((fitted[-1], np.inf))
        for first, last in pairwise(fitted):
            self._decide(first, last)
        outer, surely = _joined([*self.inside, *self.open]), _joined(self.inside)
        return ConformalSet(outer, surely, len(self.candidates.known))

    def _tail(self, guess: float, away: float) -> bool:
        """Fit farther and farther away from the guess, until nothing conforms from there on; False if that is
        not found."""
        for _ in range(_TAILS):
            self.candidates.fit(guess + away)
            if self._out_for_ever(guess, guess + away):
                return True
            away *= _FARTHER
        return False

    def _out_for_ever(self, near: float, far: float) -> bool:
        growth = self.candidates.beyond(near, far)
        if growth is None:
            return False
        ends, _ = self._ends(far, far)
        falls_back = growth.others[:-1] <= 1 - growth.own
        return int(((ends.hi >= ends.own_lo) | ~falls_back).sum()) < self.k

    def _ends(self, low: float, high: float) -> tuple[Ends, bool]:
        """Bounds of all residuals for targets from low to high; is a fit to blame for their width?"""
        spot = self.candidates.between(low, high)
        lo, hi = spot.where.score_bounds(self.candidates.problem.design)
        f, g, y = lo[:-1], hi[:-1], self.y
        room = 4 * EPS * (np.abs(y) + np.abs(f) + np.abs(g))
        nearest = np.maximum(np.maximum(f - y, y - g) - room, 0.0)
        farthest = np.maximum(g - y, y - f) + room
        more = 4 * EPS * (abs(low) + abs(high) + abs(lo[-1]) + abs(hi[-1]))
        own = max(low - hi[-1] - more, lo[-1] - high - more, 0.0), max(high - lo[-1], hi[-1] - low) + more
        size = self.candidates.problem.scale
        blame = spot.gap > _BLAME * spot.more + _EXACT * size
        return Ends(nearest, farthest, *map(float, own)), bool(blame)

    def _decide(self, low: float, high: float) -> None:
        """Say of all targets from low to high whether they conform, or that it is open."""
        ends, blame = self._ends(low, high)
        found = verdict(ends, self.k)
        if found is not None:
            if found:
                self.inside.append((low, high))
            return
        middle = 0.5 * (low + high)
        if high - low <= self.narrow or not low < middle < high:
            self.open.append((low, high))
            return
        if blame and middle not in self.candidates.known:
            self.candidates.fit(middle)
        self._decide(low, middle)
        self._decide(middle, high)


def _joined(intervals: Sequence[Interval]) -> list[Interval]:
    """In order, those that touch as one."""
    joined: list[Interval] = []
    for low, high in sorted(intervals):
        if joined and low <= joined[-1][1]:
            before = joined.pop()
            low, high = before[0], max(high, before[1])
        joined.append((low, high))
    return joined
