"""Losses made of lines and parabolas, seen from their dual: proximal steps of all samples at once.

The loss of a sample at score f is a maximum over its dual variable u = -sign * a,

    phi(f) = max over lo <= a <= hi of  (lin - sign f) a - kink |a| - quad a^2 / 2,

and a proximal step of length `step` from a centre adds -(u - centre)^2 / (2 step p) to what is maximised.
One of the seven arrays that holds the same number for all samples may hold it SHORT times only.

Loops are written for the compiler to work on several samples at a time: no branches, no division that could
raise an error (so `np.divide`), few arrays beside one that is written, and a few hundred samples from one
loop to the next, whose numbers stay in the cache.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import SHORT, TINY, some


class Pieces(NamedTuple):
    """The losses, and the weights of the samples."""

    sign: Any
    lin: Any
    kink: Any
    quad: Any
    lo: Any
    hi: Any
    p: Any


class Lengths(NamedTuple):
    """All that `respond` needs of the step's length."""

    inverse: Any  # 1 / (step p)
    gain: Any  # 1 / (1 / (step p) + quad)


class Line(NamedTuple):
    """Scores f + t * along, for steps from a centre."""

    centre: Any
    f: Any
    along: Any


@jit(fast=True)
def scales(pieces, step, lengths):
    """Write what follows from the step's length."""
    quad, p = pieces.quad, pieces.p
    inverse, gain = lengths
    for i in range(gain.size):
        inverse[i] = np.divide(1.0, step * p[i if p.size == gain.size else 0])
        gain[i] = np.divide(1.0, inverse[i] + quad[i if quad.size == gain.size else 0])


@jit(fast=True, reorder=True)
def respond(pieces, lengths, line, t, b, start, stop, u):
    """Write the proximal steps u at the scores f + t * along + b; lengths by `scales`.

    Returns the sum of u, its derivative in b, the sum of |u|, <u, along>, and the derivative of the sum in t.
    """
    sign, lin, kink, _, lo, hi, _ = pieces
    inverse, gain = lengths
    centre, f, along = line
    n = f.size
    total = slope = size = work = cross = 0.0
    for first in range(start, stop, SHORT):
        m = min(SHORT, stop - first)
        s, y, k = some(sign, first, m, n), some(lin, first, m, n), some(kink, first, m, n)
        inv, rate = some(inverse, first, m, n), some(gain, first, m, n)
        low, high = some(lo, first, m, n), some(hi, first, m, n)
        c, g = centre[first : first + m], f[first : first + m]
        d, x = along[first : first + m], u[first : first + m]
        for i in range(m):
            x[i] = y[i] - s[i] * (g[i] + t * d[i] + b + inv[i] * c[i])
        for i in range(m):
            free = rate[i] * (x[i] - min(max(x[i], -k[i]), k[i]))
            x[i] = -s[i] * min(max(free, low[i]), high[i])
        for i in range(m):  # sums apart from writing, or their order depends on where arrays lie
            a = -s[i] * x[i]
            inside = (a > low[i]) & (a < high[i]) & ((k[i] == 0.0) | (a != 0.0))
            moves = rate[i] * inside
            total += x[i]
            size += abs(x[i])
            work += x[i] * d[i]
            slope += moves
            cross += moves * d[i]
    return total, slope, size, work, cross


@jit(fast=True)
def blend(first, second, share, start, stop, out):
    """Write (1 - share) * first + share * second."""
    x, y, mixed = first[start:stop], second[start:stop], out[start:stop]
    for i in range(stop - start):
        mixed[i] = x[i] + share * (y[i] - x[i])


@jit(fast=True, reorder=True)
def nudge(pieces, gain, shift, start, stop, u):
    """Move the u that are inside their bounds as a small shift of all scores would; returns their sum."""
    sign, _, kink, _, lo, hi, _ = pieces
    n = u.size
    total = 0.0
    for first in range(start, stop, SHORT):
        m = min(SHORT, stop - first)
        s, k, rate = some(sign, first, m, n), some(kink, first, m, n), some(gain, first, m, n)
        low, high, x = some(lo, first, m, n), some(hi, first, m, n), u[first : first + m]
        for i in range(m):
            a = -s[i] * x[i]
            inside = (a > low[i]) & (a < high[i]) & ((k[i] == 0.0) | (a != 0.0))
            x[i] = -s[i] * min(max(a - s[i] * shift * rate[i] * inside, low[i]), high[i])
        for i in range(m):
            total += x[i]
    return total


@jit
def absorb(pieces, excess, u):
    """Take a little off the sum of u: from the first samples that have room within their bounds."""
    sign, _, _, _, lo, hi, _ = pieces
    n = u.size
    for i in range(n):
        if excess == 0.0:
            break
        low, high = lo[i if lo.size == n else 0], hi[i if hi.size == n else 0]
        s = sign[i if sign.size == n else 0]
        bottom, top = (-high, -low) if s > 0.0 else (low, high)
        before = u[i]
        u[i] = min(max(before - excess, bottom), top)
        excess -= before - u[i]


@jit(fast=True, reorder=True)
def values(pieces, f, b, u, start, stop):
    """The sum of the losses at f + b, and of their conjugates at u."""
    sign, lin, kink, quad, lo, hi, _ = pieces
    n = f.size
    loss = conjugate = 0.0
    for first in range(start, stop, SHORT):
        m = min(SHORT, stop - first)
        s, y = some(sign, first, m, n), some(lin, first, m, n)
        k, q = some(kink, first, m, n), some(quad, first, m, n)
        low, high = some(lo, first, m, n), some(hi, first, m, n)
        g, x = f[first : first + m], u[first : first + m]
        for i in range(m):
            margin = y[i] - s[i] * (g[i] + b)
            beyond = margin - min(max(margin, -k[i]), k[i])
            best = min(max(np.divide(beyond, max(q[i], TINY)), low[i]), high[i])
            loss += margin * best - k[i] * abs(best) - 0.5 * q[i] * best * best
            conjugate += k[i] * abs(x[i]) + 0.5 * q[i] * x[i] * x[i] + y[i] * s[i] * x[i]
    return loss, conjugate


@jit(fast=True, reorder=True)
def distance(p, u, other, start, stop):
    """sum of (u - other)^2 / p."""
    total = 0.0
    for first in range(start, stop, SHORT):
        m = min(SHORT, stop - first)
        w, x, there = some(p, first, m, u.size), u[first : first + m], other[first : first + m]
        for i in range(m):
            step = x[i] - there[i]
            total += np.divide(step * step, w[i])
    return total
