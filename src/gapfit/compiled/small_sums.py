"""What a proof sums up of all rows, in one pass: scores X w and slopes X'v, and what their errors rest on.

Sums go in several lanes, and over four dense rows at a time (see `small_rows`): gamma(n) holds for any order.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.small_rows import are_dense


class Sums(NamedTuple):
    """What is written."""

    scores: Any  # X w,
    sizes: Any  # and what is added up to each, in absolute values
    slopes: Any  # X'v,
    spread: Any  # and the same


@jit(fast=True, reorder=True)
def _score_of_dense(X, i, w):
    score = size = 0.0
    for j in range(len(w)):
        term = X[i, j] * w[j]
        score += term
        size += abs(term)
    return score, size


@jit(fast=True, reorder=True)
def _score_of_sparse(rows, i, w):
    data, indices, indptr = rows
    score = size = 0.0
    for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        term = data[k] * w[indices[k]]
        score += term
        size += abs(term)
    return score, size


@jit
def _sum_dense(X, w, v, sums, scored):
    """Rows behind the last are the last, times zero."""
    scores, sizes, z, spread = sums
    n, d = X.shape
    for k in range(0, n, 4):
        i1, i2, i3 = min(k + 1, n - 1), min(k + 2, n - 1), min(k + 3, n - 1)
        if not scored:
            for i in (k, i1, i2, i3):
                scores[i], sizes[i] = _score_of_dense(X, i, w)
        a0, a1 = v[k], v[i1] if k + 1 < n else 0.0
        a2, a3 = v[i2] if k + 2 < n else 0.0, v[i3] if k + 3 < n else 0.0
        if a0 == 0.0 and a1 == 0.0 and a2 == 0.0 and a3 == 0.0:
            continue
        for j in range(d):
            x0, x1, x2, x3 = a0 * X[k, j], a1 * X[i1, j], a2 * X[i2, j], a3 * X[i3, j]
            z[j] += (x0 + x1) + (x2 + x3)
            spread[j] += (abs(x0) + abs(x1)) + (abs(x2) + abs(x3))


@jit
def _sum_sparse(rows, w, v, sums, scored):
    data, indices, indptr = rows
    scores, sizes, z, spread = sums
    for i in range(len(v)):
        if not scored:
            scores[i], sizes[i] = _score_of_sparse(rows, i, w)
        a = v[i]
        if a != 0.0:
            for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                term = a * data[k]
                z[indices[k]] += term
                spread[indices[k]] += abs(term)


@jit(inner=True)
def put_sums(rows, w, v, sums, scored):
    """Write all of them; slopes alone, where w has been `scored`."""
    n, d = len(v), len(w)
    for j in range(d):
        sums.slopes[j] = sums.spread[j] = 0.0
    if are_dense(rows, n, d):
        _sum_dense(rows.data.reshape((n, d)), w, v, sums, scored)
    else:
        _sum_sparse(rows, w, v, sums, scored)
