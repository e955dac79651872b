"""Indicator matrices: binary relevance, and losses over all labels at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score, hamming_loss, label_ranking_loss

from gapfit import LinearClassifier, Problem, load, save, solve
from gapfit.losses import FBeta, Hamming, LabelRanking, MacroF, MicroF
from gapfit.losses.multilabel import least_error_threshold

X, Y = make_multilabel_classification(n_samples=80, n_features=6, n_classes=4, random_state=1)
X = (X - X.mean(axis=0)) / X.std(axis=0)
JOINT = ("hamming", "label_ranking", "macro_f", "micro_f")


def test_each_loss_bounds_its_measure():
    rng = np.random.default_rng(0)
    for _ in range(20):
        F = rng.normal(size=Y.shape) + 0.5 * (2 * Y - 1)
        labels = (F > 0).astype(int)

        def value(loss, F=F):
            risk = loss.bind(Y.astype(float), np.ones(len(Y)))
            return risk.value_and_subgradient(F.ravel(), np.zeros(0))[0]

        assert value(Hamming()) >= hamming_loss(Y, labels)
        assert value(LabelRanking()) >= label_ranking_loss(Y, F)
        assert value(MacroF()) >= 1 - f1_score(Y, labels, average="macro")
        assert value(MicroF()) >= 1 - f1_score(Y, labels, average="micro")


def test_macro_is_a_mean_over_columns_and_micro_one_vector():
    rng = np.random.default_rng(0)
    F, weight, b = rng.normal(size=Y.shape), rng.integers(1, 3, len(Y)).astype(float), rng.normal(size=4)
    value, u, e = MacroF(2.0).bind(Y.astype(float), weight).value_and_subgradient(F.ravel(), b)
    parts = [
        FBeta(2.0).bind(2.0 * y - 1, weight).value_and_subgradient(f, np.array([offset]))
        for y, f, offset in zip(Y.T, F.T, b, strict=True)
    ]
    assert_allclose(value, np.mean([part[0] for part in parts]))
    assert_allclose(u.reshape(Y.shape), np.stack([part[1] for part in parts], axis=1) / 4)
    assert_allclose(e, [part[2][0] / 4 for part in parts])
    value, u, _ = MicroF().bind(Y.astype(float), weight).value_and_subgradient(F.ravel(), np.zeros(0))
    flat = FBeta().bind(2.0 * Y.ravel() - 1, np.repeat(weight, 4))
    assert value == flat.value_and_subgradient(F.ravel(), np.zeros(1))[0]


def test_hamming_is_binary_relevance():
    """Its problem falls apart into one for each label, whose alpha is as many times as large."""
    joint = LinearClassifier(loss="hamming", alpha=0.01, tol=1e-8).fit(X, Y)
    apart = LinearClassifier(loss="hinge", alpha=0.04, tol=1e-8).fit(X, Y)
    assert_allclose(joint.coef_, apart.coef_, atol=1e-3)
    assert_allclose(joint.objective_, apart.objective_, rtol=1e-6)
    assert len(joint.certificates_) == 1 and len(apart.certificates_) == 4


@pytest.mark.parametrize("loss", ["hinge", "logistic", *JOINT])
def test_fits_and_predictions(loss):
    model = LinearClassifier(loss=loss, alpha=1e-3, tol=1e-3).fit(X, Y)
    assert model.converged_ and model.multilabel_
    assert model.coef_.shape == (4, 6) and model.intercept_.shape == (4,)
    assert_array_equal(model.classes_, np.arange(4))
    scores, labels = model.decision_function(X), model.predict(X)
    assert_array_equal(labels, scores > 0)
    assert hamming_loss(Y, labels) < 0.3
    if loss == "logistic":
        probabilities = model.predict_proba(X)
        assert probabilities.shape == Y.shape
        assert_array_equal(probabilities > 0.5, labels)
    kinds = (Y.tolist(), sparse.csr_array(Y), Y.astype(bool), Y.astype(float))
    for same in kinds if loss == "hinge" else ():
        assert_array_equal(clone(model).fit(X, same).coef_, model.coef_)


def test_what_is_trained_is_what_is_good():
    """On the training data, the measure of each loss is best with that loss, or nearly so."""
    fits = {loss: LinearClassifier(loss=loss, alpha=1e-4, tol=1e-3).fit(X, Y) for loss in JOINT}
    macro = {loss: f1_score(Y, fit.predict(X), average="macro") for loss, fit in fits.items()}
    ranking = {loss: label_ranking_loss(Y, fit.decision_function(X)) for loss, fit in fits.items()}
    assert macro["macro_f"] > macro["label_ranking"]
    assert ranking["label_ranking"] < min(ranking["macro_f"], ranking["micro_f"])


def test_weights_are_copies():
    weight = np.random.default_rng(0).integers(0, 3, len(Y))
    copies = np.repeat(np.arange(len(Y)), weight)
    for loss in ("hinge", *JOINT):
        model = LinearClassifier(loss=loss, alpha=1e-2, tol=1e-2)
        one = clone(model).fit(X, Y, sample_weight=weight)
        other = clone(model).fit(X[copies], Y[copies])
        assert_array_equal(one.coef_, other.coef_)
        assert_array_equal(one.intercept_, other.intercept_)


def test_the_threshold_after_a_ranking_makes_the_fewest_errors():
    rng = np.random.default_rng(0)
    for _ in range(30):
        F, labels = np.rint(2 * rng.normal(size=(6, 3))), (rng.random((6, 3)) < 0.4).astype(float)
        weight = rng.integers(1, 4, 6).astype(float)

        def errors(t, F=F, labels=labels, weight=weight):
            return float((((t < F) != labels) * weight[:, None]).sum())

        places = np.append(np.unique(F), F.min() - 1)
        best = min(errors(t) for t in places)
        assert errors(least_error_threshold(F, labels, weight)) == best


def test_bounds_and_files(tmp_path):
    for loss in ("hinge", "micro_f"):
        model = LinearClassifier(loss=loss, alpha=1e-2, fit_intercept=False).fit(X, Y)
        exact = clone(model).set_params(tol=1e-9).fit(X, Y)
        lo, hi = model.score_bounds(X)
        scores = exact.decision_function(X)
        assert lo.shape == Y.shape and ((lo <= scores) & (scores <= hi)).all()
        sure = model.certified(X)
        assert sure.shape == Y.shape and sure.any()
        assert_array_equal(model.predict(X)[sure], exact.predict(X)[sure])
        save(model, tmp_path / "model")
        loaded = load(tmp_path / "model")
        assert loaded.multilabel_ is True
        assert_array_equal(loaded.predict(X), model.predict(X))
        assert_array_equal(loaded.score_bounds(X)[0], lo)
    two = LinearClassifier(alpha=1e-2).fit(X, Y[:, :2])
    save(two, tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict(X), two.predict(X))
    assert two.coef_.shape == (2, 6)


def test_what_does_not_go_together_is_named():
    with pytest.raises(ValueError, match="indicator matrix"):
        LinearClassifier(loss="macro_f").fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="indicator matrix"):
        LinearClassifier(loss="softmax").fit(X, Y)
    with pytest.raises(ValueError, match="class_weight"):
        LinearClassifier(class_weight="balanced").fit(X, Y)
    with pytest.raises(ValueError, match="indicator matrix"):
        LinearClassifier().fit(X, Y + 1)
    with pytest.raises(ValueError, match="label 2"):
        LinearClassifier(loss="macro_f").fit(X, np.where(np.arange(4) == 2, 0, Y))
    with pytest.raises(ValueError, match="y has 79 rows"):
        LinearClassifier().fit(X, Y[1:])
    for loss in (Hamming(), LabelRanking(), MacroF(), MicroF()):
        with pytest.raises(ValueError, match="zeros and ones"):
            Problem(X, Y * 2.0, loss)
    with pytest.raises(ValueError, match="y"):
        Problem(X, Y[:, 0], Hamming())
    with pytest.raises(ValueError, match="beta"):
        MacroF(beta=0)


def test_other_penalties():
    for loss in JOINT:
        assert solve(Problem(X, Y, loss, "l1", 1e-2), tol=1e-2).converged


def test_roundings_are_those_of_the_parts():
    """What is made of another risk is rounded no less than that."""
    y, weight, scores = Y.astype(float), np.ones(len(Y)), np.zeros(Y.size)
    column = FBeta().bind(2.0 * y[:, 0] - 1.0, weight).roundings(scores[: len(Y)])
    whole = FBeta().bind(2.0 * y.ravel() - 1.0, np.ones(Y.size)).roundings(scores)
    assert MacroF().bind(y, weight).roundings(scores) > column
    assert MicroF().bind(y, weight).roundings(scores) > whole
    assert LabelRanking().bind(y, weight).roundings(scores) > whole
