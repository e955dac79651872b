"""Products with rows, with twice the digits: what each operation loses is kept and added up as well.

The compiler must not touch the order of these operations. Beside each sum stands that of the absolute values,
to which what is still lost is in proportion.
"""

from gapfit.compiled._jit import jit

_SPLITTER = 134217729.0  # 2^27 + 1
_BLOCK = 64  # numbers


@jit
def _product(x, y):
    """x * y, rounded, and what rounding has taken from it."""
    product = x * y
    scaled = _SPLITTER * x
    x_high = scaled - (scaled - x)
    x_low = x - x_high
    scaled = _SPLITTER * y
    y_high = scaled - (scaled - y)
    y_low = y - y_high
    return product, ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


@jit(inline=True)
def two_sum(x, y):
    """x + y, rounded, and what rounding has taken from it."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


@jit
def scores(rows, w, first, last, high, low, size):
    """high_i + low_i = <x_i, w> of the rows first to last, and size_i = <|x_i|, |w|>."""
    data, indices, indptr = rows
    dense = indices.size == 0
    for i in range(first, last):
        start = indptr[i]
        total = rest = absolute = 0.0
        for k in range(start, indptr[i + 1]):
            j = k - start if dense else indices[k]
            product, lost = _product(float(data[k]), w[j])
            total, less = two_sum(total, product)
            rest += lost + less
            absolute += abs(product)
        high[i], low[i] = two_sum(total, rest)
        size[i] = absolute


@jit
def add_adjoint(rows, u, high, low, size):
    """Add u_i x_i of all rows to high + low, and |u_i| |x_i| to size."""
    data, indices, indptr = rows
    dense = indices.size == 0
    for i in range(u.size):
        if u[i] != 0.0:
            start = indptr[i]
            for k in range(start, indptr[i + 1]):
                j = k - start if dense else indices[k]
                product, lost = _product(float(data[k]), u[i])
                high[j], less = two_sum(high[j], product)
                low[j] += lost + less
                size[j] += abs(product)


@jit
def exact_total(x, start, stop, total):
    """For Python: see `sum_exactly`."""
    return sum_exactly(x, start, stop, total)


@jit(inner=True)
def sum_exactly(x, start, stop, total):
    """total + lost is the given total and the entries from start to stop, and size the sum of what each
    addition has lost: less, if blocks are added up by themselves."""
    lost = size = 0.0
    for first in range(start, stop, _BLOCK):
        block = 0.0
        for i in range(first, min(first + _BLOCK, stop)):
            block, rest = two_sum(block, x[i])
            lost += rest
            size += abs(rest)
        total, rest = two_sum(total, block)
        lost += rest
        size += abs(rest)
    return total, lost, size


@jit
def column_sums(columns, total, lost, size):
    """total_j + lost_j is the sum of column j, and size_j that of what each addition has lost."""
    for i in range(columns.shape[0]):
        for j in range(columns.shape[1]):
            total[j], rest = two_sum(total[j], columns[i, j])
            lost[j] += rest
            size[j] += abs(rest)
