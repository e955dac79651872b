"""Loops over samples that are stored as flat rows, dense or sparse.

A data matrix is three arrays. Sparse (CSR): row i has ``data[k]`` in column ``indices[k]`` for
``indptr[i] <= k < indptr[i + 1]``. Dense: ``indices`` is empty and the column is ``k - indptr[i]``.
Both have the same types, so one compiled function serves both; it branches once per row.
Data may be float32; every sum and all state is float64.

A loss arrives as a table with eight numbers per sample, the 64 bytes that memory delivers at once:

    0 target   1 kink   2 quad   3 lower   4 upper   5 curvature   6 along   7 v

Its columns 0 to 4 describe the sample's loss at score f, whose maximiser v is minus its derivative:

    phi(f) = max over lower <= v <= upper of  (target - f) v - kink |v| - quad v^2 / 2.
"""

from typing import Any

import numpy as np

from gapfit.kernels._jit import jit

TINY = 1e-300  # stands for a curvature of zero: the step then runs into its bound without a branch


def as_rows(data: Any, indices: Any, indptr: Any) -> tuple[Any, Any, Any]:
    """Row storage as the kernels want it: columns as uint32, and everything read-only.

    Unsigned columns spare a test for negative ones at every access. Numba compiles read-only and
    writable arrays apart; declaring all of them read-only leaves one variant to compile
    (memory-mapped data are read-only anyway), which cannot write to the user's data.
    """
    columns = indices.astype(np.int32, copy=False).view(np.uint32)
    views = data.view(), columns.view(), indptr.astype(np.int64, copy=False).view()
    for view in views:
        view.flags.writeable = False
    return views


@jit(fast=True, reorder=True)
def _dot(x, w):
    total = 0.0
    for j in range(x.size):
        total += x[j] * w[j]
    return total


@jit(fast=True, inline=True)
def row_dot(data, indices, start, stop, w):
    """<x, w> for the row in ``start:stop``."""
    if indices.size == 0:
        return _dot(data[start:stop], w)
    s0 = s1 = s2 = s3 = 0.0  # what is gathered does not vectorise; four sums keep the adders busy
    for k in range(np.uint64(start), np.uint64(stop)):
        s0, s1, s2, s3 = s1, s2, s3, s0 + data[k] * w[indices[k]]
    return (s0 + s1) + (s2 + s3)


@jit(fast=True, inline=True)
def row_add(data, indices, start, stop, step, w):
    """w += step * x for the row in ``start:stop``."""
    if indices.size == 0:
        x = data[start:stop]
        for j in range(x.size):
            w[j] += step * x[j]
    else:
        for k in range(np.uint64(start), np.uint64(stop)):
            w[indices[k]] += step * data[k]


@jit(fast=True, reorder=True, inline=True)
def _square(data, start, stop):
    total = 0.0
    for k in range(np.uint64(start), np.uint64(stop)):  # unsigned: no test for negative ones
        x = np.float64(data[k])
        total += x * x
    return total


@jit(fast=True)
def squared_norms(data, indptr):
    """|x_i|^2 of every row."""
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
def put_distances(data, indices, indptr, first, last, centre, eps, out):
    """out_i = |x_i - centre| for the sparse rows ``first:last``, not below its true value by rounding."""
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


@jit(fast=True)
def _maximiser(drive, kink, curvature, lower, upper):
    """The maximiser over lower <= v <= upper of  drive v - kink |v| - curvature v^2 / 2."""
    if drive > kink:
        v = (drive - kink) / curvature
    elif drive < -kink:
        v = (drive + kink) / curvature
    else:
        v = 0.0
    return min(max(v, lower), upper)


@jit(fast=True)
def pegasos_epoch(data, indices, indptr, table, picks, z, lag, t, inv_alpha, b, gain, total):
    """Single-sample subgradient steps on the rows ``picks``; ``t`` steps were made before.

    At w, b sample i has the subgradient -(v_i / p_i) x_i in w and total - v_i / p_i in b; the share
    p_i is in column 6 of the table. z is the sum of all (v_i / p_i) x_i so far; step t makes

        w = z / (alpha t),    b = b - (gain / t) (total - v_i / p_i).

    The sum of t w over these steps is (picks.size z + lag) / alpha when ``lag`` takes from every z
    what was added later: a second addition of the row, where summing w would touch all columns.
    Updates z, and lag, which is zero at the start.
    """
    for k in range(picks.size):
        i = picks[k]
        start, stop = indptr[i], indptr[i + 1]
        target, kink, quad, lower, upper, _, p, _ = table[i]
        f = row_dot(data, indices, start, stop, z) * inv_alpha / max(t + k, 1.0) + b
        v = _maximiser(target - f, kink, max(quad, TINY), lower, upper)
        b -= gain * (total - v / p) / (t + k + 1.0)
        if v != 0.0:
            row_add(data, indices, start, stop, v / p, z)
            row_add(data, indices, start, stop, -k * v / p, lag)
