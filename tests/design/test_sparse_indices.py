"""Indices of sparse matrices: those in range are taken as they are, and one that is not is found anywhere."""

import numpy as np
import pytest
from scipy import sparse

from gapfit.design.sparse_indices import check_sparse_indices


def drawn(rng, form, numbers):
    """A matrix with indices of such a kind, at least one of them."""
    n, d = rng.integers(1, 30, size=2)
    X = (rng.random((n, d)) < rng.random()).astype(float)
    X[rng.integers(n), rng.integers(d)] = 1.0
    X = sparse.csr_array(X).asformat(form)
    if form == "coo":
        X.coords = tuple(each.astype(numbers) for each in X.coords)
    else:
        X.indices, X.indptr = X.indices.astype(numbers), X.indptr.astype(numbers)
    return X


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("numbers", [np.int32, np.int64, np.int16, ">i4"])
def test_one_index_out_of_range_is_found(form, numbers):
    rng = np.random.default_rng(0)
    for _ in range(30):
        X = drawn(rng, form, numbers)
        check_sparse_indices(X)
        bound = X.shape[0 if form == "csc" else 1]
        indices = X.coords[1] if form == "coo" else X.indices
        place = rng.integers(len(indices))
        known = indices[place]
        for wrong in (-1, -bound, bound, np.iinfo(numbers).max, np.iinfo(numbers).min):
            indices[place] = wrong
            with pytest.raises(ValueError, match=rf"broken {form} matrix: an index lies outside"):
                check_sparse_indices(X)
        indices[place] = known
        check_sparse_indices(X)
