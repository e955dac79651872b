"""One coordinate of the dual: its minimum, its part of the gap, what it costs and how far it may go.

The dual variable v_i of each sample and its convex function psi_i are a line of the table (`rows.SAMPLE`), in
one of two forms, piecewise or entropic:

    psi(v) = quad v^2 / 2 + kink |v|
    psi(v) = quad v^2 / 2 + range (a log a + (1 - a) log(1 - a)),  v = lower + range a,  range = upper - lower

An entropic variable is kept as its log-odds log(a / (1 - a)) as well, the derivative of its entropy, in the
place of a kink: near its bounds v has too few digits for it.
"""

import math

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import TINY

NARROW = 0.1  # of the way to its bounds an entropic variable is left when all of them move together


@jit(fast=True, inline=True)
def piecewise_minimiser(drive, kink, curvature, lower, upper):
    """The minimiser over lower <= v <= upper of  kink |v| + curvature v^2 / 2 - drive v."""
    if drive > kink:
        v = (drive - kink) / curvature
    elif drive < -kink:
        v = (drive + kink) / curvature
    else:
        v = 0.0
    return min(max(v, lower), upper)


@jit(fast=True, inline=True)
def entropic_minimiser(odds, slope, curvature, scale):
    """The minimum in one entropic coordinate, as log-odds and share, by Newton's method in the log-odds.

    Solves  slope + (new - odds) + curvature scale (a(new) - a(odds)) = 0.  The left side rises with new, with
    a slope of at least 1: the root lies between odds and odds - slope.
    """
    was = a = 1.0 / (1.0 + math.exp(-odds))
    low, high = min(odds, odds - slope), max(odds, odds - slope)
    new = odds
    for _ in range(30):
        value = slope + (new - odds) + curvature * scale * (a - was)
        if value > 0.0:
            high = new
        else:
            low = new
        previous = new
        new -= value / (1.0 + curvature * scale * a * (1.0 - a))
        if not low <= new <= high:
            new = 0.5 * (low + high)
        a = 1.0 / (1.0 + math.exp(-new))
        if abs(new - previous) <= 1e-3:  # the next correction would be the square of this one
            break
    return new, a


@jit(fast=True, inline=True)
def _softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@jit(fast=True, inline=True)
def entropic_gap(odds, slope, scale):
    """phi(f) + psi(v) + f v of one row, in terms of v and slope = psi'(v) + f: its part of the gap."""
    if abs(slope) > 0.1:
        a = 1.0 / (1.0 + math.exp(-odds))
        return scale * max(_softplus(odds - slope) - _softplus(odds) + a * slope, 0.0)
    half = math.exp(-0.5 * abs(odds))
    spread = half / (1.0 + half * half)  # sqrt(a (1 - a))
    return 0.5 * scale * (spread * slope) ** 2


@jit(fast=True, inline=True)
def pull_at(v, g, kink, quad, lower, upper, threshold):
    """Whether a piecewise variable rests firmly; the derivative that pulls at it, and its part of the gap.

    Of one that rests, by how much its derivative would have to change to move it, instead of the pull.
    """
    right = g + (kink if v >= 0.0 else -kink)  # the derivatives to either side
    left = g + (kink if v > 0.0 else -kink)
    if (v >= upper or right > threshold) and (v <= lower or left < -threshold):
        return True, min(math.inf if v >= upper else right, math.inf if v <= lower else -left), 0.0
    pull = reach = 0.0
    if v < upper and right < 0.0:
        pull, reach = -right, upper - v
    elif v > lower and left > 0.0:
        pull, reach = left, v - lower
    if quad * reach > pull:
        reach = pull / quad
    return False, pull, reach * (pull - 0.5 * quad * reach)


@jit(fast=True, inline=True)
def room(sample, entropic):
    """Between which values a variable may move: there psi is a parabola, or nearly so."""
    kink, lower, upper, v = sample["kink"], sample["lower"], sample["upper"], sample["v"]
    if entropic:
        return lower + NARROW * (v - lower), upper - NARROW * (upper - v)
    if kink > 0.0 and v > 0.0:
        lower = max(lower, 0.0)
    if kink > 0.0 and v < 0.0:
        upper = min(upper, 0.0)
    return lower, upper


@jit(fast=True, inline=True)
def slope_and_curvature(sample, reach, entropic):
    """psi'(v) - target and psi''(v); of an entropy the latter as it is ``reach`` further from the bounds."""
    target, kink, quad, v = sample["target"], sample["kink"], sample["quad"], sample["v"]
    if entropic:
        lower, upper = sample["lower"], sample["upper"]
        return quad * v + kink - target, quad + (upper - lower) / ((v - lower + reach) * (upper - v + reach))
    return quad * v + (kink if v > 0.0 else -kink) - target, quad


@jit(fast=True, inline=True)
def cost(sample, v, entropic):
    """psi(v) - target v."""
    target, quad = sample["target"], sample["quad"]
    if entropic:
        lower, upper = sample["lower"], sample["upper"]
        scale = upper - lower
        a, rest = max((v - lower) / scale, TINY), max((upper - v) / scale, TINY)
        return scale * (a * math.log(a) + rest * math.log(rest)) + 0.5 * quad * v * v - target * v
    return sample["kink"] * abs(v) + 0.5 * quad * v * v - target * v


@jit(fast=True, reorder=True)
def costs(table, entropic):
    """The sum of psi_i(v_i) - target_i v_i."""
    total = 0.0
    for i in range(table.size):
        total += cost(table[i], table[i]["v"], entropic)
    return total
