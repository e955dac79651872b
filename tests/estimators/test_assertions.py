"""What models say of every optimum: ranges, orders, measures, and fits that end early."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from gapfit import AlphaSearchCV, LinearClassifier, LinearRegressor, Ranker, Status, load, save
from gapfit.penalties import ElasticNet

X, Y = load_breast_cancer(return_X_y=True)
X, Y = scale(X)[:200, :8], Y[:200]


def test_zeros_and_signs_have_the_shape_of_coef_and_outlive_a_file(tmp_path):
    model = LinearClassifier(loss="logistic", penalty=ElasticNet(0.9), alpha=0.05, tol=1e-8).fit(X, Y)
    assert model.certified_zeros_.shape == model.certified_signs_.shape == model.coef_.shape
    np.testing.assert_array_equal(model.certified_zeros_, model.coef_ == 0)
    np.testing.assert_array_equal(model.certified_signs_, np.sign(model.coef_))
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.certified_zeros_, model.certified_zeros_)
    np.testing.assert_array_equal(again.certified_signs_, model.certified_signs_)
    several = LinearClassifier(loss="logistic").fit(X, np.arange(200) % 3)
    assert several.certified_signs_.shape == (3, 8)
    joint = LinearClassifier(loss="softmax").fit(X, np.arange(200) % 2)
    assert joint.certified_signs_.shape == joint.coef_.shape and not joint.certified_zeros_.any()


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_ranges_are_narrower_with_the_data(loss, tmp_path):
    model = LinearClassifier(loss=loss, alpha=0.05, tol=1e-8).fit(X, Y)
    lo, hi = model.coef_range(eps=0.01)
    save(model, tmp_path / "model")
    alone = load(tmp_path / "model")  # has no data
    below, above = alone.coef_range(eps=0.01)
    assert (below <= lo).all() and (hi <= above).all() and np.mean(hi - lo) < 0.9 * np.mean(above - below)
    again = alone.coef_range(eps=0.01, X=X, y=Y)
    np.testing.assert_allclose(np.stack(again), np.stack([lo, hi]), atol=1e-3 * np.max(hi - lo))
    rough = LinearClassifier(loss=loss, alpha=0.05, tol=1e-2).fit(X, Y)  # one of those within a percent
    assert (lo <= rough.coef_ + 1e-9).all() and (rough.coef_ <= hi + 1e-9).all()
    with pytest.raises(ValueError, match="eps"):
        model.coef_range(eps=-1.0)
    with pytest.raises(ValueError, match="strongly convex"):
        LinearClassifier(penalty="l1").fit(X, Y).coef_range()


def test_orders_and_tops():
    model = LinearClassifier(loss="logistic", alpha=0.05, tol=1e-6).fit(X, Y)
    tight = LinearClassifier(loss="logistic", alpha=0.05, tol=1e-12).fit(X, Y).decision_function(X)
    rows, proved = model.certified_order(X)
    assert (tight[rows[:-1]] > tight[rows[1:]])[proved].all() and proved.mean() > 0.5
    rows, proved = model.certified_top(X, 10)
    assert set(rows[proved].tolist()) <= set(np.argsort(-tight)[:10].tolist()) and proved.any()
    with pytest.raises(ValueError, match="k must be"):
        model.certified_top(X, 201)
    with pytest.raises(ValueError, match="several"):
        LinearClassifier(loss="logistic").fit(X, np.arange(200) % 3).certified_order(X)


def test_tables_with_names_are_taken_without_a_word():
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)])
    model = LinearClassifier(loss="logistic", alpha=0.05, tol=1e-6).fit(table, Y)
    plain = LinearClassifier(loss="logistic", alpha=0.05, tol=1e-6).fit(X, Y)
    np.testing.assert_array_equal(model.certified_order(table).proved, plain.certified_order(X).proved)
    np.testing.assert_array_equal(model.certified_top(table, 5).rows, plain.certified_top(X, 5).rows)
    np.testing.assert_array_equal(model.coef_range(0.01), plain.coef_range(0.01))
    assert model.metric_bounds(table, Y, "f1") == plain.metric_bounds(X, Y, "f1")
    assert model.leave_one_out(table, Y).error == plain.leave_one_out(X, Y).error
    np.testing.assert_array_equal(model.influence(table[:3]).stable, plain.influence(X[:3]).stable)
    search = AlphaSearchCV(LinearClassifier(loss="logistic"), alpha_range=(0.1, 1.0), cv=2).fit(table, Y)
    assert search.score(table, Y) > 0.8


def test_rankings_have_orders_too():
    y = np.random.default_rng(0).integers(0, 3, 200)
    model = Ranker(alpha=0.1, tol=1e-9).fit(X, y)
    tight = Ranker(alpha=0.1, tol=1e-10).fit(X, y).predict(X)  # 1e-11 is about what rounding may do
    rows, proved = model.certified_order(X)
    assert (tight[rows[:-1]] >= tight[rows[1:]] - 1e-9)[proved].all() and proved.any()
    assert model.certified_top(X, 5).rows.shape == (5,)


BY_SKLEARN = {
    "accuracy": lambda y, f: metrics.accuracy_score(y, f > 0),
    "balanced_accuracy": lambda y, f: metrics.balanced_accuracy_score(y, f > 0),
    "f1": lambda y, f: metrics.f1_score(y, f > 0),
    "roc_auc": metrics.roc_auc_score,
    "log_loss": lambda y, f: metrics.log_loss(y, 1 / (1 + np.exp(-f))),
}


@pytest.mark.parametrize("metric", BY_SKLEARN)
def test_measures_of_the_exact_optimum(metric):
    tight = LinearClassifier(loss="logistic", alpha=0.05, tol=1e-12).fit(X, Y).decision_function(X)
    exact, widths = BY_SKLEARN[metric](Y, tight), []
    for tol in (1e-2, 1e-8):
        lo, hi = LinearClassifier(loss="logistic", alpha=0.05, tol=tol).fit(X, Y).metric_bounds(X, Y, metric)
        assert lo - 1e-9 <= exact <= hi + 1e-9
        widths.append(hi - lo)
    assert widths[1] <= widths[0] and widths[1] < 0.01


def test_measures_of_numbers_and_what_is_refused():
    target = X[:, 0] + X[:, 1]
    model = LinearRegressor(loss="huber", alpha=0.1, tol=1e-8).fit(X, target)
    exact = metrics.mean_absolute_error(
        target, LinearRegressor(loss="huber", alpha=0.1, tol=1e-12).fit(X, target).predict(X)
    )
    lo, hi = model.metric_bounds(X, target, "mae")
    assert lo <= exact <= hi
    with pytest.raises(ValueError, match="scoring"):
        model.metric_bounds(X, target, "accuracy")
    with pytest.raises(ValueError, match="classifiers"):
        model.metric_bounds(X, target, "roc_auc")
    with pytest.raises(ValueError, match="labels"):
        LinearClassifier().fit(X, Y).metric_bounds(X, Y + 7, "accuracy")


def test_a_fit_ends_when_its_predictions_are_certain():
    tight = LinearClassifier(alpha=0.05, tol=1e-11).fit(X, Y)
    scores = np.abs(tight.decision_function(X))
    easy = X[scores > np.quantile(scores, 0.3)]
    model = LinearClassifier(alpha=0.05, tol=1e-11, stop_when="predictions").fit(X, Y, watch=easy)
    assert model.status_ is Status.PREDICTIONS and not model.converged_
    assert model.dual_gap_ > tight.dual_gap_ and model.certified(easy).all()
    np.testing.assert_array_equal(model.predict(easy), tight.predict(easy))
    loose = LinearClassifier(alpha=0.05, tol=0.05, stop_when="predictions").fit(
        X, Y
    )  # tol is the end all the same
    assert loose.status_ is Status.CERTIFIED and not loose.certified(X).all()
    with pytest.raises(ValueError, match="stop_when"):
        LinearClassifier().fit(X, Y, watch=easy)
    with pytest.raises(ValueError, match="two classes"):
        LinearClassifier(stop_when="predictions").fit(X, np.arange(200) % 3)
    with pytest.raises(ValueError, match="stop_when"):
        LinearClassifier(stop_when="never").fit(X, Y)
