"""One column of X, dense or sparse, as `columns.Columns` has it."""

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import dense_dot


@jit(fast=True, inline=True)
def column_dot(data, rows, start, stop, u):
    """<x, u> for the column in ``start:stop``."""
    if rows.size == 0:
        return dense_dot(data[start:stop], u)
    s0 = s1 = s2 = s3 = 0.0  # what is gathered does not vectorise; four sums keep the adders busy
    k = start
    while k + 3 < stop:
        s0 += data[k] * u[rows[k]]
        s1 += data[k + 1] * u[rows[k + 1]]
        s2 += data[k + 2] * u[rows[k + 2]]
        s3 += data[k + 3] * u[rows[k + 3]]
        k += 4
    while k < stop:
        s0 += data[k] * u[rows[k]]
        k += 1
    return (s0 + s1) + (s2 + s3)


@jit(fast=True, reorder=True)
def _dense_moments(x, D):
    one = two = 0.0
    for i in range(x.size):
        weighted = D[i] * x[i]
        one += weighted
        two += weighted * x[i]
    return one, two


@jit(fast=True, inline=True)
def column_moments(data, rows, start, stop, D):
    """<x, D> and <x, D x> for the column in ``start:stop``."""
    if rows.size == 0:
        return _dense_moments(data[start:stop], D)
    one = two = 0.0
    for k in range(start, stop):
        weighted = D[rows[k]] * data[k]
        one += weighted
        two += weighted * data[k]
    return one, two


@jit(fast=True, inline=True)
def add_column(columns, j, step, f):
    """Add that many times column j to f."""
    data, rows, starts = columns
    start, stop = starts[j], starts[j + 1]
    if rows.size == 0:
        x = data[start:stop]
        for i in range(x.size):
            f[i] += step * x[i]
    else:
        for k in range(start, stop):
            f[rows[k]] += step * data[k]
