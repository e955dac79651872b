"""Passes over the rows of a small fit for its steps: all that one of them can tell is asked of it at once.

From some hundred thousand entries on, a pass takes as long as it takes to read them. Dense rows are taken
four at a time: what they are added to is then read and written a quarter as often. What sparse rows are added
to stands side by side, so that an entry finds it in one place.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import row_add, row_dot

SUMS = 4  # numbers in one place: of three there would be some in two lines of memory


class Passed(NamedTuple):
    """X by rows, and what passes over it write to."""

    rows: Any  # `rows.Rows`
    sums: Any  # SUMS for each weight, where rows are sparse
    used: Any  # numbers of rows that count, and three more
    scores: Any


@jit(inner=True)
def are_dense(rows, n, d):
    """Is there an entry everywhere? Sparse rows without any look like dense ones otherwise."""
    return rows.indices.size == 0 and rows.data.size == n * d


@jit(inline=True)
def four_of(x, used, k, count):
    """The numbers of four of the rows that count, from the k-th on; zero behind the last."""
    x1 = x[used[k + 1]] if k + 1 < count else 0.0
    x2 = x[used[k + 2]] if k + 2 < count else 0.0
    return x[used[k]], x1, x2, x[used[k + 3]] if k + 3 < count else 0.0


@jit(fast=True)
def _put_dense_moments(X, v, D, used, sums):
    z, m, h = sums
    count = 0
    for i in range(len(v)):
        if v[i] != 0.0 or D[i] != 0.0:
            used[count] = i
            count += 1
    for k in range(0, count, 4):
        i0, i1, i2, i3 = used[k], used[k + 1], used[k + 2], used[k + 3]
        v0, v1, v2, v3 = four_of(v, used, k, count)
        c0, c1, c2, c3 = four_of(D, used, k, count)
        for j in range(len(z)):
            x0, x1, x2, x3 = X[i0, j], X[i1, j], X[i2, j], X[i3, j]
            z[j] += v0 * x0 + v1 * x1 + v2 * x2 + v3 * x3
            y0, y1, y2, y3 = c0 * x0, c1 * x1, c2 * x2, c3 * x3
            m[j] += y0 + y1 + y2 + y3
            h[j] += y0 * x0 + y1 * x1 + y2 * x2 + y3 * x3


@jit(fast=True)
def _put_sparse_moments(rows, v, D, side_by_side, sums):
    data, indices, indptr = rows
    z, m, h = sums
    for j in range(len(side_by_side)):
        side_by_side[j] = 0.0
    one, two = np.uint64(1), np.uint64(2)
    for i in range(len(v)):
        a, c = v[i], D[i]
        if a == 0.0 and c == 0.0:
            continue
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            x, at = data[k], np.uint64(SUMS) * np.uint64(indices[k])
            side_by_side[at] += a * x
            side_by_side[at + one] += c * x
            side_by_side[at + two] += c * x * x
    for j in range(len(z)):
        z[j], m[j], h[j] = side_by_side[SUMS * j], side_by_side[SUMS * j + 1], side_by_side[SUMS * j + 2]


@jit(fast=True, inner=True)
def put_moments(passed, v, D, sums):
    """Write X'v, X'D 1 and the diagonal of X'DX to the three of `sums`."""
    rows, n, d = passed.rows, len(v), len(sums[0])
    if are_dense(rows, n, d):
        for j in range(d):
            sums[0][j] = sums[1][j] = sums[2][j] = 0.0
        _put_dense_moments(rows.data.reshape((n, d)), v, D, passed.used, sums)
    else:
        _put_sparse_moments(rows, v, D, passed.sums, sums)


@jit(fast=True, reorder=True)
def _four_dots(X, four, w):
    i0, i1, i2, i3 = four
    s0 = s1 = s2 = s3 = 0.0
    for j in range(len(w)):
        s0 += X[i0, j] * w[j]
        s1 += X[i1, j] * w[j]
        s2 += X[i2, j] * w[j]
        s3 += X[i3, j] * w[j]
    return s0, s1, s2, s3


@jit(fast=True)
def _add_dense_product(X, D, way, level, used, scores, image):
    count = 0
    for i in range(len(D)):
        if D[i] != 0.0:
            used[count] = i
            count += 1
    for k in range(0, count, 4):
        i0, i1, i2, i3 = used[k], used[k + 1], used[k + 2], used[k + 3]
        c0, c1, c2, c3 = four_of(D, used, k, count)
        s0, s1, s2, s3 = _four_dots(X, (i0, i1, i2, i3), way)
        scores[i0], scores[i1], scores[i2], scores[i3] = s0, s1, s2, s3
        c0, c1, c2, c3 = c0 * (s0 - level), c1 * (s1 - level), c2 * (s2 - level), c3 * (s3 - level)
        for j in range(len(way)):
            image[j] += c0 * X[i0, j] + c1 * X[i1, j] + c2 * X[i2, j] + c3 * X[i3, j]


@jit(fast=True)
def _add_sparse_product(rows, D, way, level, scores, image):
    for i in range(len(D)):
        if D[i] != 0.0:
            scores[i] = row_dot(rows, i, way)
            row_add(rows, i, D[i] * (scores[i] - level), image)


@jit(fast=True, inner=True)
def add_product(passed, D, way, level, image):
    """Add X'D(X way - level), and write the scores X way of all samples that have a D."""
    rows, used, scores = passed.rows, passed.used, passed.scores
    if are_dense(rows, len(D), len(way)):
        X = rows.data.reshape((len(D), len(way)))
        _add_dense_product(X, D, way, level, used, scores, image)
    else:
        _add_sparse_product(rows, D, way, level, scores, image)
