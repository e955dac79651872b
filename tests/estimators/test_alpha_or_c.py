"""The weight of the penalty, as alpha or as C: the same model, and never both."""

import numpy as np
import pytest
import sklearn.linear_model as skl
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import scale
from sklearn.svm import SVC

import gapfit
from gapfit import (
    AlphaSearchCV,
    ConformalRegressor,
    LinearClassifier,
    LinearRegressor,
    NoveltyDetector,
    OrdinalClassifier,
    Ranker,
    estimators,
)
from gapfit.cli.main import run
from gapfit.datasets import Data, save

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)[:200]
Y = Y[:200]
LEVELS = np.digitize(X[:, 0], [-0.5, 0.5])
WEIGHT = np.random.default_rng(3).integers(0, 4, size=200)
FITS = {
    "classifier": (LinearClassifier(), Y),
    "weighted classes": (LinearClassifier(class_weight={0: 3.0, 1: 1.0}), Y),
    "several": (LinearClassifier(loss="logistic"), LEVELS),
    "joint": (LinearClassifier(loss="softmax"), LEVELS),
    "regressor": (LinearRegressor(loss="huber"), X[:, 0] + 1),
    "ordinal": (OrdinalClassifier(), LEVELS),
    "ranker": (Ranker(), LEVELS),
    "novelty": (NoveltyDetector(nu=0.3), None),
}


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_what_c_was_found_gives_the_same_model(name, weight):
    estimator, y = FITS[name]
    by_alpha = clone(estimator).set_params(alpha=0.03).fit(X + 2, y, sample_weight=weight)
    by_c = clone(estimator).set_params(C=by_alpha.C_).fit(X + 2, y, sample_weight=weight)
    assert_allclose(by_c.alpha_, 0.03, rtol=1e-12)
    assert_allclose(by_c.C_, by_alpha.C_, rtol=1e-12)
    assert_allclose(by_c.coef_, by_alpha.coef_, rtol=1e-3, atol=1e-3 * np.abs(by_alpha.coef_).max())
    assert by_c.converged_


def test_peers_minimise_the_same_for_the_same_c():
    C, weight = 0.7, WEIGHT + 0.5
    ours = LinearClassifier(loss="logistic", C=C, tol=1e-10).fit(X, Y, sample_weight=weight)
    theirs = skl.LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, Y, sample_weight=weight)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4 * np.abs(ours.coef_).max())
    ours = LinearClassifier(C=C, tol=1e-10, class_weight={0: 3.0, 1: 0.5}).fit(X, Y)
    theirs = SVC(C=C, kernel="linear", tol=1e-8, class_weight={0: 3.0, 1: 0.5}).fit(X, Y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4 * np.abs(ours.coef_).max())


@pytest.mark.parametrize("name", FITS)
def test_both_at_once_are_refused(name):
    estimator, y = FITS[name]
    with pytest.raises(ValueError, match=r"alpha=0.03 and C=1.0 say the same thing twice"):
        clone(estimator).set_params(alpha=0.03, C=1.0).fit(X, y)


@pytest.mark.parametrize("C", [0.0, -1.0, np.inf, np.nan])
def test_c_is_positive_and_finite(C):
    with pytest.raises(ValueError, match="C must be positive and finite"):
        LinearClassifier(C=C).fit(X, Y)


def test_what_chooses_alpha_takes_no_c():
    for name in ("LinearClassifierCV", "LinearRegressorCV", "OrdinalClassifierCV", "RankerCV"):
        assert "C" not in getattr(estimators, name)().get_params()
    with pytest.raises(ValueError, match="leave C out"):
        AlphaSearchCV(LinearClassifier(C=1.0)).fit(X, Y)


def test_calibration_and_conformal_sets_know_c():
    model = LinearClassifier(C=0.1, calibrate="sigmoid").fit(X, Y)
    same = LinearClassifier(alpha=model.alpha_, calibrate="sigmoid").fit(X, Y)
    assert_allclose(model.predict_proba(X), same.predict_proba(X), atol=1e-3)
    R, t = load_diabetes(return_X_y=True)
    R, t = scale(R)[:41], scale(t)[:41]
    by_c = ConformalRegressor(LinearRegressor(C=0.25)).fit(R[:40], t[:40])
    by_alpha = ConformalRegressor(LinearRegressor(alpha=1 / (0.25 * 41))).fit(R[:40], t[:40])
    default = ConformalRegressor(LinearRegressor()).fit(R[:40], t[:40])
    ends, same, other = (np.ravel(one.predict_interval(R[40:])) for one in (by_c, by_alpha, default))
    assert np.abs(ends - same).max() < 0.01 < np.abs(ends - other).max()  # within their resolution


def test_files_keep_c(tmp_path):
    model = LinearClassifier(C=2.0).fit(X, Y)
    gapfit.save(model, tmp_path / "model")
    again = gapfit.load(tmp_path / "model")
    assert again.C == 2.0 and again.get_params() == model.get_params()
    assert_array_equal(again.coef_, model.coef_)


def test_the_command_line_weighs_classes_as_liblinear_does(tmp_path):
    """C multiplies the sum of weighted losses, not their number."""
    save(tmp_path / "data.svm", Data(X, np.where(Y > 0, 1.0, -1.0)))
    options = ["-c", "0.5", "-w", "-1", "4", "-e", "1e-8", "-q"]
    assert run(["train", str(tmp_path / "data.svm"), str(tmp_path / "model"), *options]) == 0
    model = gapfit.load(tmp_path / "model")
    theirs = SVC(C=0.5, kernel="linear", tol=1e-8, class_weight={-1: 4.0}).fit(X, np.where(Y > 0, 1, -1))
    assert_allclose(model.coef_, theirs.coef_, atol=1e-3 * np.abs(theirs.coef_).max())
    assert model.C == 0.5 and model.alpha_ == pytest.approx(1 / (0.5 * np.where(Y > 0, 1, 4).sum()))
