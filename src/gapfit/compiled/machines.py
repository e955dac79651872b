"""Many small machines in one kernel matrix: steps on pairs for each. See `machine_proofs`.

The k-th machine is about the samples rows[first[k]:first[k + 1]]. What belongs to samples stands in flat
arrays, one machine after the other; what belongs to machines in arrays with an entry for each.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.blocks import Block
from gapfit.compiled.projection import onto_balanced_box
from gapfit.compiled.slopes import note_sides
from gapfit.compiled.smo import Limits, Way, second_order

OUTSIDE = 1e-6  # of the largest variable: so far beyond its bound, one is projected right on to it


class Ascent(NamedTuple):
    """How far machines are."""

    v: Any  # their coefficients
    G: Any  # and slopes
    u: Any  # the dual points of these coefficients
    sides: Any  # at which end of its box each coefficient is,
    since: Any  # and after how many steps it came there
    taken: Any  # steps
    violation: Any


@jit
def begin(K, parts, target, at, scale):
    """Write the slopes of machines that begin at v, and the unit of each that its violation is told in: the
    mean size of its targets, or where they are zero, of its scores."""
    first = parts.first
    for k in range(len(first) - 1):
        start, stop, size, squares = first[k], first[k + 1], 0.0, 0.0
        product(K, parts, k, at.v, at.G)
        for i in range(start, stop):
            size += abs(target[i])
            squares += at.G[i] ** 2
            at.G[i] -= target[i]
        mean = 1.0 / (stop - start)
        scale[k] = size * mean if size > 0.0 else math.sqrt(squares * mean)
        scale[k] = scale[k] if scale[k] > 0.0 else 1.0


@jit
def ascend(K, parts, alpha, at, limits, steps, target, way):
    """Steps on pairs in each machine whose violation is above its target: so many at most, or so many for
    each sample if that is more. See `smo.second_order`."""
    rows, first, side = parts.rows, parts.first, 0  # of the largest copy
    for k in range(len(first) - 1):
        if first[k + 1] - first[k] < len(K):
            side = max(side, first[k + 1] - first[k])
    room, diagonal, there = np.empty(side * side), np.empty(len(K)), np.empty(side, np.bool_)
    known = np.empty(2)
    for k in range(len(first) - 1):
        if not at.violation[k] > target[k]:
            continue
        start, stop = first[k], first[k + 1]
        n, largest = stop - start, 0.0
        for i in range(n):
            diagonal[i] = K[rows[start + i], rows[start + i]]
            largest = max(largest, abs(diagonal[i]))
        own, missing = K, 0  # itself, if the machine is about all samples
        if n < len(K):
            own, missing = room[: n * n].reshape(n, n), n
            for i in range(n):
                there[i] = False
        block = Block(own, there[:missing], diagonal[:n], K, parts, k)
        known[0] = known[1] = np.nan
        v, lower, upper = at.v[start:stop], limits.lower[start:stop], limits.upper[start:stop]
        bounds = Limits(lower, upper, limits.kink[start:stop], limits.apart)
        looks, met = way.looks[k : k + 1], way.met[k : k + 1]
        seen = Way(way.goal[start:stop], way.values[k], way.gaps[k], looks, met, way.aim)
        more, left = second_order(
            block, at.G[start:stop], v, bounds, max(steps[0], steps[1] * n), target[k],
            1e-12 * largest if largest > 0.0 else 1e-12, known, seen,
        )  # fmt: skip
        at.taken[k] += more
        at.violation[k] = left
        note_sides(v, lower, upper, at.taken[k], at.sides[start:stop], at.since[start:stop])
        put_dual_point(alpha[k], v, bounds, at.u[start:stop])


@jit(inner=True)
def put_dual_point(alpha, v, limits, u):
    """Write that of v. Where v is at its bound it goes beyond, by a share of the largest: it is projected
    right on to it. Where numbers have overflown it is zero."""
    largest = 0.0
    for i in range(len(v)):
        largest = max(largest, abs(alpha * v[i]))
    for i in range(len(v)):
        u[i] = -alpha * v[i]
        if v[i] >= limits.upper[i]:
            u[i] = -alpha * limits.upper[i] - OUTSIDE * largest
        if v[i] <= limits.lower[i]:
            u[i] = -alpha * limits.lower[i] + OUTSIDE * largest
        if not math.isfinite(u[i]):
            u[i] = 0.0


@jit
def project(parts, k, u, p, lower, upper, balance, out):
    """Write the dual points nearest to u that are balanced, from the k-th machine on; how many come before
    the first for which that takes a longer search. `balance` is the sum of each, and what is rounding."""
    first = parts.first
    z, rounding = balance
    while k < len(first) - 1:
        a, b = first[k], first[k + 1]
        if not onto_balanced_box(u[a:b], p[a:b], lower[a:b], upper[a:b], z, rounding, out[a:b]):
            break
        k += 1
    return k


@jit(fast=True, inner=True)
def product(K, parts, k, w, scores):
    """Write K w of the k-th machine."""
    rows, first, run = parts.rows, parts.first, parts.run
    for i in range(first[k], first[k + 1]):
        scores[i] = 0.0
    for j in range(first[k], first[k + 1]):
        if w[j] != 0.0:
            row, share = K[rows[j]], w[j]
            for r in range(parts.runs[k], parts.runs[k + 1]):
                base = rows[run[r]] - run[r]
                for i in range(run[r], run[r + 1]):
                    scores[i] += share * row[base + i]


@jit(inner=True)
def dots(parts, k, w, scores, lengths):
    """<w, scores>, the same of absolute values, and the sum of |w_i| times the length of the sample."""
    dot = size = reach = 0.0
    for i in range(parts.first[k], parts.first[k + 1]):
        dot += w[i] * scores[i]
        size += abs(w[i] * scores[i])
        reach += abs(w[i]) * lengths[i]
    return dot, size, reach
