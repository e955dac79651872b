"""Copies of some rows, close together and in the precision that suits.

Rows are the three arrays of `kernels.rows`.
"""

import numpy as np

from gapfit.kernels._jit import jit


@jit
def pack(data, indices, indptr, chosen, columns, packed, packed_indices, packed_indptr):
    """Copy the rows ``chosen``, without the columns j whose new number ``columns[j]`` is negative.

    ``columns`` may be empty: then all columns are kept as they are. Returns how many entries were copied;
    ``packed_indptr`` has one more entry than there are chosen rows.
    """
    to = 0
    packed_indptr[0] = 0
    for k in range(chosen.size):
        i = chosen[k]
        for q in range(indptr[i], indptr[i + 1]):
            if indices.size:
                column = np.int64(indices[q])
                if columns.size:
                    column = np.int64(columns[column])
                    if column < 0:
                        continue
                packed_indices[to] = column
            packed[to] = data[q]
            to += 1
        packed_indptr[k + 1] = to
    return to


@jit
def count_columns(indices, counts):
    """How many entries each column has; enough to know none, one or more (``counts`` may be uint8)."""
    for k in range(indices.size):
        j = indices[k]
        if counts[j] < 2:
            counts[j] += 1


@jit
def number_columns(counts):
    """Columns with one entry are numbered -1, -2, ..., the others 0, 1, ..., in their order."""
    number = np.empty(counts.size, np.int32)
    single = other = 0
    for j in range(counts.size):
        if counts[j] == 1:
            single += 1
            number[j] = -single
        else:
            number[j] = other
            other += 1
    return number


@jit
def single_entries(data, indices, indptr, number, values, rows, squares):
    """The entry and the row of every column with one entry, and per row the sum of their squares."""
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            single = -1 - np.int64(number[indices[k]])
            if single >= 0:
                values[single], rows[single] = data[k], i
                squares[i] += data[k] * data[k]


@jit
def long(z, number, values, rows, v, scale, out):
    """scale * z in all columns: ``z`` holds those with several entries, v_i x_ij is in the others."""
    for j in range(number.size):
        k = np.int64(number[j])
        if k >= 0:
            out[j] = scale * z[k]
        else:
            out[j] = scale * values[-1 - k] * v[rows[-1 - k]]
