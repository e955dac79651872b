"""Which samples a linear model is made of, as libsvm tells it."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from sklearn.svm import SVC, SVR

import gapfit
from gapfit import LinearClassifier, LinearRegressor, OrdinalClassifier, Ranker
from gapfit.penalties import ElasticNet

X, Y = load_breast_cancer(return_X_y=True)
X, Y = scale(X)[:200], Y[:200]
LEVELS = np.digitize(X[:, 0], [-0.5, 0.5])
FITS = {
    "hinge": (LinearClassifier(), Y),
    "logistic": (LinearClassifier(loss="logistic"), Y),
    "several": (LinearClassifier(loss="squared_hinge"), LEVELS),
    "softmax": (LinearClassifier(loss="softmax"), LEVELS),
    "joint, two": (LinearClassifier(loss="softmax"), Y),
    "crammer": (LinearClassifier(loss="crammer_singer"), LEVELS),
    "labels": (LinearClassifier(), np.stack([Y, X[:, 0] > 0], axis=1)),
    "squared": (LinearRegressor(), X[:, 0] + Y),
    "poisson": (LinearRegressor(loss="poisson"), LEVELS),
    "quantile": (LinearRegressor(loss="quantile"), X[:, 0] + Y),
    "ordinal": (OrdinalClassifier(), LEVELS),
    "ranker": (Ranker(), LEVELS),
}
every_fit = pytest.mark.parametrize("name", FITS)
matrices = pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])


def fitted(name, rows=X, **given):
    model, y = FITS[name]
    return clone(model).set_params(C=1.0, tol=1e-8).fit(rows, y, **given)


@every_fit
@matrices
def test_weights_are_made_of_support_vectors(name, kind):
    model = fitted(name, kind(X))
    made = model.dual_coef_ @ model.support_vectors_
    assert model.dual_coef_.shape == (len(np.atleast_2d(model.coef_)), len(model.support_))
    assert (model.dual_coef_ != 0).any(axis=0).all()
    assert_allclose(np.atleast_2d(made), np.atleast_2d(model.coef_), atol=1e-3 * np.abs(model.coef_).max())
    assert_allclose(np.asarray(X[model.support_]), np.asarray(model.support_vectors_ @ np.eye(X.shape[1])))


def test_they_are_those_of_libsvm():
    model, theirs = fitted("hinge"), SVC(C=1.0, kernel="linear", tol=1e-9).fit(X, Y)
    assert_array_equal(model.support_, np.sort(theirs.support_))
    order = np.argsort(theirs.support_)
    assert_allclose(model.dual_coef_, theirs.dual_coef_[:, order], atol=1e-4)
    target = X[:, 0] + Y
    model = LinearRegressor(loss="epsilon_insensitive", C=1.0, tol=1e-9).fit(X[:, 1:], target)
    theirs = SVR(C=1.0, epsilon=model._kept.loss.epsilon, kernel="linear", tol=1e-9).fit(X[:, 1:], target)
    theirs_all = np.zeros(len(X))
    theirs_all[theirs.support_] = theirs.dual_coef_[0]
    ours_all = np.zeros(len(X))
    ours_all[model.support_] = model.dual_coef_[0]
    assert_allclose(ours_all, theirs_all, atol=2e-3)


@pytest.mark.parametrize("name", ["hinge", "logistic", "several", "squared"])
def test_copies_share_what_a_weight_has(name):
    _, y = FITS[name]
    twice = np.concatenate([np.arange(200), np.arange(50)])
    weight = np.ones(200)
    weight[:50] = 2.0
    weight[50] = 0.0
    left = np.ones(250)
    left[50] = 0.0
    model, y_twice = FITS[name][0], np.asarray(y)[twice]
    copies = clone(model).set_params(C=1.0, tol=1e-8).fit(X[twice], y_twice, sample_weight=left)
    each = np.zeros((len(copies.dual_coef_), 250))
    each[:, copies.support_] = copies.dual_coef_
    weighed = fitted(name, sample_weight=weight)
    other = np.zeros((len(weighed.dual_coef_), 200))
    other[:, weighed.support_] = weighed.dual_coef_
    assert_array_equal(each[:, :50], each[:, 200:])
    each[:, :50] += each[:, 200:]
    assert_allclose(each[:, :200], other, atol=1e-12 + 1e-9 * np.abs(other).max())
    assert not other[:, 50].any()


@pytest.mark.parametrize("penalty", ["l1", ElasticNet(0.5)])
def test_other_penalties_have_a_slope_there(penalty):
    model = LinearClassifier(penalty=penalty, C=0.1, tol=1e-9).fit(X, Y)
    slope, w = (model.dual_coef_ @ model.support_vectors_)[0], model.coef_[0]
    l1, l2 = (1.0, 0.0) if penalty == "l1" else (0.5, 0.5)
    assert_allclose(slope[w != 0], (l1 * np.sign(w) + l2 * w)[w != 0], atol=1e-4)
    assert (np.abs(slope[w == 0]) <= l1 + 1e-4).all()


def test_what_is_proved_agrees():
    model = fitted("hinge")
    status = model.support_status_
    assert np.isin(np.flatnonzero(np.isin(status, ["bound", "support"])), model.support_).all()


def test_a_stored_model_says_that_it_has_none(tmp_path):
    model = fitted("hinge")
    gapfit.save(model, tmp_path / "model")
    for stored in (pickle.loads(pickle.dumps(model)), gapfit.load(tmp_path / "model")):
        with pytest.raises(AttributeError, match="dual point is not known"):
            stored.support_
        assert not hasattr(stored, "dual_coef_")


def test_large_data_are_not_copied_for_it():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50_000, 90))
    model = LinearClassifier(alpha=0.1, tol=1e-2).fit(rows, rows[:, 0] > 0)
    with pytest.raises(AttributeError, match=r"X\[support_\]"):
        model.support_vectors_
    made = model.dual_coef_ @ rows[model.support_]
    assert_allclose(made, model.coef_, atol=0.1 * np.abs(model.coef_).max())


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_what_is_said_later_is_of_the_samples_that_were_given(kind, loss):
    """Rows that are many, and stay in their order, are copied: the user may write to them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 4)) * (rng.random((12_000, 4)) < 0.9)
    y = X[:, 0] + 0.1 * rng.normal(size=12_000)
    rows = sparse.csr_array(X) if kind == "sparse" else X
    model, targets = LinearClassifier(alpha=0.1), np.where(y > 0, 1, -1)
    if loss == "squared":
        model, targets = LinearRegressor(loss="squared", alpha=0.1), y.copy()
    at_once = clone(model).fit(rows, targets)
    at_once.support_status_
    later = model.fit(rows, targets)
    assert "support_status_" in vars(later)["_later"]
    (rows.data if kind == "sparse" else rows)[...] = 1e3
    targets[:] = 1
    np.testing.assert_array_equal(later.support_status_, at_once.support_status_)
    for mine, other in zip(later.score_bounds(X[:50]), at_once.score_bounds(X[:50]), strict=True):
        np.testing.assert_array_equal(mine, other)
