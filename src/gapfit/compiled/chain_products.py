"""Products of sparse rows with weights for labels: a feature may have a weight for every label or for some.

``pairs`` are two arrays, starts and names: the weights of feature j are ``w[starts[j]:starts[j + 1]]``, for
the labels ``names[starts[j]:starts[j + 1]]``; without names, ``w[j * K:(j + 1) * K]``, for all K labels.
"""

import numpy as np

from gapfit.compiled._jit import jit


@jit(inline=True)
def _weights(pairs, j, K):
    """Where the weights of feature j begin and end."""
    starts, names = pairs
    if names.size == 0:
        return np.int64(j) * K, np.int64(j) * K + K
    return np.int64(starts[j]), np.int64(starts[j + 1])


@jit
def scores(rows, pairs, w, first, last, out):
    """out[i] = the scores of all labels at row i, for first <= i < last."""
    data, indices, indptr = rows
    names = pairs.names
    out[first:last] = 0.0
    for i in range(first, last):
        line = out[i]
        for k in range(indptr[i], indptr[i + 1]):
            begin, end = _weights(pairs, indices[k], line.size)
            for q in range(begin, end):
                line[names[q] if names.size else q - begin] += data[k] * w[q]


@jit
def add_adjoint(rows, pairs, u, first, last, slope):
    """Add x_i u_i' to the slope, for first <= i < last."""
    data, indices, indptr = rows
    names = pairs.names
    for i in range(first, last):
        line = u[i]
        for k in range(indptr[i], indptr[i + 1]):
            begin, end = _weights(pairs, indices[k], line.size)
            for q in range(begin, end):
                slope[q] += data[k] * line[names[q] if names.size else q - begin]
