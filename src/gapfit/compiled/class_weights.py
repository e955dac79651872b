"""Rows times weights for every class, and rows added to them.

W has a row for each feature and a column for each class. A row of data is first copied, without its zeros.
"""

import numpy as np

from gapfit.compiled._jit import jit

LANES = 4  # W has a multiple of that many columns, so that they can be added up side by side


@jit(fast=True)
def entries(rows, i, values, columns):
    """Copy the entries of row i that are not zero; returns how many."""
    data, indices, indptr = rows
    start, stop = indptr[i], indptr[i + 1]
    count = 0
    if indices.size:
        for n in range(start, stop):
            values[count], columns[count] = data[n], indices[n]
            count += 1
    else:
        x = data[start:stop]
        for j in range(x.size):
            values[count], columns[count] = x[j], j
            count += x[j] != 0.0
    return count


@jit(fast=True)
def scores(values, columns, W, f):
    """f += W'x."""
    for k in range(0, W.shape[1], LANES):
        s0 = s1 = s2 = s3 = 0.0
        for n in range(values.size):
            x, row = values[n], W[columns[n]]
            s0 += x * row[k]
            s1 += x * row[k + 1]
            s2 += x * row[k + 2]
            s3 += x * row[k + 3]
        f[k] += s0
        f[k + 1] += s1
        f[k + 2] += s2
        f[k + 3] += s3


@jit(fast=True)
def add(values, columns, step, W):
    """W += x step'."""
    for k in range(0, W.shape[1], LANES):
        s0, s1, s2, s3 = step[k], step[k + 1], step[k + 2], step[k + 3]
        if s0 == 0.0 and s1 == 0.0 and s2 == 0.0 and s3 == 0.0:
            continue
        for n in range(values.size):
            x, row = values[n], W[columns[n]]
            row[k] += x * s0
            row[k + 1] += x * s1
            row[k + 2] += x * s2
            row[k + 3] += x * s3


@jit(fast=True, inner=True)
def some_scores(values, columns, W, some, f):
    """f += W'x, of some classes only."""
    for k in range(some.size):
        s0 = s1 = 0.0  # two sums keep the adders busy
        at = some[k]
        for n in range(0, values.size - 1, 2):
            s0 += values[n] * W[columns[n], at]
            s1 += values[n + 1] * W[columns[n + 1], at]
        if values.size % 2:
            s0 += values[-1] * W[columns[-1], at]
        f[k] += s0 + s1


@jit(fast=True, inner=True)
def add_some(values, columns, steps, some, W):
    """W += x step', of some classes only."""
    for k in range(some.size):
        step, at = steps[k], some[k]
        if step != 0.0:
            for n in range(values.size):
                W[columns[n], at] += values[n] * step


@jit(fast=True)
def add_rows(rows, samples, steps, W):
    """W += x_i step' for the samples and the rows of ``steps``."""
    indptr, longest = rows.indptr, 0
    for n in range(samples.size):
        longest = max(longest, indptr[samples[n] + 1] - indptr[samples[n]])
    values, columns = np.empty(longest + 1, rows.data.dtype), np.empty(longest + 1, np.uint32)
    step = np.zeros(W.shape[1])
    for n in range(samples.size):
        count = entries(rows, samples[n], values, columns)
        step[: steps.shape[1]] = steps[n]
        add(values[:count], columns[:count], step, W)
