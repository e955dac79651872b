"""Loops over samples that are stored as flat rows, dense or sparse.

A data matrix is three arrays. Sparse (CSR): row i has ``data[k]`` in column ``indices[k]`` for
``indptr[i] <= k < indptr[i + 1]``. Dense: ``indices`` is empty and the column is ``k - indptr[i]``.
Both have the same types, so one compiled function serves both; it branches once per row.
Data may be float32; every sum and all state is float64.

A loss arrives as a table with one line of eight numbers per sample, the 64 bytes that memory delivers at once:

    0 target   1 kink   2 quad   3 lower   4 upper   5 curvature   6 along   7 v

Its columns 0 to 4 describe the sample's loss at score f, whose maximiser v is minus its derivative:

    phi(f) = max over lower <= v <= upper of  (target - f) v - kink |v| - quad v^2 / 2.
"""

import numpy as np
from llvmlite import ir
from numba import config
from numba.core import cgutils, types
from numba.extending import intrinsic

from gapfit.kernels._jit import jit

TINY = 1e-300  # stands for a curvature of zero: the step then runs into its bound without a branch
AHEAD = 4  # rows are visited at random; each is asked for from memory so many steps before its turn


def as_rows(data, indices, indptr):
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


def _prefetch(array, *index):
    """Ask for the cache line of ``array[index]`` without waiting for it."""


if not config.DISABLE_JIT:

    @intrinsic
    def _prefetch(typing, array, index):  # noqa: F811
        def emit(context, builder, signature, arguments):
            struct = context.make_array(signature.args[0])(context, builder, arguments[0])
            line = builder.mul(arguments[1], cgutils.unpack_tuple(builder, struct.strides)[0])
            pointer = cgutils.pointer_add(builder, struct.data, line, cgutils.voidptr_t)
            flag = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, flag, flag, flag])
            function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            builder.call(function, [pointer, flag(0), flag(3), flag(1)])  # for reading, keep it, data
            return context.get_dummy_value()

        return types.void(array, types.intp), emit


@jit(fast=True, reorder=True)
def _dot(x, w):
    total = 0.0
    for j in range(x.size):
        total += x[j] * w[j]
    return total


@jit(fast=True)
def row_dot(data, indices, start, stop, w):
    """<x, w> for the row in ``start:stop``."""
    if indices.size == 0:
        return _dot(data[start:stop], w)
    s0 = s1 = s2 = s3 = 0.0  # what is gathered does not vectorise; four sums keep the adders busy
    k = start
    while k + 3 < stop:
        s0 += data[k] * w[indices[k]]
        s1 += data[k + 1] * w[indices[k + 1]]
        s2 += data[k + 2] * w[indices[k + 2]]
        s3 += data[k + 3] * w[indices[k + 3]]
        k += 4
    while k < stop:
        s0 += data[k] * w[indices[k]]
        k += 1
    return (s0 + s1) + (s2 + s3)


@jit(fast=True)
def row_add(data, indices, start, stop, step, w):
    """w += step * x for the row in ``start:stop``."""
    if indices.size == 0:
        x = data[start:stop]
        for j in range(x.size):
            w[j] += step * x[j]
    else:
        for k in range(start, stop):
            w[indices[k]] += step * data[k]


@jit(fast=True)
def squared_norms(data, indptr):
    """|x_i|^2 of every row."""
    norms = np.empty(indptr.size - 1)
    for i in range(norms.size):
        x = data[indptr[i] : indptr[i + 1]]
        norms[i] = _dot(x, x)
    return norms


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
def dual_cd_epoch(
    data, indices, indptr, table, order, draws, z, inv_alpha, mean_sq, b, rho, s, c, threshold
):
    """One sweep of dual coordinate descent over the rows in ``order``, in random order.

    Minimises over v, one coordinate at a time, with z = sum_i v_i x_i and s = total - sum_i v_i,

        sum_i (kink_i |v_i| + quad_i v_i^2 / 2 - target_i v_i)
            + |z + s mean|^2 / (2 alpha) - b s + rho s^2 / 2.

    Arguments: ``draws`` are random uint32, one per row in ``order``; column 6 of the table is
    <mean, x_i> and column 5 is |x_i - mean|^2 / alpha; ``mean_sq`` = |mean|^2; ``c`` = <z, mean>.
    Without an intercept mean, b and rho are zero. Updates z and column 7 of the table (v).

    A row that rests at a bound or at its kink, and would rest there if its derivative changed by less than
    ``threshold``, is dropped. Returns how many rows were kept (``order`` starts with them), the largest
    derivative that pulled at a kept row, s and c.
    """
    size = order.size
    for k in range(size - 1, 0, -1):  # Fisher and Yates's shuffle; draws / 2^32 is uniform in [0, 1)
        j = np.int64((np.uint64(draws[k]) * np.uint64(k + 1)) >> np.uint64(32))
        order[k], order[j] = order[j], order[k]
    kept = 0
    worst = 0.0
    for k in range(size):
        if k + AHEAD < size:
            i = order[k + AHEAD]
            _prefetch(table, i)
            _prefetch(data, indptr[i])
            if indices.size:
                _prefetch(indices, indptr[i])
        i = order[k]
        start, stop = indptr[i], indptr[i + 1]
        target, kink, quad, lower, upper, curvature, along, v = table[i]
        f = row_dot(data, indices, start, stop, z) - c + s * (along - mean_sq)
        g = f * inv_alpha + b - rho * s - target + quad * v
        right = g + (kink if v >= 0.0 else -kink)  # the derivatives to either side
        left = g + (kink if v > 0.0 else -kink)
        if (v >= upper or right > threshold) and (v <= lower or left < -threshold):
            continue
        order[kept] = i
        kept += 1
        if v < upper:
            worst = max(worst, -right)
        if v > lower:
            worst = max(worst, left)
        h = max(quad + curvature + rho, TINY)
        new = _maximiser(h * v - g, kink, h, lower, upper)
        step = new - v
        if step != 0.0:
            table[i, 7] = new
            row_add(data, indices, start, stop, step, z)
            s -= step
            c += step * along
    return kept, worst, s, c


@jit(fast=True)
def pegasos_epoch(data, indices, indptr, table, picks, z, lag, t, inv_alpha, b, radius):
    """Single-sample subgradient steps on the rows ``picks``, the first of them step ``t + 1``.

    At score f_i = <w, x_i> + b sample i gives the subgradient -(v_i / p_i) x_i; p_i is in column 6
    of the table and |x_i|^2 in column 5. z is the sum of all (v_i / p_i) x_i so far, and after step t

        w = scale_t z,   scale_t = 1 / (alpha t), or less where |w| would exceed ``radius``.

    Also averages w over these steps, that of step t with weight t. The weighted sum is
    (sum of t scale_t) z + lag, where ``lag`` takes away from each w what z gained later; so it costs
    no more than a second addition of the row. Updates z and lag (zero at the start). Returns the factors
    of z and of lag in the average.
    """
    norm_sq = _dot(z, z)
    scale = min(inv_alpha / max(t, 1.0), radius / max(np.sqrt(norm_sq), TINY))
    share = 0.0
    weight = 0.0
    for k in range(picks.size):
        if k + AHEAD < picks.size:
            i = picks[k + AHEAD]
            _prefetch(table, i)
            _prefetch(data, indptr[i])
            if indices.size:
                _prefetch(indices, indptr[i])
        i = picks[k]
        start, stop = indptr[i], indptr[i + 1]
        target, kink, quad, lower, upper, square, p, _ = table[i]
        dot = row_dot(data, indices, start, stop, z)
        v = _maximiser(target - scale * dot - b, kink, max(quad, TINY), lower, upper)
        if v != 0.0:
            row_add(data, indices, start, stop, v / p, z)
            row_add(data, indices, start, stop, -share * v / p, lag)
            norm_sq += v / p * (2.0 * dot + v / p * square)
        t += 1.0
        scale = min(inv_alpha / t, radius / max(np.sqrt(max(norm_sq, 0.0)), TINY))
        share += t * scale
        weight += t
    return share / weight, 1.0 / weight
