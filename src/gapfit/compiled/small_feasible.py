"""Dual points of a small fit, made feasible. See `small_proof`.

A dual point must be feasible without a doubt: within its box, which comparisons decide, and balanced, if
there is an intercept. So it is moved onto multiples of a power of two that is small beside its sum: such
numbers add up without any rounding, and what is left over is taken from samples that have room.
"""

import math

from gapfit.compiled._jit import jit

UNIT = 2.0**-53
EXACT = 51  # bits of a sum that is exact, beside its sign
LEAST = -900  # exponent of a sum of dual variables: below, multiples would underflow
SHIFTS = 20  # rounds of balancing


@jit
def _spread_out(losses, v):
    """Shift v, as far as there is room, until its sum is rounding."""
    for _ in range(SHIFTS):
        total = size = room = 0.0
        for i in range(len(v)):
            total += v[i]
            size += abs(v[i])
            if losses.lower[i] < v[i] < losses.upper[i]:
                room += losses.p[i]
        if not abs(total) > 8.0 * UNIT * size or not room > 0.0:
            return
        for i in range(len(v)):
            if losses.lower[i] < v[i] < losses.upper[i]:
                v[i] = min(max(v[i] - total / room * losses.p[i], losses.lower[i]), losses.upper[i])


@jit(inline=True)
def whole(x, unit):
    """x, rounded towards zero to a multiple of the unit, a power of two."""
    return float(int(x / unit)) * unit


@jit(inner=True)
def unit_of(size):
    """A power of two whose multiples add up without rounding, if together they are no larger than this; zero,
    if there is none."""
    exponent = math.frexp(1.01 * size)[1] if 0.0 < size < math.inf else LEAST
    return math.ldexp(1.0, exponent - EXACT) if exponent > LEAST else 0.0


@jit(inner=True)
def balanced(losses, v, unit):
    """Move v onto multiples of the unit whose sum is zero without rounding. Could it be done?"""
    total, per = 0.0, 1.0 / unit  # exact, as units are powers of two
    for i in range(len(v)):
        v[i] = float(int(v[i] * per)) * unit
        total += v[i]
    for i in range(len(v)):
        if total == 0.0:
            return True
        room = v[i] - losses.lower[i] if total > 0.0 else losses.upper[i] - v[i]
        step = whole(min(room * (1.0 - 8.0 * UNIT), abs(total)), unit)
        if total < 0.0:
            step = -step
        v[i] -= step
        total -= step
    return total == 0.0


@jit(inner=True)
def into_the_box(losses, v, free):
    """Move v into its box, and its sum near zero if there is an intercept. Returns the sum of its entries, in
    absolute value."""
    size = 0.0
    for i in range(len(v)):
        v[i] = min(max(v[i], losses.lower[i]), losses.upper[i])
    if free:
        _spread_out(losses, v)
    for i in range(len(v)):
        size += abs(v[i])
    return size


@jit(inner=True)
def is_inside(losses, v):
    """Is it in its box?"""
    outside = 0
    for i in range(len(v)):
        outside += not (losses.lower[i] <= v[i] <= losses.upper[i] and abs(v[i]) < math.inf)
    return outside == 0


@jit(inner=True)
def feasible(losses, net, v):
    """Move v into its box, and balance it if there is an intercept. Could it be done?"""
    size = into_the_box(losses, v, net.free)
    if net.free and size != 0.0:
        unit = unit_of(size)
        if not (unit > 0.0 and balanced(losses, v, unit)):
            return False
    return is_inside(losses, v)
