"""Rows of a sparse matrix are copied by compiled code, which trusts their numbers: others never get there."""

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
