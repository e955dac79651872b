"""Loops over samples that are stored as flat rows, dense or sparse.

Data may be float32; every sum and all state is float64.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit

TINY = 1e-300  # stands for a curvature of zero: the step then runs into its bound without a branch
SHORT = 512  # entries of an array that holds the same number for all samples: as in `gapfit.rowwise`


NO_COLUMNS = np.empty(0, np.uint32)
NO_COLUMNS.flags.writeable = False


class Rows(NamedTuple):
    """A data matrix. Dense and sparse ones have the same types, so one compiled function serves both; it
    branches once per row."""

    data: Any  # row i has data[k] in column indices[k] for indptr[i] <= k < indptr[i + 1]
    indices: Any  # dense: empty, the column is k - indptr[i]
    indptr: Any


# A sample's loss at score f, whose maximiser v is minus its derivative, and what a solver keeps beside it:
#
#     phi(f) = max over lower <= v <= upper of  (target - f) v - kink |v| - quad v^2 / 2.
#
# Eight numbers are the 64 bytes that memory delivers at once.
LOSS = ("target", "kink", "quad", "lower", "upper")
SAMPLE = np.dtype([(name, np.float64) for name in (*LOSS, "curvature", "along", "v")], align=True)


def as_rows(data: Any, indices: Any, indptr: Any) -> Rows:
    """Row storage as the kernels want it: columns as uint32, and everything read-only.

    Unsigned columns spare a test for negative ones at every access. Numba compiles read-only and
    writable arrays apart; declaring all of them read-only leaves one variant to compile
    (memory-mapped data are read-only anyway), which cannot write to the user's data.
    """
    data, columns = data.view(), indices.astype(np.int32, copy=False).view(np.uint32)
    starts = indptr.astype(np.int64, copy=False).view()
    data.flags.writeable = columns.flags.writeable = starts.flags.writeable = False
    return Rows(data, columns, starts)


def dense_rows(X: Any) -> Rows:
    """The same of a dense matrix, in fewer steps: they would take as long as some fits."""
    n, d = X.shape
    data, starts = np.ascontiguousarray(X).reshape(-1), np.arange(n + 1) * d
    data.flags.writeable = starts.flags.writeable = False
    return Rows(data, NO_COLUMNS, starts)


@jit(inline=True)
def some(x, first, count, n):
    """Entries of an array that has one for each of n samples, or the same SHORT times: no more at once."""
    return x[first : first + count] if x.size == n else x[:count]


@jit
def longest(starts, first, last):
    """The length of the longest of the runs that begin there, from first to last; at least 1."""
    size = 1
    for i in range(first, last):
        size = max(size, starts[i + 1] - starts[i])
    return size


@jit(fast=True, reorder=True, inner=True)
def dense_dot(x, w):
    """<x, w>, in several lanes."""
    total = 0.0
    for j in range(x.size):
        total += x[j] * w[j]
    return total


@jit(fast=True, inline=True)
def row_dot(rows, i, w):
    """<x_i, w>.

    Counters are unsigned, which spares a test for negative ones. Four sums that take turns keep the adders
    busy; in a loop with one end, for the processor guesses wrong once at each.
    """
    data, indices, indptr = rows
    if indices.size == 0:
        return dense_dot(data[indptr[i] : indptr[i + 1]], w)
    s0 = s1 = s2 = s3 = 0.0
    for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        s0, s1, s2, s3 = s1, s2, s3, s0 + data[k] * w[indices[k]]
    return (s0 + s1) + (s2 + s3)


@jit(fast=True, inline=True)
def row_add(rows, i, step, w):
    """w += step * x_i."""
    data, indices, indptr = rows
    if indices.size == 0:
        x = data[indptr[i] : indptr[i + 1]]
        for j in range(x.size):
            w[j] += step * x[j]
    else:
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            w[indices[k]] += step * data[k]


@jit(fast=True, reorder=True, inline=True)
def _square(data, start, stop):
    total = 0.0
    for k in range(np.uint64(start), np.uint64(stop)):  # unsigned: no test for negative ones
        x = np.float64(data[k])
        total += x * x
    return total


@jit(fast=True)
def squared_norms(rows):
    """|x_i|^2 of every row."""
    data, _, indptr = rows
    norms = np.empty(indptr.size - 1)
    for i in range(norms.size):
        norms[i] = _square(data, indptr[i], indptr[i + 1])
    return norms


@jit(fast=True, inline=True)
def _square_and_product(data, indices, start, stop, w):
    """<x, x> and <x, w> for the sparse row in ``start:stop``."""
    p = q = r = s = 0.0
    for k in range(np.uint64(start), np.uint64(stop)):
        x = np.float64(data[k])
        p, q = q, p + x * x
        r, s = s, r + x * w[indices[k]]
    return p + q, r + s


@jit
def put_distances(rows, first, last, centre, eps, out):
    """out_i = |x_i - centre| for the sparse rows ``first:last``, not below its true value by rounding."""
    data, indices, indptr = rows
    constant = 0.0
    for j in range(centre.size):
        constant += centre[j] * centre[j]
    for i in range(first, last):
        if constant > 0.0:
            square, product = _square_and_product(data, indices, indptr[i], indptr[i + 1], centre)
        else:
            square, product = _square(data, indptr[i], indptr[i + 1]), 0.0
        noise = eps * (16 + indptr[i + 1] - indptr[i]) * (square + abs(product) + constant)
        noise += eps * centre.size * constant
        out[i] = np.sqrt(max(square - 2.0 * product + constant, 0.0) + noise)
