"""Exponentials, sums and products over labels, in loops that compilers vectorise.

Rows are named by their number and not passed as views: a view in a loop is counted, which takes time.
"""

import numpy as np

from gapfit.compiled._jit import jit

_LOWEST = -700.0  # what is smaller than its exponential is faint anyway
_PER_LOG = 1.4426950408889634  # powers of two in a power of e
_LOG = 0.6931471805598903  # the logarithm of two, but for ...
_LOG_REST = 5.497923018708371e-14
_LOW_BITS = 6755399441055744.0  # added to a number, it leaves the nearest integer in the lowest bits


@jit
def exp(x, size, powers):
    """x = exp(x) for the first of its entries, none of them positive, in loops that compilers vectorise.

    ``powers`` is for notes.
    """
    for k in range(size):
        v = _LOWEST if x[k] < _LOWEST else x[k]  # what is not a number stays so
        power = v * _PER_LOG + _LOW_BITS
        powers[k] = power
        power -= _LOW_BITS
        v = (v - power * _LOG) - power * _LOG_REST
        y = 1.6059043836821613e-10  # 1 / 13!, and so on down to 1
        y = y * v + 2.08767569878681e-09
        y = y * v + 2.505210838544172e-08
        y = y * v + 2.755731922398589e-07
        y = y * v + 2.755731922398589e-06
        y = y * v + 2.48015873015873e-05
        y = y * v + 0.0001984126984126984
        y = y * v + 0.001388888888888889
        y = y * v + 0.008333333333333333
        y = y * v + 0.041666666666666664
        y = y * v + 0.16666666666666666
        y = y * v + 0.5
        y = y * v + 1.0
        x[k] = y * v + 1.0
    bits = powers.view(np.int64)
    for k in range(size):
        bits[k] = (bits[k] + 1023) << 52
    for k in range(size):
        x[k] *= powers[k]


@jit(inner=True)
def row_max(x, t):
    """The largest entry of x[t], in four lanes."""
    a = b = c = d = -np.inf
    k = 0
    while k + 3 < x.shape[1]:
        a, b, c, d = max(a, x[t, k]), max(b, x[t, k + 1]), max(c, x[t, k + 2]), max(d, x[t, k + 3])
        k += 4
    while k < x.shape[1]:
        a = max(a, x[t, k])
        k += 1
    return max(max(a, b), max(c, d))


@jit(inner=True)
def row_sum(x, t):
    """The sum of x[t], in four lanes."""
    a = b = c = d = 0.0
    k = 0
    while k + 3 < x.shape[1]:
        a, b, c, d = a + x[t, k], b + x[t, k + 1], c + x[t, k + 2], d + x[t, k + 3]
        k += 4
    while k < x.shape[1]:
        a += x[t, k]
        k += 1
    return (a + b) + (c + d)


@jit
def times(x, t, matrix, out, to):
    """out[to] = x[t]' matrix, four rows at a time: out is then read and written a quarter as often."""
    K = x.shape[1]
    for k in range(K):
        out[to, k] = 0.0
    i = 0
    while i + 3 < K:
        a, b, c, d = x[t, i], x[t, i + 1], x[t, i + 2], x[t, i + 3]
        for k in range(K):
            out[to, k] += (a * matrix[i, k] + b * matrix[i + 1, k]) + (
                c * matrix[i + 2, k] + d * matrix[i + 3, k]
            )
        i += 4
    while i < K:
        for k in range(K):
            out[to, k] += x[t, i] * matrix[i, k]
        i += 1


@jit(inner=True)
def add_products(x, z, L, pairs):
    """pairs[0] += the sum over t of x[t - 1] z[t]', four tokens at a time."""
    K = x.shape[1]
    t = 1
    while t + 3 < L:
        for i in range(K):
            a, b, c, d = x[t - 1, i], x[t, i], x[t + 1, i], x[t + 2, i]
            for k in range(K):
                pairs[0, i, k] += (a * z[t, k] + b * z[t + 1, k]) + (c * z[t + 2, k] + d * z[t + 3, k])
        t += 4
    while t < L:
        for i in range(K):
            for k in range(K):
                pairs[0, i, k] += x[t - 1, i] * z[t, k]
        t += 1


@jit(inner=True)
def transposed_exp(edges, t, back, forth):
    """forth = exp(edges[t] - shift) and its transpose; returns the shift."""
    K = edges.shape[1]
    shift = -np.inf
    for i in range(K):
        for j in range(K):
            shift = max(shift, edges[t, i, j])
    for i in range(K):
        for j in range(K):
            value = np.exp(edges[t, i, j] - shift)
            forth[i, j] = value
            back[j, i] = value
    return shift
