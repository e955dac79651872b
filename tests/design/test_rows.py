"""Rows of a sparse matrix are those that SciPy takes, however they are copied; compiled code trusts their
numbers: others never get there."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from gapfit import threads
from gapfit.design.rows import take_rows


@pytest.fixture(scope="module")
def large():
    X = sparse.random_array((3000, 100), density=0.8, format="csr", rng=np.random.default_rng(0))
    assert X.nnz > threads.PAYS
    return X


@pytest.mark.parametrize("rows", [[5, 3, 3], [], [-1, 0, -3000], [2999]])
def test_numbers_mean_what_they_mean_to_scipy(large, rows):
    rows = np.array(rows, dtype=np.intp)
    assert (take_rows(large, rows) != large[rows]).nnz == 0


@pytest.mark.parametrize("rows", [[3000], [0, -3001]])
def test_what_is_not_there_is_refused(large, rows):
    with pytest.raises(IndexError):
        take_rows(large, np.array(rows, dtype=np.intp))


def drawn(rng, form, dtype, numbers, *, shuffled):
    """A small matrix with empty rows, and with columns that are in no order if they are to be shuffled."""
    n, d = rng.integers(1, 40), rng.integers(1, 20)
    X = form(sparse.random_array((n, d), density=rng.random() ** 2, format="csr", rng=rng, dtype=dtype))
    X.indices, X.indptr = X.indices.astype(numbers), X.indptr.astype(numbers)
    if shuffled:
        for start, stop in pairwise(X.indptr):
            order = start + rng.permutation(stop - start)
            X.data[start:stop], X.indices[start:stop] = X.data[order], X.indices[order]
        X.has_sorted_indices = False
    return X


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("numbers", [np.int32, np.int64])
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_few_rows_are_those_that_scipy_takes(form, dtype, numbers, shuffled, known):
    rng = np.random.default_rng([shuffled, known])
    for _ in range(20):
        X = drawn(rng, form, dtype, numbers, shuffled=shuffled)
        n = X.shape[0]
        assert not known or X.has_canonical_format is not None  # asked for once, it is known
        before = X.data.copy(), X.indices.copy(), X.indptr.copy()
        for rows in (rng.permutation(n), rng.integers(n, size=n), rng.integers(n, size=3 * n), np.arange(0)):
            taken, expected = take_rows(X, rows), X[rows]
            assert type(taken) is type(expected) and taken.shape == expected.shape
            assert taken.dtype == expected.dtype
            for name in ("data", "indices", "indptr"):
                np.testing.assert_array_equal(getattr(taken, name), getattr(expected, name))
            anew = form((taken.data, taken.indices, taken.indptr), shape=taken.shape)
            assert taken.has_sorted_indices <= anew.has_sorted_indices  # what is claimed is so
            assert taken.has_canonical_format <= anew.has_canonical_format
            np.testing.assert_array_equal(taken.toarray(), X.toarray()[rows])
            taken.data[:] = 0.0  # which is nobody else's
        for mine, was in zip((X.data, X.indices, X.indptr), before, strict=True):
            np.testing.assert_array_equal(mine, was)


def test_what_is_not_there_is_refused_of_few_rows():
    X = sparse.csr_array(np.eye(3))
    for rows in ([3], [0, -4]):
        with pytest.raises(IndexError):
            take_rows(X, np.array(rows, dtype=np.intp))
    assert (take_rows(X, np.array([-1, 0])) != X[[-1, 0]]).nnz == 0
