"""What proofs of many nu machines of two classes rest on; see `machines` for what is flat and what is not.

A sample of the margin m = y f counts with a share a of its weight p, those of either side of a machine add up
to `half`, and the risk is minus the sum of a m where that is largest. From above, of a side it is at most

    half t + sum of p max(0, -m - t)          for whatever t, and exactly that for the best one.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.bounds import EPS, attained, bounded
from gapfit.compiled.machine_proofs import conjugate_near, put_limits, reach_of, square_of
from gapfit.compiled.machines import product
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


class Margins(NamedTuple):
    """What follows from where the sums of machines end."""

    b: Any
    width: Any  # half of it
    largest: Any  # score


@jit
def set_up(sides, given, lower, upper, limits):
    """Write where dual points may be, and coefficients; the least weight of a side of a machine."""
    parts, least = given.parts, math.inf
    for k in range(len(parts.first) - 1):
        left = right = 0.0
        for i in range(parts.first[k], parts.first[k + 1]):
            p = sides.p[i]
            if sides.y[i] > 0.0:
                lower[i], upper[i] = -p, 0.0
                right += p
            else:
                lower[i], upper[i] = 0.0, p
                left += p
        least = min(least, min(left, right))
    put_limits(given, lower, upper, limits)
    return least


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
def above(sides, parts, k, scores, room):
    """The margins at which the shares of either side of the k-th machine end, its risk, and what was added up
    to it."""
    start, stop, risk, size = parts.first[k], parts.first[k + 1], 0.0, 0.0
    right = left = 0.0
    for side in range(2):
        sign, count, total = 1.0 - 2.0 * side, 0, 0.0
        for i in range(start, stop):
            if sides.y[i] == sign:
                room[0, count], room[1, count] = sign * scores[i], sides.p[i]
                total += sides.p[i]
                count += 1
        end, _ = passing(room[0, :count], room[1, :count], total, min(sides.half, total))
        right, left = (end, left) if side == 0 else (right, end)
        risk -= sides.half * end
        size += abs(sides.half * end)
        for i in range(start, stop):
            short = end - sign * scores[i]
            if sides.y[i] == sign and short > 0.0:
                risk += sides.p[i] * short
                size += sides.p[i] * short
    return right, left, risk, size


@jit
def put_margins(sides, given, w, scores, margins):
    """Write those of the points w, whose scores are written as well."""
    first, room = given.parts.first, np.empty((2, len(w)))
    for k in range(len(first) - 1):
        product(given.K, given.parts, k, w, scores)
        right, left, _, _ = above(sides, given.parts, k, scores, room)
        largest = 0.0
        for i in range(first[k], first[k + 1]):
            largest = max(largest, abs(scores[i]))
        margins.b[k], margins.width[k] = 0.5 * (left - right), 0.5 * abs(left + right)
        margins.largest[k] = largest


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
def below(sides, parts, k, u, room):
    """See to it that the shares of either side of the k-th machine add up to half at least, which scaling
    down makes feasible; by how much of them, at most."""
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
    return off


@jit
def prove(sides, given, w, u, found):
    """Write what the points w, with the best margins, and the dual points u prove: see `machine_proofs`."""
    first, count = given.parts.first, len(w)
    scores, room = np.empty(count), np.empty((2, count))
    for k in range(len(first) - 1):
        terms, alpha, longest = first[k + 1] - first[k], given.alpha[k], 0.0
        for i in range(first[k], first[k + 1]):
            longest = max(longest, given.lengths[i])
        omega, omega_error, unit = square_of(given, k, w, scores)
        _, _, risk, size = above(sides, given.parts, k, scores, room)
        rise = 2.0 * sides.half * longest * unit * (1.0 + 16.0 * EPS)  # if all scores are off by as much
        error = 1.01 * (gamma(terms + 8) * size + rise)
        found.upper[k], found.upper_error[k] = attained(alpha, omega, omega_error, risk, error)
        found.b[k] = 0.0
        off = below(sides, given.parts, k, u, room[0])
        reach, moved = reach_of(given, k, u, w)
        spread = (1.01 * off + gamma(4)) * reach + terms * TINY
        second, error, found.squared[k] = conjugate_near(
            given, k, u, omega, omega_error, reach, spread, moved, room
        )
        found.lower[k], found.lower_error[k] = bounded(alpha, 0.0, 0.0, second, error)
