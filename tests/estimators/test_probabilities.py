"""Probabilities of all classifiers: calibrated within the fit, or of the loss itself."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapfit import (
    AlphaSearchCV,
    KernelSVC,
    KernelSVCCV,
    LinearClassifier,
    LinearClassifierCV,
    MetricClassifier,
    OrdinalClassifier,
    Ranker,
    RankerCV,
    load,
    save,
)
from gapfit.losses import OrdinalThresholds
from gapfit.reductions import Multiset

BREAST, IRIS = (f(return_X_y=True) for f in (load_breast_cancer, load_iris))
X, Y = scale(BREAST[0])[:, :8], BREAST[1]
ROWS = np.random.default_rng(0).permutation(len(Y))
TRAIN, TEST = ROWS[:250], ROWS[250:]
ALL = [
    LinearClassifier(alpha=1e-2),
    LinearClassifier(loss="squared_hinge", alpha=1e-2),
    LinearClassifierCV(alphas=2, cv=2),
    KernelSVC(),
    KernelSVCCV(Cs=(1.0, 10.0), cv=2),
    OrdinalClassifier(alpha=1e-2),
    MetricClassifier(strategy="cost_path", alpha=1e-2, cv=2),
]


# what is certified is what the scores say, and so is what is predicted
BY_SCORES = {"check_classifiers_train": "predict goes by scores, not always the most probable label"}


@parametrize_with_checks(
    [
        LinearClassifier(calibrate="sigmoid"),
        LinearClassifier(calibrate="isotonic"),
        KernelSVC(calibrate="sigmoid"),
        OrdinalClassifier(calibrate="sigmoid"),
        OrdinalClassifier(loss=OrdinalThresholds("immediate", "logistic")),
    ],
    expected_failed_checks=lambda one: BY_SCORES if one.calibrate and not isinstance(one, KernelSVC) else {},
)
@pytest.mark.filterwarnings("ignore:y holds a class of one sample")
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("model", ALL, ids=str)
def test_all_have_them(model, method, tmp_path):
    assert not hasattr(model.set_params(calibrate=None), "predict_proba")
    model.set_params(calibrate=method).fit(X[TRAIN], Y[TRAIN])
    p = model.predict_proba(X[TEST])
    assert p.shape == (len(TEST), 2) and (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(model.predict_log_proba(X[TEST]), np.log(p))
    base = Y[TRAIN].mean()
    assert log_loss(Y[TEST], np.clip(p[:, 1], 1e-3, 1 - 1e-3)) < 0.5 * log_loss(
        Y[TEST], np.full(len(TEST), base)
    )
    assert all((curve.certificate is not None) == (method == "sigmoid") for curve in model.calibration_)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X[TEST]), p)
    assert [c.certificate for c in again.calibration_] == [c.certificate for c in model.calibration_]


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_they_are_those_of_scikit_learns_way_around(method):
    """A single model with curves by the same folds; scikit-learn's sigmoid is fitted less tightly."""
    model = LinearClassifier(alpha=1e-2, tol=1e-9, calibrate=method).fit(X[TRAIN], Y[TRAIN])
    rows = Multiset.of(X[TRAIN], Y[TRAIN], np.ones(len(TRAIN)), None).rows  # in the order of their contents
    cut = StratifiedKFold(5, shuffle=True, random_state=0).split(rows, Y[TRAIN][rows])
    folds = [(rows[train], rows[test]) for train, test in cut]
    base = LinearClassifier(alpha=1e-2, tol=1e-9)
    other = CalibratedClassifierCV(base, method=method, cv=folds, ensemble=False).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_allclose(model.predict_proba(X[TEST]), other.predict_proba(X[TEST]), atol=2e-3)


@pytest.mark.parametrize(
    "model",
    [
        LinearClassifier(alpha=1e-2, calibrate="sigmoid"),
        KernelSVC(calibrate="sigmoid"),
        KernelSVC(calibrate="sigmoid", decision_function_shape="ovo"),
        OrdinalClassifier(alpha=1e-2, calibrate="isotonic"),
        OrdinalClassifier(alpha=1e-2, loss=OrdinalThresholds("immediate", "logistic")),
    ],
    ids=str,
)
def test_several_classes(model):
    names = np.array(["a", "b", "c"])[IRIS[1]]
    p = model.fit(IRIS[0], names).predict_proba(IRIS[0])
    assert p.shape == (150, 3) and (p >= -1e-12).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (names == model.classes_[p.argmax(axis=1)]).mean() > 0.85
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(np.exp(model.predict_log_proba(IRIS[0])), p, atol=1e-12)


def test_levels_of_an_order_of_their_own():
    levels = pd.Categorical.from_codes(IRIS[1], ["c", "a", "b"], ordered=True)
    model = OrdinalClassifier(alpha=1e-2, calibrate="sigmoid").fit(IRIS[0], levels)
    assert model.classes_.tolist() == ["c", "a", "b"]
    assert (model.predict_proba(IRIS[0]).argmax(axis=1) == IRIS[1]).mean() > 0.85


def test_the_size_of_scores_of_a_measure_means_nothing():
    """On each fold another member may win, with weights of another size: curves are of directions."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(4000, 12))
    odds = A[:, :4] @ [3.0, 2.0, -2.0, 1.0] - 2.0 + 0.5 * A[:, 4] ** 2
    t = rng.random(4000) < 1 / (1 + np.exp(-odds))
    model = MetricClassifier(strategy="cost_path", alpha=1e-3, calibrate="sigmoid").fit(A[:1000], t[:1000])
    p = model.predict_proba(A[1000:])[:, 1]
    share, told = calibration_curve(t[1000:], p, n_bins=8, strategy="quantile")
    assert np.abs(share - told).max() < 0.1  # .17 with the scores as they are


def test_likelihoods_need_no_calibration():
    model = LinearClassifier(loss="logistic", alpha=1e-2).fit(X, Y)
    far = 1e4 * X[:5]
    assert np.isfinite(model.predict_log_proba(far)).all()  # where probabilities are 0 and 1
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    joint = LinearClassifier(loss="softmax", alpha=1e-2).fit(*IRIS)
    np.testing.assert_allclose(np.exp(joint.predict_log_proba(IRIS[0])), joint.predict_proba(IRIS[0]))
    search = AlphaSearchCV(model, alpha_range=(1e-2, 1.0), eps=0.5, cv=2, max_fits=10).fit(X, Y)
    np.testing.assert_array_equal(search.predict_log_proba(X), search.best_estimator_.predict_log_proba(X))


def test_weights_sparse_rows_and_absent_samples():
    twice = np.concatenate([TRAIN, TRAIN[:60]])
    weight = np.ones(len(TRAIN))
    weight[:60] = 2.0
    plain = LinearClassifier(alpha=1e-2, calibrate="sigmoid").fit(X[TRAIN], Y[TRAIN], weight)
    thin = LinearClassifier(alpha=1e-2, calibrate="sigmoid").fit(sparse.csr_array(X[TRAIN]), Y[TRAIN], weight)
    np.testing.assert_allclose(plain.predict_proba(X[TEST]), thin.predict_proba(X[TEST]), atol=1e-3)
    copies = LinearClassifier(alpha=1e-2, calibrate="sigmoid").fit(X[twice], Y[twice])
    np.testing.assert_allclose(plain.predict_proba(X[TEST]), copies.predict_proba(X[TEST]), atol=0.1)
    more = np.append(TRAIN, TEST[:50])
    none = np.append(weight, np.zeros(50))
    absent = LinearClassifier(alpha=1e-2, calibrate="sigmoid").fit(X[more], Y[more], none)
    np.testing.assert_allclose(plain.predict_proba(X[TEST]), absent.predict_proba(X[TEST]), atol=1e-6)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("kind", [Ranker, RankerCV])
def test_relevance_of_documents(kind, method, tmp_path):
    rng = np.random.default_rng(0)
    A, qid = rng.normal(size=(600, 4)), np.repeat(np.arange(60), 10)
    truth = 1 / (1 + np.exp(-2 * A[:, 0] + A[:, 1]))
    relevant = (rng.random(600) < truth).astype(int)
    model = kind(calibrate=method).fit(A[:300], relevant[:300], qid=qid[:300])
    p = model.relevance(A[300:])
    assert np.abs(p - truth[300:]).mean() < 0.1
    assert (
        log_loss(relevant[300:], np.clip(p, 1e-3, 1 - 1e-3))
        < 0.55
        < log_loss(relevant[300:], np.full(300, 0.5))
    )
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").relevance(A[300:]), p)
    assert Ranker(calibrate=method).fit(A[:100], relevant[:100]).relevance(A).shape == (600,)
    with pytest.raises(ValueError, match="relevance needs"):
        Ranker().fit(A, relevant, qid=qid).relevance(A)


def test_what_is_refused_by_name():
    with pytest.raises(AttributeError) as error:
        LinearClassifier().fit(X, Y).predict_proba
    assert "calibrate='sigmoid' or 'isotonic', or loss='logistic'" in str(error.value.__cause__)
    with pytest.raises(ValueError, match="calibrate must be"):
        LinearClassifier(calibrate="platt").fit(X, Y)
    with pytest.warns(UserWarning, match="class of one sample"):
        LinearClassifier(calibrate="sigmoid").fit(X[:4], [0, 1, 1, 1])
    with pytest.raises(ValueError, match="precomputed"):
        KernelSVC(kernel="precomputed", calibrate="sigmoid").fit(X[:30] @ X[:30].T, Y[:30])
    with pytest.raises(ValueError, match="indicator matrix"):
        LinearClassifier(calibrate="sigmoid").fit(X, np.stack([Y, 1 - Y], axis=1))
    late = LinearClassifier().fit(X, Y).set_params(calibrate="sigmoid")
    with pytest.raises(AttributeError) as error:
        late.predict_proba(X)
    assert "fitted without calibrate" in str(error.value.__cause__)
