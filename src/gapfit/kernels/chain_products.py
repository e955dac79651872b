"""Products of sparse rows with weights for labels: a feature may have a weight for every label or for some.

``pairs`` are two arrays, starts and names: the weights of feature j are ``w[starts[j]:starts[j + 1]]``, for
the labels ``names[starts[j]:starts[j + 1]]``; without names, ``w[j * K:(j + 1) * K]``, for all K labels.
"""

from gapfit.kernels._jit import jit


@jit
def scores(rows, pairs, w, first, last, out):
    """out[i] = the scores of all labels at row i, for first <= i < last."""
    data, indices, indptr = rows
    starts, names = pairs
    K = out.shape[1]
    for i in range(first, last):
        line = out[i]
        for q in range(K):
            line[q] = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            x, j = data[k], indices[k]
            if names.size == 0:
                own = w[j * K : j * K + K]
                for q in range(K):
                    line[q] += x * own[q]
            else:
                for q in range(starts[j], starts[j + 1]):
                    line[names[q]] += x * w[q]


@jit
def add_adjoint(rows, pairs, u, first, last, slope):
    """Add x_i u_i' to the slope, for first <= i < last."""
    data, indices, indptr = rows
    starts, names = pairs
    K = u.shape[1]
    for i in range(first, last):
        line = u[i]
        for k in range(indptr[i], indptr[i + 1]):
            x, j = data[k], indices[k]
            if names.size == 0:
                own = slope[j * K : j * K + K]
                for q in range(K):
                    own[q] += x * line[q]
            else:
                for q in range(starts[j], starts[j + 1]):
                    slope[q] += x * line[names[q]]
