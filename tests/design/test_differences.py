"""Differences of rows that are never made: products, sums and rounding as if they were."""

import numpy as np
import pytest
from scipy import sparse

from gapfit.design.differences import DifferenceDesign
from gapfit.design.memory import MemoryDesign
from gapfit.design.rows import row_differences
from gapfit.testing import check_design


def made(X, pairs=60, seed=1):
    above, below = np.random.default_rng(seed).integers(0, X.shape[0], (2, pairs))
    return DifferenceDesign(MemoryDesign(X), above, below), MemoryDesign(row_differences(X, above, below))


def drawn(kind, shift=0.0, seed=0):
    X = np.random.default_rng(seed).normal(size=(20, 7)) + shift
    if kind == "sparse":
        return sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    return X.astype(np.float32) if kind == "float32" else X


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse"])
def test_products_and_sums_are_those_of_the_rows(kind):
    implicit, explicit = made(drawn(kind))
    rng = np.random.default_rng(2)
    w, u = rng.normal(size=7), rng.normal(size=60)
    weight = np.where(rng.random(60) < 0.5, rng.normal(size=60), 0.0)
    np.testing.assert_allclose(implicit.scores(w), explicit.scores(w), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(implicit.adjoint(u), explicit.adjoint(u), rtol=1e-12, atol=1e-12)
    lower = np.tril_indices(7)
    for centre in (None, np.zeros(7), rng.normal(size=7)):
        one, other = (design.weighted_gram(weight, centre)[lower] for design in (implicit, explicit))
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(implicit.squares(weight), explicit.squares(weight), rtol=1e-11, atol=1e-11)
    for one, other in zip(implicit.bend(weight, w, 0.5), explicit.bend(weight, w, 0.5), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)
    some = np.array([3, 1, 3])
    np.testing.assert_allclose(implicit.take(some).scores(w), explicit.take(some).scores(w), atol=1e-12)
    assert implicit.largest >= explicit.largest
    assert (implicit.row_sizes >= explicit.row_sizes).all()


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse"])
def test_it_is_a_design(kind):
    check_design(made(drawn(kind))[0], other=made(drawn(kind), seed=3)[0])


def test_rounding_is_in_terms_of_the_rows_and_not_of_what_is_left_of_them():
    """Rows far from zero differ by little: scores are off in proportion to the rows."""
    implicit, _ = made(drawn("dense", shift=1e8))
    w = np.random.default_rng(4).normal(size=7)
    X = implicit.matrix.X.astype(np.longdouble)
    exact = (X[implicit.above] - X[implicit.below]) @ w.astype(np.longdouble)
    off = np.abs(implicit.scores(w) - exact).astype(float)
    assert off.max() > 1e-10  # far more than a unit in the last place of the differences
    assert (off <= implicit.slack(w)).all()
