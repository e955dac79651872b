"""Sparse rows that are nearly full are fitted as dense ones, and nothing but time tells."""

import numpy as np
import pytest
from scipy import sparse

from gapfit import LinearClassifier, LinearRegressor
from gapfit.design.memory import MemoryDesign
from gapfit.driver.one_call_given import Plain
from gapfit.registry import as_loss, as_penalty

FITS = {
    "hinge": (LinearClassifier, {}),
    "logistic": (LinearClassifier, {"penalty": "l1"}),
    "softmax": (LinearClassifier, {}),
    "squared": (LinearRegressor, {"penalty": "elastic_net"}),
    "quantile": (LinearRegressor, {"fit_intercept": False}),
}


def drawn(seed, density, n=150, d=12):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    return X, X @ rng.normal(size=d) + rng.normal(size=n)


@pytest.mark.parametrize("density, filled", [(0.05, False), (0.15, False), (0.4, True), (1.0, True)])
def test_nearly_full_rows_are_dense(density, filled):
    X, _ = drawn(0, density)
    design = MemoryDesign(sparse.csr_matrix(X))
    given = Plain.of(design, np.ones(len(X)), as_loss("hinge"), as_penalty("l2"), 0.1, True)
    assert sparse.issparse(given.design.X) is not filled
    np.testing.assert_array_equal(given.design.X.toarray() if not filled else given.design.X, X)


@pytest.mark.parametrize("density", [0.1, 0.5])
@pytest.mark.parametrize("loss", FITS)
def test_fits_are_those_of_dense_rows(loss, density):
    kind, options = FITS[loss]
    X, f = drawn(1, density)
    y = np.digitize(f, [-1, 1] if loss == "softmax" else [0]) if kind is LinearClassifier else f
    ends = [
        kind(loss=loss, alpha=0.02, tol=1e-6, **options).fit(some, y) for some in (X, sparse.csr_matrix(X))
    ]
    for one, other in (ends, ends[::-1]):
        assert one.objective_ - one.dual_gap_ <= other.objective_
        assert one.certificates_[0].relative_gap <= 1e-6
