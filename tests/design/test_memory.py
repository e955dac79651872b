"""Products with X as it is held: float32 stays float32, and every sum is float64."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from gapfit import threads
from gapfit.design.memory import MemoryDesign

rng = np.random.default_rng(0)


def _large(n, d, density):
    """More entries than one thread should be left with, in single precision."""
    X = sparse.random_array((n, d), density=density, format="csr", dtype=np.float32, rng=rng)
    assert X.nnz > 2 * threads.PAYS
    return X


@pytest.mark.parametrize("n, d, density", [(20_000, 300, 0.1), (3_000, 9_000, 0.02)])
def test_scores_of_sparse_single_precision_are_summed_in_double(n, d, density):
    X = _large(n, d, density)
    design, w = MemoryDesign(X), rng.normal(size=d) * 10.0 ** rng.integers(-6, 6, d)
    exact = X.toarray().astype(np.longdouble) @ w.astype(np.longdouble)
    assert (np.abs(design.scores(w) - exact) <= design.slack(w)).all()


def test_sparse_single_precision_is_not_copied_for_its_scores():
    X = _large(20_000, 300, 0.1)
    design, w = MemoryDesign(X), rng.normal(size=300)
    design.scores(w)  # compiled code is loaded
    tracemalloc.start()
    design.scores(w)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * 8 * 20_000  # the scores, and nothing of the size of X
