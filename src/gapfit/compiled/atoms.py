"""Losses made of lines and parabolas: values and conjugates.

Certificates rest on these, so the arithmetic is strict, and what is to be added up is written down for a sum
that takes care of rounding. A part of the atoms that is the same number for all samples may be short
(`rows.some`): loops go over so many samples at a time.
"""

import math

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.precise import two_sum
from gapfit.compiled.rows import SHORT, some

_BLOCK = 32  # numbers that are added up as usual; what their sums lose is kept: 40 roundings on a way at most


@jit(inline=True)
def _of(atoms, first, count, n):
    """The atoms of so many of the n samples."""
    sign, lin, kink = atoms.sign, atoms.lin, atoms.kink
    quad, lo, hi = atoms.quad, atoms.lo, atoms.hi
    sign, lin, kink = some(sign, first, count, n), some(lin, first, count, n), some(kink, first, count, n)
    quad, lo, hi = some(quad, first, count, n), some(lo, first, count, n), some(hi, first, count, n)
    return sign, lin, kink, quad, lo, hi


@jit(inline=True)
def chosen(condition, yes, no):
    """One of two numbers, both of which are at hand."""
    return yes if condition else no


@jit(inline=True)
def maximum(z, kink, quad, lo, hi):
    """The maximum over lo <= a <= hi of z a - kink |a| - quad a^2 / 2, and a; also of many at once."""
    beyond = z - min(max(z, -kink), kink)
    end = chosen(beyond > 0.0, math.inf, chosen(beyond < 0.0, -math.inf, 0.0))  # where there is no parabola
    a = min(max(chosen(quad > 0.0, beyond / chosen(quad > 0.0, quad, 1.0), end), lo), hi)
    return (beyond - 0.5 * quad * a) * a, a


@jit(inline=True)
def conjugate(sign, lin, kink, quad, u):
    """The two terms of the conjugate at u = -sign a: -lin a, and kink |a| + quad a^2 / 2."""
    a = -sign * u
    return -lin * a, kink * abs(a) + 0.5 * quad * a * a


@jit(inline=True)
def margin_of(sign, lin, f, low, shift):
    """lin - sign (f + shift + low), with all its digits."""
    moved, rest = two_sum(f, shift)
    z, more = two_sum(lin, -sign * moved)
    return z + (more - sign * (rest + low))


@jit
def maximise(atoms, at, start, stop, value, u):
    """Write phi(f) = max over lo <= a <= hi of (lin - sign f) a - kink |a| - quad a^2 / 2, and the derivative
    u = -sign a, at the scores f + shift."""
    f, shift = at
    for first in range(start, stop, SHORT):
        count = min(SHORT, stop - first)
        sign, lin, kink, quad, lo, hi = _of(atoms, first, count, f.size)
        for i in range(count):
            z = lin[i] - sign[i] * (f[first + i] + shift)
            value[first + i], a = maximum(z, kink[i], quad[i], lo[i], hi[i])
            u[first + i] = -sign[i] * a


@jit
def sums_around(atoms, around, start, stop):
    """The sum of phi(f + shift + low), that of its absolute values, and of how much higher phi is anywhere
    within the slack.

    lin - sign f is taken with all its digits. A convex function is highest at one of the ends.
    """
    f, low, shift, slack, unit = around
    total = lost = sizes = rises = 0.0
    values, more = np.empty(SHORT), np.empty(SHORT)
    for first in range(start, stop, SHORT):
        count = min(SHORT, stop - first)
        sign, lin, kink, quad, lo, hi = _of(atoms, first, count, f.size)
        for i in range(count):  # no sum here: several samples at a time
            z = margin_of(sign[i], lin[i], f[first + i], low[first + i], shift)
            reach = slack[first + i] + 2.0 * unit * (abs(z) + kink[i])
            here, _ = maximum(z, kink[i], quad[i], lo[i], hi[i])
            least, _ = maximum(z - reach, kink[i], quad[i], lo[i], hi[i])
            most, _ = maximum(z + reach, kink[i], quad[i], lo[i], hi[i])
            values[i], more[i] = here, max(max(least, most) - here, 0.0)
        for begin in range(0, count, _BLOCK):
            value = size = rise = 0.0
            for i in range(begin, min(begin + _BLOCK, count)):
                value += values[i]
                size += abs(values[i])
                rise += more[i]
            total, rest = two_sum(total, value)
            lost += rest
            sizes += size
            rises += rise
    return total + lost, sizes, rises


@jit
def classify(atoms, bounds, start, stop, zero, bound, support):
    """Write of which samples it is certain that the maximiser a is zero, lo or hi, not zero, while scores are
    within the bounds. It rises with lin - sign f, from lo over zero (within kink of zero) to hi."""
    lowest, highest, unit = bounds
    for begin in range(start, stop, SHORT):
        count = min(SHORT, stop - begin)
        sign, lin, kink, quad, lo, hi = _of(atoms, begin, count, lowest.size)
        for i in range(count):
            low, high, at = lowest[begin + i], highest[begin + i], begin + i
            first, last = lin[i] - sign[i] * low, lin[i] - sign[i] * high
            room = 8.0 * unit * (abs(lin[i]) + max(abs(low), abs(high)) + kink[i])
            least, most = min(first, last) - room, max(first, last) + room
            above, below = least > kink[i] and hi[i] > 0.0, most < -kink[i] and lo[i] < 0.0
            support[at] = above or below
            top, bottom = quad[i] * hi[i] * (1.0 + 8.0 * unit), quad[i] * lo[i] * (1.0 + 8.0 * unit)
            bound[at] = above and math.isfinite(hi[i]) and least > kink[i] + top
            if below and math.isfinite(lo[i]) and -most > kink[i] - bottom:
                bound[at] = True
            zero[at] = (hi[i] == 0.0 or most < kink[i]) and (lo[i] == 0.0 or least > -kink[i])


@jit
def conjugate_sums(atoms, u, start, stop):
    """The sum of the conjugates at u = -sign a,  -lin a + kink |a| + quad a^2 / 2, and that of what is added
    up to them, in absolute values."""
    total = lost = sizes = 0.0
    for first in range(start, stop, SHORT):
        count = min(SHORT, stop - first)
        sign, lin, kink, quad, _, _ = _of(atoms, first, count, u.size)
        for begin in range(0, count, _BLOCK):
            value = size = 0.0
            for i in range(begin, min(begin + _BLOCK, count)):
                line, bent = conjugate(sign[i], lin[i], kink[i], quad[i], u[first + i])
                value += line + bent
                size += abs(line) + bent
            total, rest = two_sum(total, value)
            lost += rest
            sizes += size
    return total + lost, sizes
