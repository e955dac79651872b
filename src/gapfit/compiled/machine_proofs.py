"""What is proved of many small machines; see `machines` for what is flat and what is not.

Each sum is taken in the order that the source says, and how far it may be off is counted as `gapfit.problem`
counts it for one problem.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.atoms import conjugate_sums, sums_around
from gapfit.compiled.bounds import EPS, attained, bounded, left_over, near_square, square
from gapfit.compiled.machines import dots, product
from gapfit.compiled.precise import sum_exactly
from gapfit.compiled.quantile import best_offset
from gapfit.compiled.small_feasible import UNIT
from gapfit.compiled.small_proof import TINY, gamma

SAME = 4.0 * EPS  # of their length, up to which two functions differ by rounding


class Given(NamedTuple):
    """The machines."""

    K: Any
    parts: Any
    alpha: Any
    lengths: Any  # of the samples


class Ends(NamedTuple):
    """Of planes at the ends of the boxes, which lean either way in b: what a share of them costs that makes
    up for a slope of one, how high they are where scores and b are zero, and how far they reach."""

    price: Any
    highest: Any
    reach: Any


class Found(NamedTuple):
    """Two numbers of each machine with their errors: J at a point, and a lower bound of J; the best offset of
    the point, and whether a square had to be taken for the bound."""

    upper: Any
    upper_error: Any
    lower: Any
    lower_error: Any
    b: Any
    squared: Any


@jit(inline=True)
def grown(terms):
    """By how much a sum of absolute values may be too small."""
    return 1.0 + gamma(terms + 8)


@jit
def set_up(given, atoms, lower, upper, limits, ends):
    """Write where dual points may be, and what follows from it; False if no bound can be balanced."""
    for i in range(len(lower)):
        low, high = atoms.lo[i], atoms.hi[i]
        lower[i], upper[i] = (-high, -low) if atoms.sign[i] > 0.0 else (low, high)
    put_limits(given, lower, upper, limits)
    return put_ends(given, atoms, lower, upper, ends)


@jit(inner=True)
def put_limits(given, lower, upper, limits):
    """Write where coefficients may be, whose dual points have these boxes; and how long samples are."""
    first, rows = given.parts.first, given.parts.rows
    for k in range(len(first) - 1):
        for i in range(first[k], first[k + 1]):
            limits.lower[i], limits.upper[i] = -upper[i] / given.alpha[k], -lower[i] / given.alpha[k]
            square = given.K[rows[i], rows[i]]
            given.lengths[i] = math.sqrt(max(square, 0.0)) * (1.0 + 8.0 * EPS)


@jit(inner=True)
def put_ends(given, atoms, lower, upper, ends):
    """Write them; False if planes lean one way only, or reach for ever."""
    first = given.parts.first
    for k in range(len(first) - 1):
        start, stop, reach = first[k], first[k + 1], 0.0
        for i in range(start, stop):
            if not (math.isfinite(lower[i]) and math.isfinite(upper[i])):
                return False
            reach += (abs(lower[i]) + abs(upper[i])) * given.lengths[i]
        least, _, _ = sum_exactly(lower, start, stop, atoms.total)
        most, _, _ = sum_exactly(upper, start, stop, atoms.total)
        if not (least < 0.0 and most > 0.0):
            return False
        low, _ = conjugate_sums(atoms, lower, start, stop)
        high, _ = conjugate_sums(atoms, upper, start, stop)
        ends.price[k], ends.highest[k] = 1.01 / min(most, -least), max(abs(low), abs(high))
        ends.reach[k] = reach * grown(stop - start)
    return True


@jit
def square_of(given, k, w, scores):
    """1/2 |w|^2 of the k-th machine, its error, and how far the score of a sample of length one may be from
    the exact one. Scores are written."""
    terms = given.parts.first[k + 1] - given.parts.first[k]
    product(given.K, given.parts, k, w, scores)
    dot, size, reach = dots(given.parts, k, w, scores, given.lengths)
    length = reach * grown(terms)
    unit = gamma(terms + 5) * 2.0 * length
    value, error = square(dot, size, length * unit, terms)
    return value, error, unit


@jit
def reach_of(given, k, u, w):
    """The sum of |u_i| times the length of the sample, and the same of how far u / -alpha is from w."""
    reach = moved = 0.0
    first, alpha, lengths = given.parts.first, given.alpha[k], given.lengths
    for i in range(first[k], first[k + 1]):
        reach += abs(u[i]) * lengths[i]
        moved += abs(u[i] / -alpha - w[i]) * lengths[i]
    more = grown(first[k + 1] - first[k])
    return reach * more, moved * more


@jit
def conjugate_near(given, k, u, omega, omega_error, reach, spread, moved, room):
    """1/2 |mu|^2 of mu = u / -alpha, which may be off by the spread, its error, and whether it had to be
    squared: not, where rounding is all that is between it and w, whose square is known."""
    alpha, far = given.alpha[k], moved
    value, error, squared = omega, omega_error, moved > SAME * (reach / alpha)
    if squared:
        point, scores, far = room[0], room[1], 0.0
        for i in range(given.parts.first[k], given.parts.first[k + 1]):
            point[i] = u[i] / -alpha
        value, error, _ = square_of(given, k, point, scores)
    value, error = near_square(value, error, reach / alpha, spread / alpha + far)
    return value, error, squared


@jit
def prove(given, atoms, ends, noise, w, u, found):
    """Write what the points w with their best offsets, and the dual points u, prove. A sum over atoms may be
    off by the share `noise` of what is added up."""
    first, most = given.parts.first, 0
    for k in range(len(first) - 1):
        most = max(most, first[k + 1] - first[k])
    count, total = len(w), atoms.total
    scores, low, slack = np.empty(count), np.zeros(count), np.empty(count)
    room, squares = np.empty((2, 2 * most)), np.empty((2, count))
    for k in range(len(first) - 1):
        start, stop, alpha = first[k], first[k + 1], given.alpha[k]
        terms = stop - start
        omega, omega_error, unit = square_of(given, k, w, scores)
        for i in range(start, stop):
            slack[i] = given.lengths[i] * unit
        b = _middle(best_offset(atoms, scores, start, stop, room))
        value, size, rise = sums_around(atoms, (scores, low, b, slack, UNIT), start, stop)
        error = noise * (size + 2.0 * abs(total * b)) + terms * TINY + 1.01 * rise
        found.upper[k], found.upper_error[k] = attained(alpha, omega, omega_error, value + total * b, error)
        found.b[k] = b
        conjugate, size = conjugate_sums(atoms, u, start, stop)
        # what rounding may do to the height, and there where planes at the ends were mixed in
        error = noise * size + terms * TINY + 25.0 * UNIT * abs(conjugate)
        e, lost, lost_size = sum_exactly(u, start, stop, total)
        e += lost
        rounded = UNIT * abs(e) + gamma(terms) * lost_size + terms * (TINY * UNIT)
        share = ends.price[k] * left_over(e, rounded)
        reach, moved = reach_of(given, k, u, w)
        spread = share * (reach + ends.reach[k]) + gamma(4) * reach + terms * TINY
        error += share * (abs(conjugate) + 2.0 * ends.highest[k])
        second, second_error, found.squared[k] = conjugate_near(
            given, k, u, omega, omega_error, reach, spread, moved, squares
        )
        found.lower[k], found.lower_error[k] = bounded(alpha, -conjugate, error, second, second_error)


@jit
def _middle(interval):
    """Of two numbers, one of which may be infinite; zero, if both are."""
    least, largest = interval
    least = least if math.isfinite(least) else largest
    largest = largest if math.isfinite(largest) else least
    return 0.5 * (least + largest) if math.isfinite(least) else 0.0
