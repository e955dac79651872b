"""Losses made of lines and parabolas, rounded off: their response to all scores at once.

Near the centre the rounded loss of a sample at score f is

    phi(f) = max over lower <= v <= upper of
                 (target - f) v - kink |v| - quad v^2 / 2 - (v - centre)^2 / (2 c p).

There are no branches, so that the compiler can work on several samples at a time; a divisor of zero is
replaced by TINY, which is as good where bounds follow. What happens to one sample is written down in formulas
of their own, which a device applies to all samples at once.
"""

import math
from typing import Any, NamedTuple

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import TINY

BLOCK = 1024  # samples whose numbers stay in the cache from one loop to the next


class Losses(NamedTuple):
    """The rounded losses."""

    aim: Any  # target + centre / (c p)
    give: Any  # 1 / (quad + 1 / (c p))
    target: Any
    kink: Any
    quad: Any
    lower: Any
    upper: Any


@jit(fast=True, inline=True)
def clipped(x, lower, upper):
    """x, or the nearest bound."""
    return min(max(x, lower), upper)


@jit(fast=True, inline=True)
def free_response(drive, give, kink):
    """The maximiser without its bounds; drive is target + centre / (c p) - f."""
    return give * (drive - min(max(drive, -kink), kink))


@jit(fast=True, inline=True)
def strictly_inside(x, lower, upper, kink):
    """Is a maximiser on the rounded part, so that it moves with the score?"""
    return (x > lower) & (x < upper) & ((kink == 0.0) | (x != 0.0))


@jit(fast=True, inline=True)
def height(margin, v, kink, quad):
    """margin v - kink |v| - quad v^2 / 2: minus the conjugate at v if the margin is the target."""
    return margin * v - kink * abs(v) - 0.5 * quad * v * v


@jit(fast=True, inline=True)
def unrounded(margin, kink, quad, lower, upper):
    """The maximiser of the loss as it is."""
    beyond = margin - min(max(margin, -kink), kink)
    return min(max(beyond / max(quad, TINY), lower), upper)


@jit(fast=True)
def round_off(losses, centre, p, c, start, stop):
    """Write what depends on the centre and on c: aim and give."""
    aim, give, target, _, quad, _, _ = losses
    for i in range(start, stop):
        weight = c * p[i]
        aim[i] = target[i] + centre[i] / weight
        give[i] = weight / (1.0 + weight * quad[i])


@jit(fast=True, reorder=True)
def spread(losses, f, p, start, stop):
    """How far scores are from their targets: the weighted sum, and that of the squares."""
    target = losses.target
    first = 0.0
    second = 0.0
    for i in range(start, stop):
        distance = abs(target[i] - f[i])
        first += p[i] * distance
        second += p[i] * distance * distance
    return first, second


@jit(fast=True, reorder=True)
def reach(losses, distance, start, stop):
    """The sum of how far the maximisers can move while a score moves by ``distance``."""
    _, _, _, _, quad, lower, upper = losses
    total = 0.0
    for i in range(start, stop):
        total += min(upper[i] - lower[i], distance / max(quad[i], TINY))
    return (total,)


@jit(fast=True)
def guess(losses, f, p, c, v, start, stop):
    """Write the maximisers at f of losses that are rounded off around the middle of their bounds.

    Around zero where there are no bounds, or where zero is a kink.
    """
    _, _, target, kink, quad, lower, upper = losses
    for i in range(start, stop):
        middle = 0.5 * lower[i] + 0.5 * upper[i]
        bounded = (upper[i] - lower[i] < math.inf) & (kink[i] == 0.0)
        weight = c * p[i]
        drive = target[i] - f[i] + (middle / weight if bounded else 0.0)
        free = free_response(drive, weight / (1.0 + weight * quad[i]), kink[i])
        v[i] = clipped(free, lower[i], upper[i])


@jit(fast=True, reorder=True)
def slope_along(losses, f, df, db, t, start, stop):
    """Derivatives in t of the sum of rounded losses at f + t (df + db): the first and the second."""
    aim, give, _, kink, _, lower, upper = losses
    first = 0.0
    second = 0.0
    for i in range(start, stop):
        way = df[i] + db
        drive = aim[i] - f[i] - t * way
        free = free_response(drive, give[i], kink[i])
        v = clipped(free, lower[i], upper[i])
        first -= v * way
        second += give[i] * way * way if v == free else 0.0
    return first, second


@jit(fast=True)
def advance(losses, f, df, db, t, start, stop):
    """Add t (df + db) to f."""
    for i in range(start, stop):
        f[i] += t * (df[i] + db)


@jit(fast=True, reorder=True)
def respond(losses, f, c, v, moved, known, weight, change, start, stop):
    """Write the maximisers v, by how much they moved, and the second derivatives / c of the rounded losses.

    ``change`` is by how much the latter differ from those ``known``. Returns the sum of the true losses at f,
    minus the sum of their conjugates at v, the sums of v and of the second derivatives, how many of those are
    not zero, and how many have changed.
    """
    aim, give, target, kink, quad, lower, upper = losses
    loss = 0.0
    bound = 0.0
    total = 0.0
    bend = 0.0
    curved = 0
    changed = 0
    scale = 1.0 / c
    for first in range(start, stop, BLOCK):
        last = min(first + BLOCK, stop)
        for i in range(first, last):  # several loops: the compiler vectorises those that write little
            new = clipped(free_response(aim[i] - f[i], give[i], kink[i]), lower[i], upper[i])
            moved[i] = new - v[i]
            v[i] = new
        for i in range(first, last):
            bent = scale * give[i] * strictly_inside(v[i], lower[i], upper[i], kink[i])
            change[i] = bent - known[i]
            weight[i] = bent
        for i in range(first, last):  # sums apart from writing, or their order depends on where arrays lie
            bend += weight[i]
            curved += 1 if weight[i] != 0.0 else 0
            changed += 1 if change[i] != 0.0 else 0
        for i in range(first, last):
            bound += height(target[i], v[i], kink[i], quad[i])
            total += v[i]
            margin = target[i] - f[i]
            exact = unrounded(margin, kink[i], quad[i], lower[i], upper[i])
            loss += height(margin, exact, kink[i], quad[i])
    return loss, bound, total, c * bend, curved, changed
