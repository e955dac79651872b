"""Tangents that balance dual points: known where the dual box is bounded, else searched for."""

import numpy as np
import pytest

from gapfit import Problem
from gapfit.losses import EpsilonInsensitive, Novelty, Quantile, SmoothedHinge
from gapfit.losses.piecewise import PiecewiseRisk

DRAW = np.random.default_rng(1)
X = DRAW.normal(size=(40, 3))
Y = np.where(DRAW.random(40) < 0.3, 1.0, -1.0)
WEIGHT = DRAW.integers(1, 5, 40).astype(float)
BOUNDED = [
    "hinge",
    SmoothedHinge(0.5),
    "absolute",
    "huber",
    Quantile(0.8),
    EpsilonInsensitive(0.2),
    Novelty(0.3),
]


def problem(loss, shift=0.0):
    return Problem(X, Y + shift, loss, alpha=1e-2, sample_weight=WEIGHT)


@pytest.mark.parametrize("loss", [*BOUNDED, "squared", "squared_hinge", "logistic"], ids=str)
def test_known_tangents_are_below_the_risk_and_lean_both_ways(loss):
    risk = problem(loss).risk
    scores, b = DRAW.normal(size=40), np.array([0.7])
    e, heights, most, mixture = risk.leaning(scores, b)
    assert e.min() < 0 < e.max()
    for k in range(2):
        u = mixture(np.eye(2)[k])
        assert (np.abs(u) <= most()).all()
        for scale in (0.1, 3.0, 100.0):
            f, c = scale * DRAW.normal(size=40), scale * DRAW.normal(size=1)
            plane = heights[k] + u @ (f - scores) + float(e[k] @ (c - b))
            assert risk.value_and_subgradient(f, c)[0] >= plane - 1e-12 * scale


def test_without_bounds_tangents_are_searched_for():
    risk = problem("exponential").risk
    assert risk.leaning(np.zeros(40), np.zeros(1)) is None
    price = problem("exponential").reserve.price
    assert 0 < price[0] < np.inf


@pytest.mark.parametrize("shift", [0.0, 1e8])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_parabolas_are_balanced_in_units_of_their_targets(shift, unit):
    y = unit * (shift + DRAW.normal(size=40))
    reserve = Problem(X, y, "squared", alpha=1e-2).reserve
    assert reserve.price[0] * reserve.height <= 10 * (1 + unit) and reserve.price[0] * unit <= 10 * (1 + unit)


@pytest.mark.parametrize("loss", BOUNDED, ids=str)
def test_known_tangents_cost_no_more_than_those_found(loss, monkeypatch):
    known = problem(loss).reserve
    monkeypatch.setattr(PiecewiseRisk, "leaning", lambda *_: None)
    found = problem(loss).reserve
    assert 0 < known.price[0] <= found.price[0] * (1 + 1e-12)


def test_targets_far_from_zero_are_balanced_where_they_are():
    near, far = problem("absolute").reserve, problem("absolute", shift=1e8).reserve
    assert near.b[0] == 0.0 and near.height < 10
    assert far.b[0] == pytest.approx(1e8, abs=2) and far.height < 10
