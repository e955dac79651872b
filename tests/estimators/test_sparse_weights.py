"""Weights may be stored sparsely, and the model stays what it is."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import SGDClassifier

import gapfit
from gapfit import LinearClassifier, LinearRegressor, MetricClassifier, NoveltyDetector, OrdinalClassifier

X, Y = load_iris(return_X_y=True)
FITS = {
    "two": (LinearClassifier(penalty="l1", alpha=0.1), Y > 0),
    "three": (LinearClassifier(penalty="l1", alpha=0.1), Y),
    "joint": (LinearClassifier(loss="softmax"), Y),
    "regressor": (LinearRegressor(penalty="l1", alpha=0.1), Y),
    "ordinal": (OrdinalClassifier(penalty="l1", alpha=0.1), Y),
    "novelty": (NoveltyDetector(nu=0.3), None),
    "measure": (MetricClassifier(strategy="surrogate"), Y > 0),
}


@pytest.mark.parametrize("name", FITS)
def test_sparse_weights_predict_the_same(name, tmp_path):
    estimator, y = FITS[name]
    model = clone(estimator).fit(X, y)
    dense, labels = model.coef_, model.predict(X)
    assert model.sparsify() is model
    assert sparse.issparse(model.coef_) and model.coef_.shape == np.atleast_2d(dense).shape
    model.sparsify()
    assert model.coef_.nnz == np.count_nonzero(dense)
    assert_array_equal(model.predict(X), labels)
    assert sparse.issparse(pickle.loads(pickle.dumps(model)).coef_)
    gapfit.save(model, tmp_path / "model")
    loaded = gapfit.load(tmp_path / "model")
    assert_array_equal(loaded.coef_, dense)
    assert_array_equal(loaded.predict(X), labels)
    model.densify().densify()
    assert_array_equal(model.coef_, dense)
    assert model.coef_.dtype == dense.dtype
    assert not sparse.issparse(model.sparsify().fit(X, y).coef_)


def test_statements_hold_of_sparse_weights():
    model = LinearClassifier(alpha=0.1).fit(X, Y > 0)
    lo, hi = model.coef_range(0.01)
    thin = LinearClassifier(alpha=0.1).fit(X, Y > 0).sparsify()
    for ours, theirs in zip(thin.coef_range(0.01), (lo, hi), strict=True):
        assert_array_equal(ours, theirs)
    assert_array_equal(thin.leave_one_out(X, Y > 0).labels, model.leave_one_out(X, Y > 0).labels)


def test_it_is_called_as_in_scikit_learn():
    theirs = SGDClassifier(random_state=0).fit(X, Y).sparsify()
    ours = LinearClassifier().fit(X, Y).sparsify()
    assert type(ours.coef_).__name__.startswith("csr") and theirs.coef_.shape == ours.coef_.shape
