"""Many small machines in one kernel matrix: steps on pairs for each, and the sums that proofs rest on.

The k-th machine is about the samples rows[first[k]:first[k + 1]]. What belongs to samples stands in flat
arrays, one machine after the other; what belongs to machines in arrays with an entry for each.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.atoms import conjugate_sums, sums_around
from gapfit.compiled.precise import sum_exactly
from gapfit.compiled.projection import onto_balanced_box
from gapfit.compiled.quantile import best_offset
from gapfit.compiled.smo import Limits, Way, second_order

PER_SAMPLE = 40  # steps, beyond which exact ones are better


class Parts(NamedTuple):
    """Which samples each machine is about. Most come in runs of rows one after the other: the r-th run is
    the places run[r] to run[r + 1], and the k-th machine has the runs runs[k] to runs[k + 1]."""

    rows: Any
    first: Any
    run: Any
    runs: Any


@jit
def ascend(K, parts, G, v, limits, steps, target, taken, violation, way):
    """Steps on pairs in each machine whose violation is above its target; see `smo.second_order`."""
    first, most = parts.first, 0
    for k in range(len(first) - 1):
        if first[k + 1] - first[k] < len(K):
            most = max(most, first[k + 1] - first[k])
    room, known = np.empty(most * most), np.empty(2)
    for k in range(len(first) - 1):
        if not violation[k] > target[k]:
            continue
        start, stop = first[k], first[k + 1]
        n, largest, block = stop - start, 0.0, K  # itself, if the machine is about all samples
        if n < len(K):
            block = room[: n * n].reshape(n, n)
            _copy_block(K, parts, k, block)
        for i in range(n):
            largest = max(largest, abs(block[i, i]))
        known[0] = known[1] = np.nan
        bounds = Limits(limits.lower[start:stop], limits.upper[start:stop], limits.kink[start:stop], False)
        looks, met = way.looks[k : k + 1], way.met[k : k + 1]
        own = Way(way.goal[start:stop], way.values[k], way.gaps[k], looks, met, way.aim)
        more, left = second_order(
            block, G[start:stop], v[start:stop], bounds, max(steps, PER_SAMPLE * n), target[k],
            1e-12 * largest if largest > 0.0 else 1e-12, known, own,
        )  # fmt: skip
        taken[k] += more
        violation[k] = left


@jit
def _copy_block(K, parts, k, block):
    """The rows and columns of K that the k-th machine is about."""
    rows, run, start = parts.rows, parts.run, parts.first[k]
    for i in range(len(block)):
        row, out = K[rows[start + i]], block[i]
        for r in range(parts.runs[k], parts.runs[k + 1]):
            base = rows[run[r]] - run[r]
            for j in range(run[r], run[r + 1]):
                out[j - start] = row[base + j]


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
def products(K, parts, w, scores):
    """Write K w, each machine in its own rows and columns."""
    rows, first, run = parts.rows, parts.first, parts.run
    for k in range(len(first) - 1):
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
def offsets(atoms, parts, scores, room, least, most):
    """Write the smallest and largest best offsets."""
    first = parts.first
    for k in range(len(first) - 1):
        least[k], most[k] = best_offset(atoms, scores, first[k], first[k + 1], room)


@jit
def values(atoms, parts, around, b, sums):
    """Write the sums of `sums_around`, each machine at its own offset."""
    first = parts.first
    scores, low, slack, unit = around
    for k in range(len(first) - 1):
        found = sums_around(atoms, (scores, low, b[k], slack, unit), first[k], first[k + 1])
        sums[0, k], sums[1, k], sums[2, k] = found


@jit
def conjugates(atoms, parts, u, sums):
    """Write the sums of `conjugate_sums`, and of `sum_exactly`."""
    first = parts.first
    for k in range(len(first) - 1):
        start, stop = first[k], first[k + 1]
        sums[0, k], sums[1, k] = conjugate_sums(atoms, u, start, stop)
        sums[2, k], sums[3, k], sums[4, k] = sum_exactly(u, start, stop, atoms.total)


@jit
def dots(parts, x, y, sums):
    """Write <x, y> of each machine, and the same of absolute values."""
    first = parts.first
    for k in range(len(first) - 1):
        dot = size = 0.0
        for i in range(first[k], first[k + 1]):
            dot += x[i] * y[i]
            size += abs(x[i] * y[i])
        sums[0, k], sums[1, k] = dot, size
