"""Costs of examples as labels and weights."""

import numpy as np
import pytest

from gapfit import LinearClassifier
from gapfit.costs import costs_to_weights


def test_weighted_errors_are_the_cost_but_for_a_constant():
    rng = np.random.default_rng(0)
    for _ in range(20):
        costs = rng.integers(-3, 6, (30, 2)).astype(float)
        y, weight = costs_to_weights(*costs.T)
        for _ in range(5):
            predicted = rng.integers(0, 2, 30)
            cost = costs[np.arange(30), predicted].sum()
            assert cost == pytest.approx(costs.min(axis=1).sum() + weight @ (predicted != y))


def test_a_fit_by_costs_costs_less_than_one_by_labels():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 2))
    fraud = X[:, 0] + rng.normal(size=2000) > 1.0
    amount = np.exp(1 + X[:, 1] + 0.3 * rng.normal(size=2000))
    # to let a fraud pass costs the amount, to stop anything costs a call
    negative, positive = np.where(fraud, amount, 0.0), np.full(2000, 1.0)
    train, test = slice(0, 1000), slice(1000, 2000)
    y, weight = costs_to_weights(negative[train], positive[train])

    def cost(model):
        stopped = model.predict(X[test]).astype(bool)
        return np.where(stopped, positive[test], negative[test]).sum()

    by_costs = LinearClassifier(loss="logistic").fit(X[train], y, sample_weight=weight)
    by_labels = LinearClassifier(loss="logistic").fit(X[train], fraud[train])
    assert cost(by_costs) < 0.95 * cost(by_labels)


@pytest.mark.parametrize(
    ("negative", "positive", "culprit"),
    [
        ([1, 2], [1], "cost_of_positive"),
        ([np.nan], [1], "cost_of_negative"),
        (["x"], [1], "cost_of_negative"),
    ],
)
def test_what_is_no_cost_is_named(negative, positive, culprit):
    with pytest.raises((ValueError, TypeError), match=culprit):
        costs_to_weights(negative, positive)
