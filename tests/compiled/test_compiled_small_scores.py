"""Products of rows with the weights of several scores, wherever these stand, against NumPy's."""

import numpy as np
import pytest
from scipy import sparse

from gapfit.compiled import small_scores
from gapfit.compiled.rows import as_rows
from gapfit.design.memory import MemoryDesign
from kernels import entry

place, put_scores = entry(small_scores.place), entry(small_scores.put_scores)
add_slopes = entry(small_scores.add_slopes)


@pytest.mark.parametrize("seed", range(20))
def test_products(seed):
    rng = np.random.default_rng([82, seed])
    n, d, m = map(int, rng.integers(1, 20, 3))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.3, 1.0]))
    rows = as_rows(*MemoryDesign(sparse.csr_matrix(X) if seed % 2 else X).rows())
    places = np.array([[place(rows, d, m, j, k) for k in range(m)] for j in range(d)])
    assert sorted(places.ravel()) == list(range(d * m))
    W, U, z, F = rng.normal(size=(d, m)), rng.normal(size=(n, m)), np.empty(d * m), np.empty((n, m))
    z[places] = W
    put_scores(rows, d, z, F)
    np.testing.assert_allclose(F, X @ W, atol=1e-12)
    add_slopes(rows, d, U, z)
    np.testing.assert_allclose(z[places], W + X.T @ U, atol=1e-12)
