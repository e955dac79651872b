"""Passes over the rows of a small fit, against dense algebra: of any number of rows, some of which count."""

import numpy as np
import pytest
from scipy import sparse

from gapfit.compiled import small_rows
from gapfit.compiled.rows import as_rows
from gapfit.compiled.small_rows import SUMS, Passed
from kernels import entry

close = np.testing.assert_allclose
put_moments, add_product = entry(small_rows.put_moments), entry(small_rows.add_product)


def drawn(n, d, dense, seed):
    rng = np.random.default_rng([n, d, dense, seed])
    X = rng.normal(size=(n, d)) * (1.0 if dense else rng.random((n, d)) < 0.3)
    if dense:
        rows = as_rows(X.ravel(), np.empty(0, np.int32), np.arange(0, n * d + 1, d))
    else:
        kept = sparse.csr_array(X)
        rows = as_rows(kept.data, kept.indices, kept.indptr)
    passed = Passed(rows, rng.normal(size=SUMS * d), np.zeros(n + 3, np.int64), np.zeros(n))
    v, D = (rng.normal(size=n) * (rng.random(n) < share) for share in rng.choice([0.0, 0.3, 1.0], 2))
    return X, passed, v, np.abs(D), rng


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("n, d", [(1, 1), (2, 5), (3, 1), (4, 4), (7, 3), (41, 17)])
@pytest.mark.parametrize("seed", range(5))
def test_moments(n, d, dense, seed):
    X, passed, v, D, _ = drawn(n, d, dense, seed)
    sums = tuple(np.full((3, d), np.nan))
    put_moments(passed, v, D, sums)
    for sum_, known in zip(sums, (X.T @ v, X.T @ D, (X * X).T @ D), strict=True):
        close(sum_, known, atol=1e-13)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("n, d", [(1, 1), (2, 5), (3, 1), (4, 4), (7, 3), (41, 17)])
@pytest.mark.parametrize("seed", range(5))
def test_products(n, d, dense, seed):
    X, passed, _, D, rng = drawn(n, d, dense, seed)
    way, before = rng.normal(size=(2, d))
    image = before.copy()
    add_product(passed, D, way, 0.3, image)
    close(image, before + X.T @ (D * (X @ way - 0.3)), atol=1e-13)
    close(passed.scores[D > 0], (X @ way)[D > 0], atol=1e-13)


def test_rows_without_an_entry_are_sparse_ones():
    rows = as_rows(np.empty(0), np.empty(0, np.int32), np.zeros(4, np.int64))
    passed = Passed(rows, np.empty(SUMS * 2), np.zeros(6, np.int64), np.zeros(3))
    sums = tuple(np.ones((3, 2)))
    put_moments(passed, np.ones(3), np.ones(3), sums)
    assert not np.any(sums)
