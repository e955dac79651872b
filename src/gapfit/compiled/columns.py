"""Loops over features that are stored as flat columns, dense or sparse.

Data may be float32; every sum and all state is float64.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.column import column_dot, column_moments
from gapfit.compiled.dual_coordinate import piecewise_minimiser

BLOCK = 2048  # rows of a sum that stay at hand while columns are added to it


class Columns(NamedTuple):
    """Features. Dense and sparse ones have the same types, so one compiled function serves both; it branches
    once per column."""

    data: Any  # column j has data[k] in row rows[k] for starts[j] <= k < starts[j + 1]
    rows: Any  # dense: empty, the row is k - starts[j]
    starts: Any


class Model(NamedTuple):
    """The quadratic model  <u, f> + f'Df / 2,  f = sum_j (w_j - its start) x_j + shift,  of the risk

    with the shift that minimises it (per_total = 1 / sum(D)), or none (per_total = 0)."""

    h: Any  # <x_j, (D - DD' per_total) x_j>
    m: Any  # <x_j, D>
    r: Any  # u + D (f - shift)
    D: Any
    per_total: float


@jit
def reach(matrix, u, d):
    """For each of the d columns of a CSR matrix, the sum of |x_i u_i|."""
    data, indices, indptr = matrix
    most = np.zeros(d)
    for i in range(indptr.size - 1):
        size = abs(u[i])
        for k in range(indptr[i], indptr[i + 1]):
            most[indices[k]] += size * abs(data[k])
    return most


@jit
def count_columns(indices, place, slots):
    """How many entries of a CSR matrix go to each slot, those of column j going to ``place[j]``."""
    counts = np.zeros(slots, np.int64)
    for k in range(indices.size):
        slot = place[indices[k]]
        if slot >= 0:
            counts[slot] += 1
    return counts


@jit
def take_columns(matrix, place, fill, taken, rows):
    """Copy columns out of a CSR matrix: column j goes to slot ``place[j]``, unless that is negative.

    ``fill`` says where each slot begins in ``taken`` and ``rows``, and is moved to where it ends.
    """
    data, indices, indptr = matrix
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            slot = place[indices[k]]
            if slot >= 0:
                to = fill[slot]
                taken[to] = data[k]
                rows[to] = i
                fill[slot] = to + 1


@jit(fast=True)
def dots(columns, chosen, u):
    """<x_j, u> for each chosen column."""
    data, rows, starts = columns
    result = np.empty(chosen.size)
    for c in range(chosen.size):
        j = chosen[c]
        result[c] = column_dot(data, rows, starts[j], starts[j + 1], u)
    return result


@jit(fast=True)
def combine(columns, chosen, v, n):
    """The sum of v_j x_j over the chosen sparse columns, of n rows each."""
    data, rows, starts = columns
    f = np.zeros(n)
    for c in range(chosen.size):
        if v[c] != 0.0:
            for k in range(starts[chosen[c]], starts[chosen[c] + 1]):
                f[rows[k]] += v[c] * data[k]
    return f


@jit(fast=True)
def combine_dense(columns, chosen, v, first, last):
    """The rows ``first:last`` of the sum of v_j x_j over the chosen dense columns."""
    data, _, starts = columns
    f = np.zeros(last - first)
    for begin in range(first, last, BLOCK):
        some = f[begin - first : begin - first + BLOCK]
        for c in range(chosen.size):
            if v[c] != 0.0:
                start = starts[chosen[c]] + begin
                x = data[start : start + some.size]
                for i in range(some.size):
                    some[i] += v[c] * x[i]
    return f


@jit
def transpose(columns, chosen, n):
    """The chosen sparse columns as rows: values, which of the chosen they belong to, and starts of rows."""
    data, rows, starts = columns
    row_starts = np.zeros(n + 1, np.int64)
    for j in chosen:
        for k in range(starts[j], starts[j + 1]):
            row_starts[rows[k] + 1] += 1
    row_starts = np.cumsum(row_starts)
    fill = row_starts[:-1].copy()
    taken, slots = np.empty(row_starts[-1], np.float32), np.empty(row_starts[-1], np.uint32)
    for c in range(chosen.size):
        for k in range(starts[chosen[c]], starts[chosen[c] + 1]):
            to = fill[rows[k]]
            taken[to] = data[k]
            slots[to] = c
            fill[rows[k]] = to + 1
    return taken, slots, row_starts


@jit
def filter_rows(matrix, place, taken, slots):
    """The same out of a CSR matrix, of which column j is number ``place[j]`` of the chosen, unless that is
    negative. Columns must keep their order. Returns the starts; the others have room for one more entry.
    """
    data, indices, indptr = matrix
    starts = np.zeros(indptr.size, np.int64)
    to = 0
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            slot = place[indices[k]]
            taken[to], slots[to] = data[k], slot
            to += slot >= 0  # or else the next one takes its place: quicker than to branch
        starts[i + 1] = to
    return starts


@jit(fast=True)
def curved(rows, D, v, first, last):
    """X'DXv over the rows ``first:last``: the few numbers that are gathered and scattered stay at hand."""
    data, slots, starts = rows
    result = np.zeros(v.size)
    for i in range(first, last):
        start, stop = starts[i], starts[i + 1]
        f = D[i] * column_dot(data, slots, start, stop, v)
        for k in range(start, stop):
            result[slots[k]] += f * data[k]
    return result


@jit(fast=True)
def gram(rows, D, size, first, last):
    """X'DX up to the diagonal, over the rows ``first:last``, for ``size`` columns; slots are in order."""
    data, slots, starts = rows
    result = np.zeros((size, size))
    for i in range(first, last):
        for p in range(starts[i], starts[i + 1]):
            row, weighted = result[slots[p]], D[i] * data[p]
            for q in range(starts[i], p + 1):
                row[slots[q]] += weighted * data[q]
    return result


@jit(fast=True)
def moments(columns, chosen, D):
    """<x_j, D> and <x_j, D x_j> for each chosen column."""
    data, rows, starts = columns
    first, second = np.empty(chosen.size), np.empty(chosen.size)
    for c in range(chosen.size):
        j = chosen[c]
        first[c], second[c] = column_moments(data, rows, starts[j], starts[j + 1], D)
    return first, second


@jit(fast=True)
def _minimiser(w, g, h, l1, l2, lower, upper):
    """The minimiser over lower <= v <= upper of  g v + h (v - w)^2 / 2 + l1 |v| + l2 v^2 / 2."""
    return piecewise_minimiser(h * w - g, l1, h + l2, lower, upper)


@jit
def urges(a, w, terms):
    """How strongly each coordinate wants to move: minus the slope of J downhill, if there is a downhill.

    Where there is none the number is negative: by how much the risk's derivative a could change until
    there is. J in one coordinate is a v + l1 |v| + l2 v^2 / 2 over lower <= v <= upper, up to second order.
    """
    l1, l2, lower, upper = terms
    result = np.empty(a.size)
    for j in range(a.size):
        slope = a[j] + l2 * w[j]
        right = slope + (l1 if w[j] >= 0.0 else -l1)
        left = slope + (l1 if w[j] > 0.0 else -l1)
        up = -right if w[j] < upper[j] else -np.inf
        down = left if w[j] > lower[j] else -np.inf
        result[j] = max(up, down)
    return result


@jit(fast=True)
def sweep(columns, chosen, model, terms, w, shift):
    """See `sweep_columns`."""
    return sweep_columns(columns, chosen, model, terms, w, shift)


@jit(fast=True, inner=True)
def sweep_columns(columns, chosen, model, terms, w, shift):
    """One pass of coordinate descent over the chosen columns, on the model + l1 |w|_1 + l2 |w|^2 / 2.

    Updates w and r. Returns the largest change of a derivative by its own coordinate's step, and the shift.
    """
    data, rows, starts = columns
    h, m, r, D, per_total = model
    l1, l2, lower, upper = terms
    worst = 0.0
    for c in range(chosen.size):
        start, stop = starts[chosen[c]], starts[chosen[c] + 1]
        g = column_dot(data, rows, start, stop, r) + shift * m[c]
        new = _minimiser(w[c], g, h[c], l1, l2, lower[c], upper[c])
        step = new - w[c]
        if step != 0.0:
            w[c] = new
            shift -= step * m[c] * per_total
            worst = max(worst, abs(step) * (h[c] + l2))
            if rows.size == 0:
                x = data[start:stop]
                for i in range(x.size):
                    r[i] += step * D[i] * x[i]
            else:
                for k in range(start, stop):
                    i = rows[k]
                    r[i] += step * D[i] * data[k]
    return worst, shift


@jit(fast=True)
def sweep_matrix(H, w, a, terms):
    """The same for the model  <a, v> + v'Hv / 2 + l1 |w + v|_1 + l2 |w + v|^2 / 2. Updates w and a."""
    l1, l2, lower, upper = terms
    worst = 0.0
    for c in range(w.size):
        new = _minimiser(w[c], a[c], H[c, c], l1, l2, lower[c], upper[c])
        step = new - w[c]
        if step != 0.0:
            w[c] = new
            worst = max(worst, abs(step) * (H[c, c] + l2))
            row = H[c]
            for i in range(a.size):
                a[i] += step * row[i]
    return worst
