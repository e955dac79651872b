"""Estimators that choose by cross-validation: against grid search, their contract, files and pictures."""

import doctest
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapfit import (
    KernelSVC,
    KernelSVCCV,
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    LinearRegressorCV,
    OrdinalClassifier,
    OrdinalClassifierCV,
    Ranker,
    RankerCV,
    load,
    plot_selection,
    save,
)
from gapfit.design.memory import MemoryDesign

BREAST, DIABETES, IRIS = (f(return_X_y=True) for f in (load_breast_cancer, load_diabetes, load_iris))
X, Y = scale(BREAST[0])[:200], BREAST[1][:200]
A, T = scale(DIABETES[0])[:150], scale(DIABETES[1])[:150]
LEVELS = np.digitize(T, [-0.7, 0.0, 0.7])
QUERIES = np.repeat(np.arange(15), 10)
ALPHAS = (1e-3, 1e-1, 1.0)


@parametrize_with_checks(
    [
        LinearClassifierCV(alphas=3, cv=2),
        LinearRegressorCV(alphas=3, cv=2),
        OrdinalClassifierCV(alphas=2, cv=2),
        RankerCV(alphas=2, cv=2),
        KernelSVCCV(Cs=(1.0, 10.0), cv=2),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("chooser", "base", "data", "scoring"),
    [
        (LinearClassifierCV(loss="logistic"), LinearClassifier(loss="logistic"), (X, Y), None),
        (LinearClassifierCV(loss="hinge"), LinearClassifier(loss="hinge"), (X, Y), "balanced_accuracy"),
        (LinearClassifierCV(loss="softmax"), LinearClassifier(loss="softmax"), IRIS, "neg_log_loss"),
        (LinearClassifierCV(loss="squared_hinge"), LinearClassifier(loss="squared_hinge"), IRIS, None),
        (LinearRegressorCV(), LinearRegressor(), (A, T), None),
        (LinearRegressorCV(loss="huber"), LinearRegressor(loss="huber"), (A, T), "neg_mean_absolute_error"),
        (LinearRegressorCV(penalty="l1"), LinearRegressor(penalty="l1"), (A, T), None),
        (OrdinalClassifierCV(), OrdinalClassifier(), (A, LEVELS), "neg_mean_absolute_error"),
        (OrdinalClassifierCV(loss="pairs"), OrdinalClassifier(loss="pairs"), (A, LEVELS), None),
    ],
    ids=str,
)
def test_it_chooses_what_a_grid_search_chooses(chooser, base, data, scoring):
    """Tightly fitted, scores are the same; scikit-learn takes the first of equal ones."""
    chooser.set_params(alphas=ALPHAS, cv=3, scoring=scoring, tol=1e-9).fit(*data)
    grid = GridSearchCV(base.set_params(tol=1e-9), {"alpha": ALPHAS[::-1]}, cv=3, scoring=scoring).fit(*data)
    assert chooser.cv_results_["alpha"] == list(ALPHAS[::-1])
    np.testing.assert_allclose(
        chooser.cv_results_["mean_score"], grid.cv_results_["mean_test_score"], rtol=1e-4
    )
    np.testing.assert_allclose(
        chooser.cv_results_["std_score"], grid.cv_results_["std_test_score"], atol=1e-4
    )
    assert chooser.alpha_ == grid.best_params_["alpha"] and chooser.converged_
    assert chooser.best_score_ == pytest.approx(grid.best_score_, rel=1e-4)
    np.testing.assert_allclose(chooser.coef_, grid.best_estimator_.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(chooser.predict(data[0]).round(3), grid.predict(data[0]).round(3))


def test_rankers_leave_whole_queries_out():
    model = RankerCV(alphas=ALPHAS, cv=3, tol=1e-8).fit(A, LEVELS, qid=QUERIES)
    scores = []
    for k in range(3):
        assert len(model.cv_results_[f"score_{k}"]) == 3
    from sklearn.model_selection import GroupKFold

    for train, test in GroupKFold(3).split(A, LEVELS, QUERIES):
        one = Ranker(alpha=model.alpha_, tol=1e-8).fit(A[train], LEVELS[train], qid=QUERIES[train])
        scores.append(one.score(A[test], LEVELS[test], qid=QUERIES[test]))
    assert model.best_score_ == pytest.approx(np.mean(scores), abs=1e-6)
    assert RankerCV(alphas=2, cv=2).fit(A, LEVELS).converged_  # all one query


def test_kernel_machines_choose_c_and_gamma():
    grid = {"C": [0.1, 1.0, 10.0], "gamma": ["scale", 0.5]}
    model = KernelSVCCV(Cs=grid["C"], gammas=grid["gamma"], cv=3, tol=1e-6).fit(*IRIS)
    other = GridSearchCV(KernelSVC(tol=1e-6), grid, cv=3).fit(*IRIS)
    np.testing.assert_allclose(model.cv_results_["mean_score"], other.cv_results_["mean_test_score"])
    assert (model.C_, model.best_gamma_) == (other.best_params_["C"], other.best_params_["gamma"])
    assert model.C == model.C_ and isinstance(model.gamma_, float)
    np.testing.assert_array_equal(model.predict(IRIS[0]), other.predict(IRIS[0]))
    with pytest.raises(ValueError, match="precomputed"):
        KernelSVCCV(kernel="precomputed").fit(np.eye(10), np.arange(10) % 2)


@pytest.mark.parametrize(
    "model",
    [
        LinearClassifierCV(alphas=[0.1, 0.01], cv=2),
        LinearRegressorCV(alphas=2, cv=2),
        OrdinalClassifierCV(alphas=2, cv=2),
        RankerCV(alphas=2, cv=2),
        KernelSVCCV(Cs=(1.0, 2.0), gammas=("scale", 0.3), cv=2),
    ],
    ids=str,
)
def test_files_hold_what_was_chosen_and_from_what(model, tmp_path):
    y = T if isinstance(model, LinearRegressorCV) else LEVELS
    model.fit(A, y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.cv_results_ == model.cv_results_ and again.best_score_ == model.best_score_
    assert (
        again.get_params() == model.get_params() and again.alpha_ == model.alpha_
        if hasattr(model, "alphas")
        else True
    )
    np.testing.assert_array_equal(again.predict(A), model.predict(A))


def test_weights_queries_and_splitters():
    weight = np.where(Y == 1, 2.0, 1.0)
    by_weight = LinearClassifierCV(alphas=ALPHAS, cv=3, tol=1e-8).fit(X, Y, sample_weight=weight)
    by_class = LinearClassifierCV(alphas=ALPHAS, cv=3, tol=1e-8, class_weight={0: 1.0, 1: 2.0}).fit(X, Y)
    np.testing.assert_allclose(by_weight.cv_results_["mean_score"], by_class.cv_results_["mean_score"])
    np.testing.assert_allclose(by_weight.coef_, by_class.coef_, atol=1e-5)
    folds = list(KFold(3).split(A))
    one, other = (LinearRegressorCV(alphas=ALPHAS, cv=cv).fit(A, T) for cv in (KFold(3), folds))
    assert one.cv_results_ == other.cv_results_
    frame = pd.DataFrame(A, columns=[f"c{k}" for k in range(A.shape[1])])
    named = LinearRegressorCV(alphas=ALPHAS, cv=folds).fit(frame, T)
    assert named.cv_results_ == other.cv_results_ and list(named.feature_names_in_) == list(frame)
    pressed = pd.Categorical.from_codes(LEVELS, ["d", "c", "b", "a"], ordered=True)
    levels = OrdinalClassifierCV(alphas=ALPHAS, cv=3).fit(A, pressed)
    assert levels.classes_.tolist() == ["d", "c", "b", "a"]


def test_the_largest_of_equal_alphas_is_taken():
    apart = np.concatenate([np.full((20, 1), -1.0), np.full((20, 1), 1.0)])
    model = LinearClassifierCV(alphas=[1e-4, 1e-2, 1e-3], cv=2).fit(apart, np.repeat([0, 1], 20))
    assert model.best_score_ == 1.0 and model.alpha_ == 1e-2


def test_there_is_no_alpha_to_set():
    assert "alpha" not in LinearClassifierCV().get_params()
    with pytest.raises(TypeError):
        LinearClassifierCV(alpha=1.0)
    with pytest.raises(AttributeError, match="chosen by fit"):
        LinearClassifierCV().alpha
    model = LinearClassifierCV(alphas=2, cv=2).fit(X, Y)
    assert model.alpha == model.alpha_ and not hasattr(clone(model), "alpha_")


def test_what_is_refused_by_name():
    with pytest.raises(ValueError, match="alphas must be positive"):
        LinearClassifierCV(alphas=[1.0, -1.0]).fit(X, Y)
    with pytest.raises(ValueError, match="cv must be"):
        LinearClassifierCV(cv=1).fit(X, Y)
    with pytest.raises(ValueError, match="class of one sample"):
        LinearClassifierCV().fit(X[:5], [0, 0, 0, 0, 1])
    with pytest.raises(TypeError, match="X must be in memory for LinearRegressorCV"):
        LinearRegressorCV().fit(MemoryDesign(A), T)
    with pytest.raises(ValueError, match="Cs and gammas"):
        KernelSVCCV(Cs=[]).fit(X, Y)


@pytest.mark.parametrize("module", ["chosen", "conformal", "conformal_labels", "alpha_search"])
def test_examples(module):
    results = doctest.testmod(import_module(f"gapfit.estimators.{module}"))
    assert results.attempted and not results.failed


def test_the_picture():
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = plot_selection(LinearClassifierCV(alphas=ALPHAS, cv=2).fit(X, Y))
    assert ax.get_xlabel() == "alpha" and "chosen" in ax.get_legend().get_texts()[-1].get_text()
    ax = plot_selection(KernelSVCCV(Cs=(1.0, 2.0), gammas=("scale", 0.3), cv=2).fit(X, Y))
    assert ax.get_xlabel() == "C" and len(ax.get_legend().get_texts()) == 3
    plt.close("all")
