"""Losses made of lines and parabolas: values and conjugates.

Certificates rest on these, so the arithmetic is strict, and what is to be added up is written down for a sum
that takes care of rounding.
"""

import math

from gapfit.compiled._jit import jit
from gapfit.compiled.precise import two_sum

_BLOCK = 32  # numbers that are added up as usual; what their sums lose is kept: 40 roundings on a way at most


@jit(inline=True)
def _maximum(z, kink, quad, lo, hi):
    """The maximum over lo <= a <= hi of z a - kink |a| - quad a^2 / 2, and a."""
    beyond = z - min(max(z, -kink), kink)
    a = beyond / quad if quad > 0.0 else (0.0 if beyond == 0.0 else math.inf * beyond)
    a = min(max(a, lo), hi)
    return (beyond - 0.5 * quad * a) * a, a


@jit
def maximise(atoms, f, start, stop, value, u):
    """Write phi(f) = max over lo <= a <= hi of (lin - sign f) a - kink |a| - quad a^2 / 2, and the derivative
    u = -sign a."""
    sign, lin, kink, quad, lo, hi, _ = atoms
    for i in range(start, stop):
        value[i], a = _maximum(lin[i] - sign[i] * f[i], kink[i], quad[i], lo[i], hi[i])
        u[i] = -sign[i] * a


@jit
def sums_around(atoms, around, start, stop):
    """The sum of phi(f + shift + low), that of its absolute values, and of how much higher phi is anywhere
    within the slack.

    lin - sign f is taken with all its digits. A convex function is highest at one of the ends.
    """
    sign, lin, kink, quad, lo, hi, _ = atoms
    f, low, shift, slack, unit = around
    total = lost = sizes = rises = 0.0
    for first in range(start, stop, _BLOCK):
        value = size = rise = 0.0
        for i in range(first, min(first + _BLOCK, stop)):
            moved, rest = two_sum(f[i], shift)
            z, more = two_sum(lin[i], -sign[i] * moved)
            z += more - sign[i] * (rest + low[i])
            reach = slack[i] + 2.0 * unit * (abs(z) + kink[i])
            here, _ = _maximum(z, kink[i], quad[i], lo[i], hi[i])
            least, _ = _maximum(z - reach, kink[i], quad[i], lo[i], hi[i])
            most, _ = _maximum(z + reach, kink[i], quad[i], lo[i], hi[i])
            value += here
            size += abs(here)
            rise += max(max(least, most) - here, 0.0)
        total, rest = two_sum(total, value)
        lost += rest
        sizes += size
        rises += rise
    return total + lost, sizes, rises


@jit
def classify(atoms, bounds, start, stop, zero, bound, support):
    """Write of which samples it is certain that the maximiser a is zero, lo or hi, not zero, while scores are
    within the bounds. It rises with lin - sign f, from lo over zero (within kink of zero) to hi."""
    sign, lin, kink, quad, lo, hi, _ = atoms
    lowest, highest, unit = bounds
    for i in range(start, stop):
        first, last = lin[i] - sign[i] * lowest[i], lin[i] - sign[i] * highest[i]
        room = 8.0 * unit * (abs(lin[i]) + max(abs(lowest[i]), abs(highest[i])) + kink[i])
        least, most = min(first, last) - room, max(first, last) + room
        above, below = least > kink[i] and hi[i] > 0.0, most < -kink[i] and lo[i] < 0.0
        support[i] = above or below
        bound[i] = above and math.isfinite(hi[i]) and least > kink[i] + quad[i] * hi[i] * (1.0 + 8.0 * unit)
        if below and math.isfinite(lo[i]) and -most > kink[i] - quad[i] * lo[i] * (1.0 + 8.0 * unit):
            bound[i] = True
        zero[i] = (hi[i] == 0.0 or most < kink[i]) and (lo[i] == 0.0 or least > -kink[i])


@jit
def conjugate_sums(atoms, u, start, stop):
    """The sum of the conjugates at u = -sign a,  -lin a + kink |a| + quad a^2 / 2, and that of what is added
    up to them, in absolute values."""
    sign, lin, kink, quad, _, _, _ = atoms
    total = lost = sizes = 0.0
    for first in range(start, stop, _BLOCK):
        value = size = 0.0
        for i in range(first, min(first + _BLOCK, stop)):
            a = -sign[i] * u[i]
            line, bent = -lin[i] * a, kink[i] * abs(a) + 0.5 * quad[i] * a * a
            value += line + bent
            size += abs(line) + bent
        total, rest = two_sum(total, value)
        lost += rest
        sizes += size
    return total + lost, sizes
