"""Sweeps of dual coordinate descent over samples that are stored as flat rows, and looks at them.

With z = sum_i v_i x_i and s = total - sum_i v_i, what is minimised is

    F(v) = sum_i (psi_i(v_i) - target_i v_i) + |z + s mean|^2 / (2 alpha) - b s + rho s^2 / 2.

In the table (`rows.SAMPLE`) along is <mean, x_i> and curvature |x_i - mean|^2 / alpha. Without an intercept
mean, b and rho are zero.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit, prefetch
from gapfit.compiled.dual_coordinate import entropic_gap, entropic_minimiser, piecewise_minimiser, pull_at
from gapfit.compiled.rows import TINY, Rows, row_add, row_dot

AHEAD = 4  # rows are asked for from memory so many steps before their turn
BLOCK = 8  # neighbours in memory that are visited together: as good as any order, and twice as fast
COUNTER_STEP = np.uint64(0x9E3779B97F4A7C15)
SCRAMBLE = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class Dual(NamedTuple):
    """F."""

    rows: Rows
    table: Any  # of `rows.SAMPLE`; holds v
    entropic: bool  # else piecewise
    inv_alpha: float
    mean_sq: float  # |mean|^2
    rho: float


class Place(NamedTuple):
    """What follows from v, and b."""

    z: Any
    b: float
    s: float
    c: float  # <z, mean>


@jit(fast=True)
def _visits(size, state):
    """0 .. size - 1 in blocks of neighbours: the blocks in random order, each begun anywhere in it.

    Random numbers are a scrambled counter, ``state``; its next value is returned as well.
    """
    blocks = np.empty((size + BLOCK - 1) // BLOCK, np.int64)
    draws = np.empty(blocks.size, np.uint64)
    for k in range(draws.size):
        blocks[k] = k
        state += COUNTER_STEP
        x = (state ^ (state >> np.uint64(30))) * SCRAMBLE[0]
        x = (x ^ (x >> np.uint64(27))) * SCRAMBLE[1]
        draws[k] = x >> np.uint64(32)
    for k in range(blocks.size - 1, 0, -1):  # draws / 2^32 is uniform in [0, 1)
        j = np.int64((draws[k] * np.uint64(k + 1)) >> np.uint64(32))
        blocks[k], blocks[j] = blocks[j], blocks[k]
    visits = np.empty(size, np.int64)
    filled = 0
    for k in range(blocks.size):
        start = blocks[k] * BLOCK
        length = BLOCK if start + BLOCK <= size else size - start
        turn = np.int64(draws[k] & np.uint64(0xFFFF)) % length  # low bits: the shuffle used the high ones
        for q in range(length - turn):
            visits[filled + q] = start + turn + q
        for q in range(length - turn, length):
            visits[filled + q] = start + turn + q - length
        filled += length
    return visits, state


@jit(fast=True, inner=True)
def sweep(dual, place, order, state, threshold):
    """One sweep of exact minimisations of F in single coordinates over the rows ``order`` (which ascend).

    ``state`` is that of the random numbers. Updates z and v.

    A piecewise row that rests at a bound or at its kink, and would do so if its derivative changed by less
    than ``threshold``, is dropped. Returns the rows that were kept, the state, the average derivative that
    pulled at them, the gap that was seen (each row's part just before its turn), s and c.
    """
    if dual.rows.indices.size == 0:  # known from here on: rows that had to ask would be slower by a fifth
        return _sweep(dual, place, order, state, threshold)
    return _sweep(dual, place, order, state, threshold)


@jit(fast=True, inline=True)
def _sweep(dual, place, order, state, threshold):
    rows, table, entropic, inv_alpha, mean_sq, rho = dual
    data, indices, indptr = rows
    z, b, s, c = place
    size = order.size
    visits, state = _visits(size, state)
    stays = np.empty(size, np.bool_)
    for k in range(size):  # `np.ones` takes longer to compile
        stays[k] = True
    kept = 0
    pulls = gap = 0.0
    for k in range(size):
        if k + AHEAD < size:  # in place: a prefetch in a function of its own is optimised away
            i = order[visits[k + AHEAD]]
            prefetch(table, i)
            prefetch(data, indptr[i])
            if indices.size:
                prefetch(indices, indptr[i])
        i = order[visits[k]]
        sample = table[i]
        v, quad, kink, along = sample["v"], sample["quad"], sample["kink"], sample["along"]
        lower, upper = sample["lower"], sample["upper"]
        f = row_dot(rows, i, z) - c + s * (along - mean_sq)
        g = f * inv_alpha + b - rho * s - sample["target"] + quad * v
        h = max(quad + sample["curvature"] + rho, TINY)
        if entropic:
            odds, scale = kink, upper - lower
            g += odds
            gap += entropic_gap(odds, g, scale)
            odds, share = entropic_minimiser(odds, g, h, scale)
            sample["kink"] = odds
            new = lower + scale * share
        else:
            rests, pull, part = pull_at(v, g, kink, quad, lower, upper, threshold)
            if rests:
                stays[visits[k]] = False
                continue
            gap += part
            pulls += pull
            new = piecewise_minimiser(h * v - g, kink, h, lower, upper)
        kept += 1
        step = new - v
        if step != 0.0:
            sample["v"] = new
            row_add(rows, i, step, z)
            s -= step
            c += step * along
    usual = pulls / kept if kept > 0 else 0.0
    remaining = np.empty(kept, np.int64)
    kept = 0
    for k in range(size):
        if stays[k]:
            remaining[kept] = order[k]
            kept += 1
    return remaining, state, usual, gap, s, c


@jit(fast=True)
def survey(dual, place, threshold, members, first, last, firmness):
    """Look at the piecewise rows ``members[first:last]`` as a sweep does, and move none.

    Writes by how much the derivative of each would have to change to move it, or -1 if it does not rest;
    returns the sum of the derivatives that pull at those, their number and the gap. Passing by rows in their
    order takes a fraction of the time that visiting them in another does.
    """
    if dual.rows.indices.size == 0:  # as in a sweep
        return _survey(dual, place, threshold, members, first, last, firmness)
    return _survey(dual, place, threshold, members, first, last, firmness)


@jit(fast=True, inline=True)
def _survey(dual, place, threshold, members, first, last, firmness):
    rows, table, _, inv_alpha, mean_sq, rho = dual
    z, b, s, c = place
    pulls = gap = active = 0.0
    for k in range(first, last):
        i = members[k]
        sample = table[i]
        v, quad = sample["v"], sample["quad"]
        f = row_dot(rows, i, z) - c + s * (sample["along"] - mean_sq)
        g = f * inv_alpha + b - rho * s - sample["target"] + quad * v
        rests, pull, part = pull_at(v, g, sample["kink"], quad, sample["lower"], sample["upper"], threshold)
        firmness[k] = pull if rests else -1.0
        pulls += 0.0 if rests else pull
        active += not rests
        gap += part
    return pulls, active, gap


@jit(fast=True)
def sort_out(table, members, firmness, nearly, far):
    """Of the members, those that do not rest; those less firm than ``nearly``; and those whose firmness is at
    most ``far`` times the square root of their curvature."""
    size = members.size
    active, near, doubtful = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    a = n = d = 0
    for k in range(size):
        i, firm = members[k], firmness[k]
        active[a] = near[n] = doubtful[d] = i
        a += firm < 0.0
        n += firm <= nearly
        d += firm <= 0.0 or firm * firm <= far * far * table[i]["curvature"]
    return active[:a], near[:n], doubtful[:d]


@jit(fast=True)
def responses(dual, place, first, last, best):
    """What v would be if every sample could follow the scores at once: the maximisers of -f v - psi(v).

    For the rows from ``first`` to ``last``, written to ``best``.
    """
    rows, table, entropic, inv_alpha, mean_sq, rho = dual
    z, b, s, c = place
    for i in range(first, last):
        sample = table[i]
        kink, quad, lower, upper = sample["kink"], sample["quad"], sample["lower"], sample["upper"]
        f = row_dot(rows, i, z) - c + s * (sample["along"] - mean_sq)
        g = f * inv_alpha + b - rho * s - sample["target"]
        if entropic:
            _, share = entropic_minimiser(kink, g + kink + quad * sample["v"], quad, upper - lower)
            best[i] = lower + (upper - lower) * share
        else:
            best[i] = piecewise_minimiser(-g, kink, max(quad, TINY), lower, upper)
