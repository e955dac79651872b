"""Products with sparse rows that pass over the rows of weight zero: often most of them are."""

from gapfit.kernels._jit import jit


@jit(fast=True)
def add_adjoint(data, indices, indptr, weight, start, stop, total):
    """Add weight_i x_i of the rows start to stop to ``total``."""
    for i in range(start, stop):
        u = weight[i]
        if u != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                total[indices[k]] += u * data[k]


@jit(fast=True)
def add_weighted_gram(data, indices, indptr, weight, start, stop, gram):
    """Add weight_i x_i x_i' of the rows start to stop to the lower triangle of ``gram``.

    Columns must increase within a row.
    """
    for i in range(start, stop):
        u = weight[i]
        if u != 0.0:
            first = indptr[i]
            for k in range(first, indptr[i + 1]):
                line = gram[indices[k]]
                scaled = u * data[k]
                for j in range(first, k + 1):
                    line[indices[j]] += scaled * data[j]
