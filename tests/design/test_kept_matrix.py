"""Kernel matrices that are there: whole, parts and products."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from gapfit.design.gram import FunctionTiles
from gapfit.design.kept_matrix import MatrixTiles
from gapfit.design.kernel import KernelDesign
from gapfit.design.kernel_functions import Gaussian, Polynomial

DRAW = np.random.default_rng(3)
X = DRAW.normal(size=(601, 5))  # more than two blocks


@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array])
def test_one_half_is_the_mirror_image_of_the_other(as_given):
    K = FunctionTiles(as_given(X), Gaussian(0.2)).whole()
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, rbf_kernel(X, gamma=0.2), rtol=1e-12)
    K = FunctionTiles(as_given(X), Polynomial(0.5, 3, 1.0)).whole()
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, polynomial_kernel(X, gamma=0.5, degree=3, coef0=1.0), rtol=1e-10)


def test_entries_that_overflow_are_refused():
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="finite"):
        FunctionTiles(1e120 * X, Polynomial(1.0, 3, 0.0)).whole()


@pytest.mark.parametrize(
    "rows", [np.arange(10, 90), np.r_[3:50, 400:601], DRAW.permutation(601)[:70], np.arange(0)]
)
def test_a_part_is_a_part_of_the_matrix_and_nothing_is_computed_again(rows):
    design = KernelDesign(X, Gaussian(0.2))
    part = design.take(rows)
    assert isinstance(part.source, MatrixTiles) and part.indefinite is None
    np.testing.assert_array_equal(part.tiles.K, design.tiles.K[np.ix_(rows, rows)])


@pytest.mark.parametrize("order", ["C", "F"])
def test_products_are_those_of_the_matrix(order):
    K = rbf_kernel(X, gamma=0.2)
    design = KernelDesign(np.asarray(0.5 * (K + K.T), order=order))
    w = DRAW.normal(size=601) * (DRAW.random(601) < 0.3)
    exact = (0.5 * (K + K.T)).astype(np.longdouble) @ w
    scores = design.scores(w)
    assert (np.abs(scores - exact) <= design.slack(w)).all()
    assert design.scores(w.copy()) is scores  # remembered by what w is, and no copy of it
    near = w.copy()
    near[0] += 1.0
    np.testing.assert_allclose(design.scores(near) - scores, K[:, 0], atol=1e-12)


@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array])
def test_the_same_matrix_again_to_the_last_bit(as_given):
    given = as_given(X.copy())
    design = KernelDesign(given, Gaussian(0.2))
    again = design.again()
    given *= 2.0
    np.testing.assert_array_equal(again().tiles.K, design.tiles.K)
    assert KernelDesign(design.tiles.K).again() is None  # the user's own matrix
