"""Many small machines in one kernel matrix: steps on pairs for each, and the sums that proofs rest on.

The k-th machine is about the samples rows[first[k]:first[k + 1]]. What belongs to samples stands in flat
arrays, one machine after the other; what belongs to machines in arrays with an entry for each.
"""

import math

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.atoms import conjugate_sums, sums_around
from gapfit.compiled.blocks import Block
from gapfit.compiled.precise import sum_exactly
from gapfit.compiled.projection import onto_balanced_box
from gapfit.compiled.quantile import best_offset
from gapfit.compiled.smo import Limits, Way, second_order


@jit
def ascend(K, parts, G, v, limits, steps, target, taken, violation, way):
    """Steps on pairs in each machine whose violation is above its target: so many at most, or so many for
    each sample if that is more. See `smo.second_order`."""
    rows, first, side = parts.rows, parts.first, 0  # of the largest copy
    for k in range(len(first) - 1):
        if first[k + 1] - first[k] < len(K):
            side = max(side, first[k + 1] - first[k])
    room, diagonal, there = np.empty(side * side), np.empty(len(K)), np.empty(side, np.bool_)
    known = np.empty(2)
    for k in range(len(first) - 1):
        if not violation[k] > target[k]:
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
        lower, upper, kink = limits.lower[start:stop], limits.upper[start:stop], limits.kink[start:stop]
        bounds = Limits(lower, upper, kink, limits.apart)
        looks, met = way.looks[k : k + 1], way.met[k : k + 1]
        seen = Way(way.goal[start:stop], way.values[k], way.gaps[k], looks, met, way.aim)
        more, left = second_order(
            block, G[start:stop], v[start:stop], bounds, max(steps[0], steps[1] * n), target[k],
            1e-12 * largest if largest > 0.0 else 1e-12, known, seen,
        )  # fmt: skip
        taken[k] += more
        violation[k] = left


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


@jit(fast=True)
def _product(K, parts, k, w, scores):
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


@jit
def _dots(parts, k, w, scores, lengths):
    """<w, scores>, the same of absolute values, and the sum of |w_i| times the length of the sample."""
    dot = size = reach = 0.0
    for i in range(parts.first[k], parts.first[k + 1]):
        dot += w[i] * scores[i]
        size += abs(w[i] * scores[i])
        reach += abs(w[i]) * lengths[i]
    return dot, size, reach


@jit
def products(K, parts, w, lengths, scores, sums):
    """Write K w, each machine in its own rows and columns, and the sums of `_dots`."""
    for k in range(len(parts.first) - 1):
        _product(K, parts, k, w, scores)
        sums[0, k], sums[1, k], sums[2, k] = _dots(parts, k, w, scores, lengths)


@jit
def above(atoms, parts, at, known, sums):
    """Write the best offsets, and on what J rests there: the sums of `sums_around`.

    Scores are off by the length of the sample times `unit` of the machine.
    """
    scores, b = at
    lengths, unit, rounding = known
    first, most = parts.first, 0
    for k in range(len(first) - 1):
        most = max(most, first[k + 1] - first[k])
    low, slack, room = np.zeros(len(scores)), np.empty(len(scores)), np.empty((2, 2 * most))
    for k in range(len(first) - 1):
        start, stop = first[k], first[k + 1]
        for i in range(start, stop):
            slack[i] = lengths[i] * unit[k]
        least, largest = best_offset(atoms, scores, start, stop, room)
        least = least if math.isfinite(least) else largest
        largest = largest if math.isfinite(largest) else least
        b[k] = 0.5 * (least + largest) if math.isfinite(least) else 0.0
        found = sums_around(atoms, (scores, low, b[k], slack, rounding), start, stop)
        sums[0, k], sums[1, k], sums[2, k] = found


@jit
def below(atoms, parts, u, w, alpha, lengths, sums):
    """Write on what the lower bounds of dual points rest: the sums of `conjugate_sums` and `sum_exactly`,
    that of |u_i| times the length of the sample, and the same of how far u / -alpha is from w."""
    first = parts.first
    for k in range(len(first) - 1):
        start, stop = first[k], first[k + 1]
        sums[0, k], sums[1, k] = conjugate_sums(atoms, u, start, stop)
        sums[2, k], sums[3, k], sums[4, k] = sum_exactly(u, start, stop, atoms.total)
        reach = moved = 0.0
        for i in range(start, stop):
            reach += abs(u[i]) * lengths[i]
            moved += abs(u[i] / -alpha[k] - w[i]) * lengths[i]
        sums[5, k], sums[6, k] = reach, moved
