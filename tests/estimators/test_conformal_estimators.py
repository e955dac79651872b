"""Conformal estimators: scikit-learn's contract, exact sets by brute force, coverage."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapfit import (
    ConformalClassifier,
    ConformalRegressor,
    LinearClassifier,
    LinearRegressor,
    LinearRegressorCV,
)
from gapfit.conformal import as_large

DIABETES = load_diabetes(return_X_y=True)
A, T = scale(DIABETES[0]), scale(DIABETES[1])
BREAST = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)


@parametrize_with_checks([ConformalRegressor(LinearRegressor()), ConformalClassifier(LinearClassifier())])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_intervals_cover_and_are_exact(loss):
    model = ConformalRegressor(LinearRegressor(loss=loss, alpha=0.05), level=0.2).fit(A[:60], T[:60])
    sets = model.predict_sets(A[60:64])
    lo, hi = model.predict_interval(A[60:64])
    k = as_large(0.2, 60)
    for i, found in enumerate(sets):
        assert (lo[i], hi[i]) == (found.outer[0][0], found.outer[-1][1])
        X = np.vstack([A[:60], A[60 + i]])
        for z in np.linspace(lo[i] - 0.5, hi[i] + 0.5, 7):
            y = np.append(T[:60], z)
            fit = LinearRegressor(loss=loss, alpha=0.05, tol=1e-12).fit(X, y)
            residuals = np.abs(y - fit.predict(X))
            if np.abs(residuals[:-1] - residuals[-1]).min() > 1e-5:
                exact = int((residuals[:-1] > residuals[-1]).sum()) >= k
                assert exact <= any(a <= z <= b for a, b in found.outer)
                assert exact >= any(a <= z <= b for a, b in found.inner)


def test_coverage_of_new_samples():
    """320 intervals of level .2, each by samples of its own: the mean cover lies within four deviations."""
    rng, hits = np.random.default_rng(0), []
    for _ in range(40):
        X = rng.normal(size=(38, 2))
        y = X @ [1.0, 2.0] + rng.standard_t(2, size=38)
        model = ConformalRegressor(LinearRegressor(alpha=0.1), level=0.2, resolution=0.05).fit(X[:30], y[:30])
        lo, hi = model.predict_interval(X[30:])
        hits += [np.mean((lo <= y[30:]) & (y[30:] <= hi))]
    assert 0.8 - 4 * np.std(hits) / np.sqrt(40) <= np.mean(hits) <= 0.95


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("classes", [2, 3])
def test_label_sets_are_exact(loss, classes):
    X, y = (scale(BREAST[0])[:90, :4], BREAST[1][:90]) if classes == 2 else (IRIS[0], IRIS[1])
    rows = np.random.default_rng(1).permutation(len(y))
    train, test = rows[:45], rows[45:50]
    model = ConformalClassifier(LinearClassifier(loss=loss, alpha=0.05), level=0.1).fit(X[train], y[train])
    sets, k = model.predict_sets(X[test]), as_large(0.1, 45)
    assert (sets.lo <= sets.hi).all() and (sets.inner <= sets.outer).all()
    assert (sets.inner == sets.outer).mean() > 0.8
    for i, row in enumerate(test):
        for j, label in enumerate(model.classes_):
            both, own = np.vstack([X[train], X[row]]), np.append(y[train], label)
            fit = LinearClassifier(loss=loss, alpha=0.05, tol=1e-12).fit(both, own)
            f = fit.decision_function(both)
            f = np.stack([-f, f], axis=1) / 2 if f.ndim == 1 else f.copy()
            at = np.searchsorted(model.classes_, own)
            mine = f[np.arange(46), at].copy()
            f[np.arange(46), at] = -np.inf
            strange = f.max(axis=1) - mine
            if np.abs(strange[:-1] - strange[-1]).min() > 1e-5:
                exact = int((strange[:-1] > strange[-1]).sum()) >= k
                assert sets.inner[i, j] <= exact <= sets.outer[i, j]
                p = (1 + (strange[:-1] > strange[-1]).sum()) / 46
                assert sets.lo[i, j] <= p <= sets.hi[i, j]


def test_sparse_rows_and_single_precision():
    plain = ConformalRegressor(LinearRegressor(alpha=0.1)).fit(A[:40], T[:40])
    thin = ConformalRegressor(LinearRegressor(alpha=0.1)).fit(sparse.csr_array(A[:40]), T[:40])
    half = ConformalRegressor(LinearRegressor(alpha=0.1)).fit(A[:40].astype(np.float32), T[:40])
    ends = plain.predict_interval(A[50:52])
    np.testing.assert_allclose(thin.predict_interval(sparse.csr_array(A[50:52])), ends, atol=0.03)
    np.testing.assert_allclose(half.predict_interval(A[50:52].astype(np.float32)), ends, atol=0.03)


def test_what_is_refused_by_name():
    with pytest.raises(TypeError, match="estimator must be a LinearRegressor"):
        ConformalRegressor(make_pipeline(StandardScaler(), LinearRegressor())).fit(A, T)
    with pytest.raises(TypeError, match="LinearRegressorCV would choose them without the new sample"):
        ConformalRegressor(LinearRegressorCV()).fit(A, T)
    with pytest.raises(ValueError, match=r"level must lie in \(0, 1\)"):
        ConformalRegressor(LinearRegressor(), level=1.5).fit(A, T)
    with pytest.raises(ValueError, match="resolution must be positive"):
        ConformalRegressor(LinearRegressor(), resolution=0).fit(A, T)
    with pytest.raises(ValueError, match="bounded slopes"):
        ConformalRegressor(LinearRegressor(loss="squared_epsilon_insensitive")).fit(A, T)
    with pytest.raises(ValueError, match="bounded slopes"):
        ConformalRegressor(LinearRegressor(penalty="l1")).fit(A, T)
    with pytest.raises(ValueError, match="several scores at once"):
        ConformalClassifier(LinearClassifier(loss="softmax")).fit(*IRIS)
