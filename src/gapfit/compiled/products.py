"""Products with sparse rows, whose entries may be float32: every sum is float64.

Those with a weight for each row pass over the rows of weight zero: often most of them are.
"""

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import row_dot


@jit(fast=True)
def put_scores(rows, w, start, stop, out):
    """out_i = <x_i, w> for the rows start to stop."""
    for i in range(start, stop):
        out[i] = row_dot(rows, i, w)


@jit(fast=True)
def add_adjoint(rows, weight, start, stop, total):
    """Add weight_i x_i of the rows start to stop to ``total``."""
    data, indices, indptr = rows
    for i in range(start, stop):
        u = weight[i]
        if u != 0.0:
            for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                total[indices[k]] += u * data[k]


@jit(fast=True)
def add_adjoints(rows, weight, other, start, stop, totals):
    """Add weight_i x_i and other_i x_i of the rows start to stop to the two rows of ``totals``."""
    data, indices, indptr = rows
    first, second = totals[0], totals[1]
    for i in range(start, stop):
        u, v = weight[i], other[i]
        if v == 0.0:
            if u != 0.0:
                for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                    first[indices[k]] += u * data[k]
        else:
            for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                j, x = indices[k], data[k]  # read once: for all the compiler knows, writing changes them
                p, q = first[j] + u * x, second[j] + v * x
                first[j], second[j] = p, q


@jit(fast=True)
def add_weighted_gram(rows, weight, start, stop, gram):
    """Add weight_i x_i x_i' of the rows start to stop to the lower triangle of ``gram``.

    Columns must increase within a row. Four lines of the triangle at once: each entry of the row is read once
    for all of them.
    """
    data, indices, indptr = rows
    for i in range(start, stop):
        u = weight[i]
        if u != 0.0:
            first, last = indptr[i], indptr[i + 1]
            k = first
            while k + 3 < last:
                a, b = gram[indices[k]], gram[indices[k + 1]]
                c, d = gram[indices[k + 2]], gram[indices[k + 3]]
                s, t, v, w = u * data[k], u * data[k + 1], u * data[k + 2], u * data[k + 3]
                for j in range(first, k + 1):
                    m, x = indices[j], data[j]
                    p, q, r, z = a[m] + s * x, b[m] + t * x, c[m] + v * x, d[m] + w * x
                    a[m], b[m], c[m], d[m] = p, q, r, z
                for j in range(k + 1, k + 4):
                    m, x = indices[j], data[j]
                    d[m] += w * x
                    if j < k + 3:
                        c[m] += v * x
                    if j < k + 2:
                        b[m] += t * x
                k += 4
            while k < last:
                line, s = gram[indices[k]], u * data[k]
                for j in range(first, k + 1):
                    line[indices[j]] += s * data[j]
                k += 1
