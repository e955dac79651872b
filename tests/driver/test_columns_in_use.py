"""Columns that no row has take no part in a fit, and nothing but time tells."""

import numpy as np
import pytest
from scipy import sparse

from gapfit import LinearClassifier, LinearRegressor, Problem, solve
from gapfit.design.memory import MemoryDesign
from gapfit.driver.columns_in_use import ColumnsInUse

FITS = {
    "hinge": (LinearClassifier, {}),
    "squared_hinge": (LinearClassifier, {}),
    "logistic": (LinearClassifier, {"penalty": "l1"}),
    "squared": (LinearRegressor, {}),
    "huber": (LinearRegressor, {"penalty": "elastic_net"}),
    "epsilon_insensitive": (LinearRegressor, {"fit_intercept": False}),
}


def drawn(seed, n=60, d=5000):
    rng = np.random.default_rng(seed)
    X = sparse.random(n, d, density=1.5 / d, random_state=seed, format="csr")
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return X, y + X @ rng.normal(size=d)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loss", FITS)
def test_fits_are_those_of_all_columns(loss, seed):
    X, y = drawn(seed)
    kind, options = FITS[loss]
    y = np.sign(y) if kind is LinearClassifier else y
    model = kind(loss=loss, alpha=1e-3, tol=1e-6, **options).fit(X, y)
    intercept, penalty = options.get("fit_intercept", True), options.get("penalty", "l2")
    wanted = solve(Problem(X, y, loss, penalty, 1e-3, intercept=intercept), tol=1e-8).certificate
    assert model.coef_.shape[-1] == X.shape[1]
    assert not np.ravel(model.coef_)[np.diff(X.tocsc().indptr) == 0].any()
    assert model.objective_ >= wanted.dual and model.objective_ - model.dual_gap_ <= wanted.primal
    assert model.objective_ - wanted.primal <= 1e-6 * abs(wanted.primal)


def test_what_is_left_has_the_same_scores():
    X, _ = drawn(0)
    some = ColumnsInUse.of(MemoryDesign(X))
    assert some.design.shape[1] <= X.nnz
    w = np.random.default_rng(0).normal(size=some.design.shape[1])
    np.testing.assert_array_equal(X @ some.of_all(w), some.design.scores(w))
    several = np.column_stack([w, -w])
    np.testing.assert_array_equal(some.of_all(several), np.column_stack([some.of_all(w), some.of_all(-w)]))


@pytest.mark.parametrize("loss", ["softmax", "crammer_singer"])
def test_classes_are_fitted_without_them(loss):
    X, y = drawn(3)
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    model = LinearClassifier(loss=loss, alpha=1e-2, tol=1e-6, fit_intercept=False).fit(X, labels)
    wanted = solve(Problem(X, labels, loss, "l2", 1e-2, intercept=False), tol=1e-8).certificate
    assert not model.coef_[:, np.diff(X.tocsc().indptr) == 0].any()
    assert model.objective_ - model.dual_gap_ <= wanted.primal <= model.objective_ + 1e-9


@pytest.mark.parametrize("X", [np.ones((5, 90)), sparse.csr_matrix(np.ones((5, 9)))])
def test_nothing_is_left_out_where_little_is_empty(X):
    design = MemoryDesign(X)
    assert ColumnsInUse.of(design).design is design


def test_rows_without_entries_leave_nothing():
    X = sparse.csr_matrix((8, 40))
    model = LinearClassifier(alpha=0.1).fit(X, [0, 1] * 4)
    assert model.coef_.shape == (1, 40) and not model.coef_.any()
    assert model.objective_ == pytest.approx(1.0)
