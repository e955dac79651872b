"""Leave-one-out and influence: exact, by brute force; refitted only where undecided; refused by name."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale

from gapfit import LinearClassifier, LinearRegressor
from gapfit.losses import Huber

X, Y = load_breast_cancer(return_X_y=True)
X, Y = scale(X)[:80, :6], Y[:80]
TARGET = X @ np.arange(1.0, 7.0) + np.random.default_rng(0).normal(size=80)


def without(model, i, y=Y, weight=None):
    """The score of sample i by a model that has never seen it."""
    left = np.delete(np.arange(len(y)), i)
    fitted = type(model)(**{**model.get_params(), "tol": 1e-12}).fit(
        X[left], y[left], sample_weight=None if weight is None else weight[left]
    )
    return fitted


def meets(found, i, other, row):
    """Two intervals that both contain the exact left-out score: a tight fit is not the optimum either."""
    lo, hi = other.score_bounds(row)
    return bool(found.lo[i] <= hi[0] and lo[0] <= found.hi[i])


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge", "exponential"])
def test_left_out_labels_are_those_of_models_without_the_sample(loss, as_sparse):
    model = LinearClassifier(loss=loss, alpha=0.05).fit(X, Y)
    found = model.leave_one_out(sparse.csr_array(X) if as_sparse else X, Y)
    assert found.decided.all() and found.n_refits < len(Y)
    wrong = 0
    for i in range(len(Y)):
        other = without(model, i)
        assert meets(found, i, other, X[i : i + 1]), i
        assert found.labels[i] == other.predict(X[i : i + 1])[0]
        wrong += int(found.labels[i] != Y[i])
    assert found.error == wrong / len(Y) and found.error_bounds == (found.error, found.error)


def test_smooth_losses_need_hardly_a_refit():
    data, y = load_breast_cancer(return_X_y=True)
    data = scale(data)
    logistic = LinearClassifier(loss="logistic", alpha=0.01).fit(data, y).leave_one_out(data, y)
    assert logistic.n_refits <= 0.05 * len(y) and logistic.decided.all()
    squared = LinearRegressor(alpha=0.01).fit(X, TARGET).leave_one_out(X, TARGET)
    assert squared.n_refits == 0 and squared.decided.all()
    for i in (0, 17, 40):
        other = without(LinearRegressor(alpha=0.01), i, TARGET)
        assert squared.predictions[i] == pytest.approx(other.predict(X[i : i + 1])[0], abs=1e-5)
    assert squared.error == pytest.approx(np.mean((squared.predictions - TARGET) ** 2))


def test_weights_copies_and_absent_samples():
    weight = np.random.default_rng(1).choice([0.0, 1.0, 2.0, 3.5], 80)
    weight[:10] = 1.0
    data, y = np.vstack([X, X[:5]]), np.r_[Y, Y[:5]]  # five samples are there twice
    weight = np.r_[weight, np.ones(5)]
    model = LinearClassifier(loss="logistic", alpha=0.05, class_weight={0: 2.0, 1: 1.0})
    found = model.fit(data, y, sample_weight=weight).leave_one_out(data, y, sample_weight=weight)
    for i in (0, 2, 11, 12, 30, 83, *np.flatnonzero(weight == 0)[:3].tolist()):
        left = np.delete(np.arange(85), i)
        other = LinearClassifier(loss="logistic", alpha=0.05, class_weight={0: 2.0, 1: 1.0}, tol=1e-12)
        other.fit(data[left], y[left], sample_weight=weight[left])
        assert meets(found, i, other, data[i : i + 1]), i


def test_several_classes():
    data, y = load_iris(return_X_y=True)
    data, y = scale(data)[::3], y[::3]
    model = LinearClassifier(loss="logistic", alpha=0.05).fit(data, y)
    found = model.leave_one_out(data, y)
    assert found.lo.shape == (50, 3) and found.decided.all()
    for i in (0, 20, 30, 45):
        left = np.delete(np.arange(50), i)
        other = LinearClassifier(loss="logistic", alpha=0.05, tol=1e-12).fit(data[left], y[left])
        assert found.labels[i] == other.predict(data[i : i + 1])[0]
    among = model.influence(data[:4], change="delete")
    assert among.lo.shape == (4, 50, 3) and among.stable.shape == (4, 50)


@pytest.mark.parametrize("change", ["delete", "flip", "weights"])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_influence_is_what_refitting_finds(loss, change):
    data, y, asked = X[:30], Y[:30], X[30:60]
    model = LinearClassifier(loss=loss, alpha=0.02, tol=1e-9).fit(data, y)
    weights = np.random.default_rng(0).uniform(0.2, 4.0, 30)
    found = model.influence(asked, change=weights if change == "weights" else change)
    assert not (found.stable & found.changes).any() and found.stable.shape == (30, 30)
    mine = model.predict(asked)
    for i in range(30):
        labels, weight = y.copy(), np.ones(30)
        if change == "flip":
            labels[i] = 1 - labels[i]
        else:
            weight[i] = 0.0 if change == "delete" else weights[i]
        other = LinearClassifier(loss=loss, alpha=0.02, tol=1e-12).fit(data, labels, sample_weight=weight)
        differ = other.predict(asked) != mine
        sure = np.abs(other.decision_function(asked)) > 1e-7
        assert not (found.stable[:, i] & differ & sure).any()
        assert not (found.changes[:, i] & ~differ & sure).any()
    np.testing.assert_array_equal(found.robust, found.stable.all(axis=1))
    assert found.undecided.mean() < 0.01 or change == "flip"


def test_data_are_given_or_kept():
    model = LinearClassifier(loss="logistic", alpha=0.05).fit(X, Y)
    kept, given = model.influence(X[:5]), model.influence(X[:5], X=X, y=Y)
    np.testing.assert_array_equal(kept.stable, given.stable)
    model._kept = None
    with pytest.raises(ValueError, match="X and y are needed"):
        model.influence(X[:5])


def test_without_refits_what_is_open_stays_open():
    model = LinearClassifier(loss="hinge", alpha=0.01).fit(X, Y)
    found = model.leave_one_out(X, Y, refit=False)
    assert found.n_refits == 0 and not found.decided.all()
    lo, hi = found.error_bounds
    assert lo <= model.leave_one_out(X, Y).error <= hi


def test_a_class_of_one_sample_leaves_its_label_open():
    y = np.r_[1, np.zeros(19, int)]
    found = LinearClassifier(loss="logistic", alpha=0.1).fit(X[:20], y).leave_one_out(X[:20], y)
    assert not found.decided[0] and np.isinf(found.hi[0])  # without it there is no best intercept


def test_regressions_other_than_least_squares():
    model = LinearRegressor(loss=Huber(1.0), alpha=0.05).fit(X[:40], TARGET[:40])
    found = model.leave_one_out(X[:40], TARGET[:40])
    for i in (0, 9):
        left = np.delete(np.arange(40), i)
        other = LinearRegressor(loss=Huber(1.0), alpha=0.05, tol=1e-12).fit(X[left], TARGET[left])
        assert meets(found, i, other, X[i : i + 1]), i


def test_what_is_refused():
    with pytest.raises(ValueError, match="balanced"):
        LinearClassifier(class_weight="balanced").fit(X, Y).leave_one_out(X, Y)
    with pytest.raises(ValueError, match="several scores"):
        LinearClassifier(loss="softmax").fit(X, Y).leave_one_out(X, Y)
    model = LinearClassifier(loss="logistic").fit(X, Y)
    with pytest.raises(ValueError, match="change"):
        model.influence(X, change="burn")
    with pytest.raises(ValueError, match="two classes"):
        LinearRegressor().fit(X, TARGET).influence(X, change="flip")
