"""Entries of a kernel matrix: inner products with sparse rows, the Gaussian of distances, weighted sums.

The exponential is a polynomial: it vectorises, which the mathematical library's does not, and is right to
1e-6 in single precision. The Gaussians that a certificate rests on are taken in double precision elsewhere.
"""

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import dense_dot

_LOG2E = np.float32(1.44269504)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(2.12194440e-4)
_C0, _C1, _C2 = np.float32(1.9875691e-4), np.float32(1.3981999e-3), np.float32(8.3334519e-3)
_C3, _C4, _C5 = np.float32(4.1665796e-2), np.float32(1.6666665e-1), np.float32(0.5)
_ONE, _HALF, _ZERO, _LEAST = np.float32(1), np.float32(0.5), np.float32(0), np.float32(-87)
_SIDE = 32  # of a block
_BIAS, _SHIFT = np.int32(127), np.int32(23)


@jit(fast=True)
def sparse_dots(data, indices, indptr, rows, columns, out):
    """out[r] = (row `rows[r]` of a CSR matrix) times the dense matrix `columns`."""
    width = columns.shape[1]
    for r in range(len(rows)):
        into = out[r]
        for k in range(width):
            into[k] = 0
        p, end = indptr[rows[r]], indptr[rows[r] + 1]
        while p + 4 <= end:  # four at a time: `into` is read and written a quarter as often
            x0, x1, x2, x3 = data[p], data[p + 1], data[p + 2], data[p + 3]
            y0, y1 = columns[indices[p]], columns[indices[p + 1]]
            y2, y3 = columns[indices[p + 2]], columns[indices[p + 3]]
            for k in range(width):
                into[k] += x0 * y0[k] + x1 * y1[k] + x2 * y2[k] + x3 * y3[k]
            p += 4
        while p < end:
            x, y = data[p], columns[indices[p]]
            for k in range(width):
                into[k] += x * y[k]
            p += 1


@jit(fast=True)
def gaussian(tile, of_rows, of_columns, twice_gamma):
    """tile = exp(twice_gamma * tile - of_rows - of_columns), at most 1, in place and single precision."""
    for r in range(tile.shape[0]):
        for k in range(tile.shape[1]):
            x = twice_gamma * tile[r, k] - (of_rows[r] + of_columns[k])
            x = max(min(x, _ZERO), _LEAST)
            power = np.floor(x * _LOG2E + _HALF)
            t = x - power * _LN2_HIGH + power * _LN2_LOW
            p = ((((_C0 * t + _C1) * t + _C2) * t + _C3) * t + _C4) * t + _C5
            scale = np.int32((np.int32(power) + _BIAS) << _SHIFT)
            tile[r, k] = (p * t * t + t + _ONE) * np.int32(scale).view(np.float32)


@jit(fast=True)
def exponents(tile, of_rows, of_columns, twice_gamma):
    """tile = twice_gamma * tile - of_rows - of_columns, at most 0, in place and in one pass."""
    for r in range(tile.shape[0]):
        for k in range(tile.shape[1]):
            tile[r, k] = min(twice_gamma * tile[r, k] - of_rows[r] - of_columns[k], 0.0)


@jit(fast=True)
def add_weighted_sums(tile, weights, out):
    """out += tile @ weights, the sums in double precision."""
    for r in range(tile.shape[0]):
        out[r] += dense_dot(tile[r], weights)


@jit(fast=True)
def add_kept(kept, slots, weights, start, out):
    """out[r] += sum_k weights[k] * kept[slots[k], start + r], in double precision."""
    count, k = len(slots), 0
    stop = start + len(out)
    while k + 4 <= count:  # four at a time: `out` is read and written a quarter as often
        a, b = kept[slots[k], start:stop], kept[slots[k + 1], start:stop]
        c, d = kept[slots[k + 2], start:stop], kept[slots[k + 3], start:stop]
        wa, wb, wc, wd = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for r in range(len(out)):
            out[r] += (wa * np.float64(a[r]) + wb * np.float64(b[r])) + (
                wc * np.float64(c[r]) + wd * np.float64(d[r])
            )
        k += 4
    while k < count:
        a, wa = kept[slots[k], start:stop], weights[k]
        for r in range(len(out)):
            out[r] += wa * np.float64(a[r])
        k += 1


@jit(fast=True)
def take_kept(kept, slots, rows, columns, out):
    """out[rows[r], k] = kept[slots[r], columns[k]]."""
    for r in range(len(rows)):
        row, into = kept[slots[r]], out[rows[r]]
        for k in range(len(columns)):
            into[k] = row[columns[k]]


@jit(fast=True)
def mirror(K, first, last):
    """Above the diagonal, the columns from `first` to `last` from the rows below it; block by block, for both
    are to be in the processor's cache."""
    for c0 in range(first, last, _SIDE):
        for r0 in range(0, last, _SIDE):
            for r in range(r0, min(r0 + _SIDE, last)):
                for c in range(max(c0, r + 1), min(c0 + _SIDE, last)):
                    K[r, c] = K[c, r]
