"""What proofs of many nu machines of two classes rest on; see `machines` for what is flat and what is not.

A sample of the margin m = y f counts with a share a of its weight p, those of either side of a machine add up
to `half`, and the risk is minus the sum of a m where that is largest. From above, of a side it is at most

    half t + sum of p max(0, -m - t)          for whatever t, and exactly that for the best one.
"""

import math
from typing import Any, NamedTuple

from gapfit.compiled._jit import jit
from gapfit.compiled.precise import sum_exactly
from gapfit.compiled.quantile import passing
from gapfit.compiled.small_feasible import UNIT
from gapfit.compiled.small_proof import TINY, gamma

TURNS = 3  # of making up for what a sum lacks


class Sides(NamedTuple):
    """Of samples, their labels and shares of the weight, and what either side adds up to."""

    y: Any
    p: Any
    half: float


@jit
def begin(sides, parts, alpha, v):
    """Write coefficients: the first samples of either side take all that there is to take."""
    for k in range(len(parts.first) - 1):
        left, right = sides.half, sides.half
        for i in range(parts.first[k], parts.first[k + 1]):
            if sides.y[i] > 0.0:
                share = min(sides.p[i], right)
                right -= share
            else:
                share = min(sides.p[i], left)
                left -= share
            v[i] = sides.y[i] * share / alpha[k]


@jit
def above(sides, parts, scores, room, ends, sums):
    """Write the margins at which the shares of either side end, the risk, and what was added up to it."""
    for k in range(len(parts.first) - 1):
        start, stop, risk, size = parts.first[k], parts.first[k + 1], 0.0, 0.0
        for side in range(2):
            sign, count, total = 1.0 - 2.0 * side, 0, 0.0
            for i in range(start, stop):
                if sides.y[i] == sign:
                    room[0, count], room[1, count] = sign * scores[i], sides.p[i]
                    total += sides.p[i]
                    count += 1
            end, _ = passing(room[0, :count], room[1, :count], total, min(sides.half, total))
            ends[side, k] = end
            risk -= sides.half * end
            size += abs(sides.half * end)
            for i in range(start, stop):
                short = end - sign * scores[i]
                if sides.y[i] == sign and short > 0.0:
                    risk += sides.p[i] * short
                    size += sides.p[i] * short
        sums[0, k], sums[1, k] = risk, size


@jit
def _too_much(sides, u, start, stop, sign, room):
    """By how much the shares of a side are more than they should be, and how far that may be off."""
    count = 0
    for i in range(start, stop):
        if sides.y[i] == sign:
            room[count] = abs(u[i])
            count += 1
    total, lost, size = sum_exactly(room, 0, count, -sides.half)
    return total + lost, UNIT * abs(total + lost) + 1.01 * gamma(count + 4) * size + count * TINY


@jit
def _add(sides, u, start, stop, sign, more):
    """To the share of the sample that has most to add."""
    best, most = start, 0.0
    for i in range(start, stop):
        if sides.y[i] == sign and sides.p[i] - abs(u[i]) > most:
            best, most = i, sides.p[i] - abs(u[i])
    u[best] = -sign * min(abs(u[best]) + more, sides.p[best])


@jit
def below(sides, parts, u, w, alpha, lengths, room, sums):
    """See to it that the shares of either side add up to half at least, which scaling down makes feasible.

    Write by how much of them, at most; the sum of |u_i| times the length of the sample, and the same of how
    far u / -alpha is from w.
    """
    for k in range(len(parts.first) - 1):
        start, stop, off = parts.first[k], parts.first[k + 1], 0.0
        for side in range(2):
            sign = 1.0 - 2.0 * side
            more, error = _too_much(sides, u, start, stop, sign, room)
            for _ in range(TURNS):
                if more >= error:
                    break
                _add(sides, u, start, stop, sign, 2.0 * (error - more) + 4.0 * UNIT * sides.half)
                more, error = _too_much(sides, u, start, stop, sign, room)
            off = max(off, (more + error) / sides.half if more >= error else math.inf)
        reach = moved = 0.0
        for i in range(start, stop):
            reach += abs(u[i]) * lengths[i]
            moved += abs(u[i] / -alpha[k] - w[i]) * lengths[i]
        sums[0, k], sums[1, k], sums[2, k] = off, reach, moved
