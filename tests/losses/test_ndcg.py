"""The bound of NDCG by pairs, against its definition and the measure itself."""

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from gapfit import Problem, Status, solve
from gapfit.losses import NDCG
from gapfit.testing import check_loss
from metrics import LISTS, targets

EPS = np.finfo(float).eps


def expected(y, f, k):
    """The risk of one query from its definition."""
    n = len(y)
    d = np.zeros(2 * n + 1)
    d[: n if k is None else min(k, n)] = 1 / np.log2(np.arange(n if k is None else min(k, n)) + 2)
    ideal = (2 ** -np.sort(-y) - 1) @ d[:n]
    risk = 0.0
    for i in range(n):
        place, lower = np.sum(y > y[i]), np.flatnonzero(y < y[i])
        fall = max(((d[place] - d[place + m]) / m for m in range(1, len(lower) + 1)), default=0.0)
        risk += (2 ** y[i] - 1) / ideal * fall * np.maximum(0, 1 - (f[i] - f[lower])).sum()
    return risk


@pytest.mark.parametrize("k", [None, 1, 3])
def test_the_sum_over_all_pairs(k):
    rng = np.random.default_rng(0)
    for _ in range(500):
        query = rng.permutation(np.repeat(["b", "a", "c"], rng.integers(1, 6, 3)))
        y = rng.integers(0, 3, len(query)).astype(float)
        y[[0, -1]], query[-1] = (0, 2), query[0]
        scores = rng.normal(size=len(y)) * 10.0 ** rng.uniform(-1.5, 1)
        if rng.random() < 0.5:
            scores = np.round(scores * 2) / 2
        value, u, _ = NDCG(k).bind(y, np.ones(len(y)), query).value_and_subgradient(scores, np.zeros(0))
        members = [query == q for q in np.unique(query)]
        there = scores + rng.normal(size=len(y))
        here, moved = (
            np.mean([expected(y[q], f[q], k) for q in members if y[q].any()]) for f in (scores, there)
        )
        noise = 64 * EPS * (1 + np.abs(scores).max()) * (1 + here)
        assert abs(value - here) <= noise
        assert moved >= value + u @ (there - scores) - noise
        assert abs(u.sum()) <= noise


@pytest.mark.parametrize("k", [None, 5])
def test_it_bounds_the_measure(k):
    rng = np.random.default_rng(1)
    for _ in range(200):
        y = rng.integers(0, 4, 20).astype(float)
        scores = 10.0 ** rng.uniform(-1, 2) * (rng.normal(size=20) + rng.choice([0, 1]) * y)
        value = NDCG(k).bind(y, np.ones(20)).value_and_subgradient(scores, np.zeros(0))[0]
        assert value >= 1 - ndcg_score([2**y - 1], [scores], k=k) - 1e-12


@pytest.mark.parametrize("metric", LISTS)
def test_contract(metric):
    assert not NDCG.unit_free
    check_loss(NDCG(**LISTS[metric]), targets(metric, 12, np.random.default_rng(0)))


def test_copies_are_counted_not_made():
    y, scores, many = np.array([0.0, 1, 2]), np.array([1.0, 0, 0.5]), np.array([1e12, 3, 2])
    value, u, _ = NDCG(4).bind(y, many).value_and_subgradient(scores, np.zeros(0))
    assert np.isfinite(value) and np.isfinite(u).all()
    few = np.repeat(np.arange(3), [9, 3, 2])
    one_by_one = NDCG(4).bind(y[few], np.ones(14)).value_and_subgradient(scores[few], np.zeros(0))[0]
    counted = NDCG(4).bind(y, np.array([9.0, 3, 2])).value_and_subgradient(scores, np.zeros(0))[0]
    assert counted == pytest.approx(one_by_one, rel=1e-13)


def test_fits_are_certified():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 4)), targets("ndcg", 150, rng)
    X[:, 0] += y
    solution = solve(Problem(X, y, "ndcg", alpha=1e-3), tol=1e-3)
    assert solution.status is Status.CERTIFIED
    assert ndcg_score([2**y - 1], [X @ solution.w], k=10) > 0.8


@pytest.mark.parametrize(
    ("make_one", "message"),
    [
        (lambda: NDCG(0), "k must be at least 1"),
        (lambda: NDCG().bind([-1.0, 1.0], np.ones(2)), "between 0 and 60"),
        (lambda: NDCG().bind([0.0, 0.0], np.ones(2)), "must differ between two samples"),
        (lambda: NDCG().bind([0.0, 1.0], np.array([1.0, 1.5])), "whole numbers"),
        (lambda: NDCG().bind([0.0, 1.0], np.ones(2), [1]), "one query a sample"),
    ],
)
def test_mistakes_are_named(make_one, message):
    with pytest.raises(ValueError, match=message):
        make_one()
