"""AlphaSearchCV: scikit-learn's contract, what it proves, and what it refuses by name."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapfit import (
    AlphaSearchCV,
    KernelSVC,
    LinearClassifier,
    LinearRegressor,
    plot_alpha_search,
    proven_regret,
)
from gapfit.losses import Quantile
from gapfit.penalties import QuadraticForm

X, Y = load_breast_cancer(return_X_y=True)
X, Y = X[:200, :6], Y[:200]
DIABETES = load_diabetes(return_X_y=True)


@parametrize_with_checks(
    [
        AlphaSearchCV(LinearClassifier(loss="logistic"), alpha_range=(1e-2, 1.0), eps=0.5, cv=2, max_fits=10),
        AlphaSearchCV(LinearRegressor(), alpha_range=(1e-2, 1.0), eps=1e9, cv=2, max_fits=10),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


def test_the_error_is_that_of_cross_validation():
    search = AlphaSearchCV(
        make_pipeline(StandardScaler(), LinearClassifier(loss="logistic")),
        alpha_range=(1e-3, 1.0),
        eps=0.01,
        cv=4,
    ).fit(X, Y)
    assert search.proven_regret_ <= 0.01 and search.open_ranges_ == []
    best = clone(search.best_estimator_).set_params(linearclassifier__tol=1e-9)
    assert search.best_error_ == pytest.approx(1 - cross_val_score(best, X, Y, cv=4).mean())
    assert search.best_params_ == {"linearclassifier__alpha": search.best_alpha_}
    assert search.best_estimator_[-1].alpha == search.best_alpha_ == search.best_estimator_[-1].alpha_
    np.testing.assert_array_equal(search.predict(X), search.best_estimator_.predict(X))
    assert search.score(X, Y) == search.best_estimator_.score(X, Y)
    lo, hi = search.error_bounds(search.alphas_)
    assert (lo <= search.errors_ + 1e-12).all() and (search.errors_ <= hi + 1e-12).all()
    assert (lo >= search.floor_[:, 2].min() - 1e-12).all()


@pytest.mark.parametrize(
    ("loss", "scoring", "eps"),
    [
        ("squared", None, 0.01),
        ("huber", "neg_mean_absolute_error", 0.05),
        (Quantile(0.8), "neg_mean_pinball_loss", 0.05),
    ],
)
def test_regression(loss, scoring, eps):
    data, y = scale(DIABETES[0]), scale(DIABETES[1])
    search = AlphaSearchCV(
        LinearRegressor(loss=loss), alpha_range=(1e-2, 1.0), scoring=scoring, eps=eps, cv=3
    )
    search.fit(data, y)
    assert search.proven_regret_ <= eps and not search.open_ranges_
    model = clone(search.best_estimator_).set_params(tol=1e-9)
    name = scoring or "neg_mean_squared_error"
    if scoring != "neg_mean_pinball_loss":  # which scikit-learn has no name for
        assert search.best_error_ == pytest.approx(
            -cross_val_score(model, data, y, cv=3, scoring=name).mean(), rel=1e-4
        )


def test_counts_are_predicted_by_their_mean():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(90, 2))
    y = rng.poisson(np.exp(data[:, 0])).astype(float)
    search = AlphaSearchCV(LinearRegressor(loss="poisson"), alpha_range=(1e-2, 1.0), eps=0.5, cv=3).fit(
        data, y
    )
    model = clone(search.best_estimator_).set_params(tol=1e-9)
    scores = cross_val_score(model, data, y, cv=3, scoring="neg_mean_squared_error")
    assert search.best_error_ == pytest.approx(-scores.mean(), rel=1e-3)


def test_several_classes_weights_and_another_metric_of_the_weights():
    data, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    estimator = LinearClassifier(loss="logistic", penalty=QuadraticForm(np.diag([1.0, 2.0, 1.0, 0.5])))
    search = AlphaSearchCV(estimator, alpha_range=(1e-2, 1.0), eps=0.02, cv=3, max_fits=900)
    search.fit(scale(data), y, sample_weight=weight)
    assert search.classes_.tolist() == [0, 1, 2] and search.n_fits_ <= 900
    assert np.isfinite(search.proven_regret_)


def test_a_grid_search_is_audited():
    data = scale(X)
    grid = GridSearchCV(
        LinearClassifier(loss="logistic", tol=1e-8), {"alpha": np.geomspace(1e-3, 1, 6)}, cv=3
    )
    regret = proven_regret(grid.fit(data, Y), data, Y)
    search = AlphaSearchCV(LinearClassifier(loss="logistic"), alpha_range=(1e-3, 1.0), eps=0.0, cv=3).fit(
        data, Y
    )
    assert search.proven_regret_ == 0.0
    assert (
        1 - grid.best_score_
    ) - search.best_error_ <= regret + 1e-12  # what it missed is no more than that
    dense = GridSearchCV(
        LinearClassifier(loss="logistic", tol=1e-8), {"alpha": np.geomspace(1e-3, 1, 40)}, cv=3
    )
    assert proven_regret(dense.fit(data, Y), data, Y) <= regret
    both = GridSearchCV(LinearClassifier(loss="logistic"), {"alpha": [0.1], "tol": [0.1]}, cv=2).fit(data, Y)
    with pytest.raises(ValueError, match="alpha alone"):
        proven_regret(both, data, Y)


@pytest.mark.parametrize(
    ("estimator", "parameters", "error", "match"),
    [
        (LogisticRegression(), {}, TypeError, "LinearClassifier"),
        (KernelSVC(), {}, TypeError, "LinearClassifier"),
        (LinearClassifier(penalty="l1"), {}, ValueError, "penalty"),
        (LinearClassifier(positive=True), {}, ValueError, "positive"),
        (LinearClassifier(loss="softmax"), {}, ValueError, "several scores"),
        (LinearClassifier(), {"alpha_range": (1.0, 0.1)}, ValueError, "alpha_range"),
        (LinearClassifier(), {"alpha_range": (0.0, 0.1)}, ValueError, "alpha_range"),
        (LinearClassifier(), {"alpha_range": 3}, ValueError, "alpha_range"),
        (LinearClassifier(), {"eps": -1.0}, ValueError, "eps"),
        (LinearClassifier(), {"scoring": "r2"}, ValueError, "scoring"),
        (LinearClassifier(), {"max_time": -1.0}, ValueError, "max_time"),
        (LinearClassifier(), {"max_fits": 0}, ValueError, "max_fits"),
    ],
)
def test_what_is_refused(estimator, parameters, error, match):
    with pytest.raises(error, match=match):
        AlphaSearchCV(estimator, **parameters).fit(scale(X), Y)


def test_a_class_that_a_fold_lacks_is_named():
    y = np.r_[np.zeros(8, int), np.tile([0, 1], 8), np.full(8, 2)]
    with pytest.raises(ValueError, match="lacks"):
        AlphaSearchCV(LinearClassifier(), cv=KFold(2)).fit(scale(X)[:32], y)


def test_a_copy_from_a_file_predicts_and_says_what_it_has_lost():
    search = AlphaSearchCV(LinearClassifier(loss="logistic"), alpha_range=(0.1, 1.0), cv=2).fit(scale(X), Y)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(scale(X)), search.predict(scale(X)))
    assert again.proven_regret_ == search.proven_regret_
    with pytest.raises(ValueError, match="fit again"):
        again.error_bounds([0.2])


def test_the_budget_is_kept_and_the_rest_is_open():
    search = AlphaSearchCV(LinearClassifier(), alpha_range=(1e-4, 1.0), eps=0.0, cv=3, max_fits=12).fit(
        scale(X), Y
    )
    assert (
        search.n_fits_ <= 12 + 9 and search.open_ranges_ and search.proven_regret_ > 0
    )  # the winner is fitted tightly
    for least, most in search.open_ranges_:
        assert 1e-4 <= least < most <= 1.0


def test_the_picture_shows_floor_fits_and_best():
    import matplotlib

    matplotlib.use("Agg")
    search = AlphaSearchCV(LinearClassifier(loss="logistic"), alpha_range=(1e-2, 1.0), cv=3).fit(scale(X), Y)
    axes = plot_alpha_search(search)
    words = [text.get_text() for text in axes.get_legend().get_texts()]
    assert any("floor" in word for word in words) and any("best" in word for word in words)
