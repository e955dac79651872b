"""Sums of a proof, against fractions: what is told of their errors holds for any number of rows."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from gapfit.compiled import small_sums
from gapfit.compiled.rows import as_rows
from gapfit.compiled.small_sums import Sums
from kernels import entry

put_sums = entry(small_sums.put_sums)
UNIT = Fraction(1001, 1000) * Fraction(1, 2**53)


def exactly(a, b):
    """The sum of products, and of their absolute values."""
    terms = [Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a, b, strict=True)]
    return sum(terms), sum(map(abs, terms))


@pytest.mark.parametrize("scored", [False, True])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("n, d", [(1, 1), (2, 3), (3, 9), (5, 2), (8, 8), (23, 11)])
@pytest.mark.parametrize("seed", range(4))
def test_sums(n, d, dense, seed, scored):
    rng = np.random.default_rng([n, d, dense, seed])
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-8, 8, (n, d)) * (dense or rng.random((n, d)) < 0.4)
    w, v = rng.normal(size=d), rng.normal(size=n) * (rng.random(n) < rng.choice([0.2, 1.0]))
    rows = as_rows(X.ravel(), np.empty(0, np.int32), np.arange(0, n * d + 1, d))
    if not dense:
        kept = sparse.csr_array(X)
        rows = as_rows(kept.data, kept.indices, kept.indptr)
    sums = Sums(np.full(n, np.nan), np.full(n, np.nan), np.full(d, np.nan), np.full(d, np.nan))
    if scored:
        put_sums(rows, w, rng.normal(size=n), sums, False)
        held, lost = sums.scores.copy(), np.full(d, np.nan)
        put_sums(rows, lost, v, sums, True)
        assert np.array_equal(sums.scores, held)
    else:
        put_sums(rows, w, v, sums, False)
    lines = [(sums.scores, sums.sizes, X, w), (sums.slopes, sums.spread, X.T, v)]
    for values, sizes, matrix, vector in lines:
        for value, size, row in zip(values, sizes, matrix, strict=True):
            exact, whole = exactly(row, vector)
            assert abs(Fraction(float(value)) - exact) <= (len(vector) + 1) * UNIT * whole
            assert abs(Fraction(float(size)) - whole) <= (len(vector) + 1) * UNIT * whole
