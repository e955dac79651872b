"""Copies of rows, close together and in the precision that suits, and columns that need not be copied."""

import numpy as np

from gapfit.compiled._jit import jit


@jit
def pack(rows, chosen, first, last, packed):
    """Copy the rows ``chosen[first:last]`` to where ``packed.indptr`` says that they begin."""
    data, indices, indptr = rows
    values, columns, starts = packed
    k = first
    while k < last:
        row, start = chosen[k], k
        k += 1
        while k < last and chosen[k] == row + k - start:  # neighbours at once
            k += 1
        to, end = np.uint64(starts[start]), np.uint64(starts[k])
        ahead = np.uint64(indptr[row]) - to  # modulo 2^64: the sum below is right all the same
        if indices.size == 0:
            for q in range(to, end):
                values[q] = data[q + ahead]
        else:
            for q in range(to, end):
                values[q], columns[q] = data[q + ahead], indices[q + ahead]


@jit
def number_columns(indices, d):
    """Columns with one entry are numbered -1, -2, ... and the others 0, 1, ..., in their order."""
    counts = np.zeros(d, np.uint8)
    for k in range(indices.size):
        j = indices[k]
        counts[j] += counts[j] < 2
    number = np.empty(d, np.int32)
    single = other = 0
    for j in range(d):
        if counts[j] == 1:
            single += 1
            number[j] = -single
        else:
            number[j] = other
            other += 1
    return number, single


@jit
def count_others(indices, indptr, number, first, last, lengths):
    """How many entries of each row are in columns whose number is not negative."""
    for i in range(first, last):
        columns = indices[indptr[i] : indptr[i + 1]]
        count = 0
        for q in range(columns.size):
            count += number[columns[q]] >= 0
        lengths[i] = count


@jit
def split(rows, singles, first, last, packed):
    """Copy rows without the columns of negative number, and under their new numbers.

    The entries of those columns go to the singles.
    """
    data, indices, indptr = rows
    values, of_row, squares, number = singles
    packed_data, packed_columns, starts = packed
    for i in range(first, last):
        x, columns = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        to = starts[i]
        for q in range(x.size):
            column = np.int64(number[columns[q]])
            if column >= 0:
                packed_data[to], packed_columns[to] = x[q], column
                to += 1
            else:
                values[-1 - column], of_row[-1 - column] = x[q], i
                squares[i] += x[q] * x[q]


@jit
def long(z, singles, v, scale, out):
    """scale * z in all columns: ``z`` holds those of positive number, v_i x_ij is in the others."""
    values, rows, _, number = singles
    for j in range(number.size):
        k = np.int64(number[j])
        if k >= 0:
            out[j] = scale * z[k]
        else:
            out[j] = scale * values[-1 - k] * v[rows[-1 - k]]
