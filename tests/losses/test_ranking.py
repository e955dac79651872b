"""Losses of pairs, against all pairs one by one."""

import itertools

import cvxpy as cp
import numpy as np
import pytest

from gapfit import Problem, Status, losses, solve
from gapfit.registry import LOSSES
from gapfit.testing import check_loss
from metrics import METRICS, RANKING, registry_name, targets
from problems import make_penalty
from tables import PENALTIES

DRAWS = 2000
EPS = np.finfo(float).eps


def make(metric):
    return LOSSES[registry_name(metric)](**METRICS[metric])


def pairs(loss, y, groups):
    """All pairs, those who should be above first, and their shares in the mean."""
    low, high = (k.ravel() for k in np.indices((len(y), len(y))))
    ordered = (y[low] < y[high]) & (groups[low] == groups[high])
    low, high = low[ordered], high[ordered]
    share = np.full(len(low), 1 / len(low))
    if isinstance(loss, losses.OrdinalPairs):
        table = None if loss.cost == "difference" else np.array(loss.cost)
        cost = y[high] - y[low] if table is None else table[y[low].astype(int), y[high].astype(int)]
        share = share * cost
    if isinstance(loss, losses.PairwiseRanking) and loss.mean == "queries":
        queries, count = np.unique(groups[low], return_counts=True)
        share = 1 / count[np.searchsorted(queries, groups[low])] / len(queries)
    return high, low, share


def expected(loss, y, scores, groups):
    """The risk from its definition."""
    high, low, share = pairs(loss, y, groups)
    hinge = np.maximum(0, 1 - (scores[high] - scores[low]))
    if not isinstance(loss, losses.PartialRocArea):
        return share @ hinge
    by_negative = np.array([hinge[low == j].mean() for j in np.flatnonzero(y < 0)])
    budget = loss.max_fpr * len(by_negative)
    best = -np.sort(-by_negative)
    taken = np.clip(budget - np.arange(len(best)), 0, 1)
    return taken @ best / budget


def draw(metric, rng):
    n = int(rng.integers(3, 13))
    y, scores = targets(metric, n, rng), rng.normal(size=n) * 10.0 ** rng.uniform(-1, 1)
    if rng.random() < 0.5:  # ties, and pairs that are exactly one apart
        scores = np.round(scores * 2) / 2
    groups = np.zeros(n, int)
    if metric.startswith("pairwise"):
        groups = rng.integers(0, 3, n)
        groups[0] = groups[-1]
    return n, y, scores, groups


@pytest.mark.parametrize("metric", RANKING)
def test_the_mean_over_all_pairs(metric):
    loss, rng = make(metric), np.random.default_rng(0)
    for _ in range(DRAWS):
        n, y, scores, groups = draw(metric, rng)
        value, u, e = loss.bind(y, np.ones(n), groups).value_and_subgradient(scores, np.zeros(0))
        noise = 32 * EPS * (1 + np.abs(scores).max()) * (6 if metric == "ordinal_pairs(table)" else 1)
        assert abs(value - expected(loss, y, scores, groups)) <= noise
        assert e.shape == (0,) and abs(u.sum()) <= noise
        there = scores + rng.normal(size=n) * 10.0 ** rng.uniform(-3, 1)
        moved = value + u @ (there - scores)
        assert expected(loss, y, there, groups) >= moved - noise * (1 + np.abs(there).max())


@pytest.mark.parametrize("metric", RANKING)
def test_contract(metric):
    check_loss(make(metric), targets(metric, 12, np.random.default_rng(0)))


@pytest.mark.parametrize("metric", RANKING)
def test_weights_are_copies(metric):
    loss, rng = make(metric), np.random.default_rng(1)
    for _ in range(200):
        n, y, scores, groups = draw(metric, rng)
        weight = rng.integers(1, 5, n)
        copies = np.repeat(np.arange(n), weight)
        value, u, _ = loss.bind(y, weight / 1.0, groups).value_and_subgradient(scores, np.zeros(0))
        one_by_one = loss.bind(y[copies], np.ones(len(copies)), groups[copies])
        value_of_copies, u_of_copies, _ = one_by_one.value_and_subgradient(scores[copies], np.zeros(0))
        assert abs(value - value_of_copies) <= 1e-13 * (1 + abs(value))
        if metric != "partial_roc_area":  # where one of several equals is taken in part, any one will do
            np.testing.assert_allclose(u, np.bincount(copies, u_of_copies), atol=1e-14)


@pytest.mark.parametrize("metric", RANKING)
def test_fits_are_certified(metric):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 4)), targets(metric, 150, rng)
    X[:, 0] += y
    problem = Problem(X, y, make(metric), alpha=1e-2)
    assert problem.n_offsets == 0
    assert solve(problem, tol=1e-3).status is Status.CERTIFIED


@pytest.mark.parametrize("penalty", PENALTIES)
def test_every_penalty(penalty):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 4)), targets("roc_area", 100, rng)
    X[:, 0] += y
    solution = solve(Problem(X, y, "roc_area", make_penalty(penalty, PENALTIES[penalty](4))), tol=1e-3)
    assert solution.status is Status.CERTIFIED


@pytest.mark.parametrize("metric", RANKING)
def test_optima_over_all_pairs(metric):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(10, 3)), targets(metric, 10, rng)
    loss, alpha = make(metric), 0.05
    certificate = solve(Problem(X, y, loss, alpha=alpha), "bundle", tol=1e-10).certificate
    high, low, share = pairs(loss, y, np.zeros(10, int))
    w = cp.Variable(3)
    hinge = cp.pos(1 - (X[high] - X[low]) @ w)
    risk = share @ hinge
    if isinstance(loss, losses.PartialRocArea):
        negatives = np.flatnonzero(y < 0)
        by_negative = np.array([low == j for j in negatives]) / (y > 0).sum() @ hinge
        taken, threshold = loss.max_fpr * len(negatives), cp.Variable()
        risk = threshold + cp.sum(cp.pos(by_negative - threshold)) / taken  # the mean of the largest
    model = cp.Problem(cp.Minimize(alpha / 2 * cp.sum_squares(w) + risk))
    model.solve("CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    assert abs(certificate.primal - model.value) <= 1e-8
    assert certificate.dual <= model.value + 1e-8


@pytest.mark.parametrize("n", [3000])
def test_many_levels_and_queries(n):
    """As many levels as samples, and queries of all sizes, in no order; against all pairs."""
    rng = np.random.default_rng(n)
    y, scores, weight = rng.normal(size=n), rng.normal(size=n), rng.uniform(0.1, 2, n)
    groups = np.array([f"query {k}" for k in (rng.random(n) ** 3 * 60).astype(int)])
    value, u, _ = losses.PairwiseRanking().bind(y, weight, groups).value_and_subgradient(scores, np.zeros(0))
    total, count, slope = 0.0, 0.0, np.zeros(n)
    for query in np.unique(groups):
        k = np.flatnonzero(groups == query)
        mass = np.outer(weight[k], weight[k]) * (y[k][:, None] < y[k])
        hinge = np.maximum(0, 1 - (scores[k] - scores[k][:, None]))
        total += (mass * hinge).sum()
        count += mass.sum()
        slope[k] += (mass * (hinge > 0)).sum(axis=1) - (mass * (hinge > 0)).sum(axis=0)
    assert value == pytest.approx(total / count, rel=1e-12)
    np.testing.assert_allclose(u, slope / count, atol=1e-15)


def test_queries_without_a_pair():
    """A query with one sample, or all of one level, says nothing; if all are like that, there is no risk."""
    y, groups = np.array([2.0, 0, 1, 1, 5]), np.array(["a", "a", "b", "b", "c"])
    for mean in ("pairs", "queries"):
        risk = losses.PairwiseRanking(mean).bind(y, np.ones(5), groups)
        value, u, _ = risk.value_and_subgradient(np.arange(5.0), np.zeros(0))
        assert value == 2.0
        np.testing.assert_array_equal(u, [-1, 1, 0, 0, 0])
    with pytest.raises(ValueError, match="differ between two samples of some query"):
        losses.PairwiseRanking().bind(y[2:], np.ones(3), groups[2:])


def test_special_cases_agree():
    rng = np.random.default_rng(0)
    y, scores, weight = targets("roc_area", 400, rng), rng.normal(size=400), rng.uniform(0.5, 2, 400)
    values = [
        loss.bind(y, weight).value_and_subgradient(scores, np.zeros(0))[0]
        for loss in (
            losses.RocArea(),
            losses.PartialRocArea(1.0),
            losses.PairwiseRanking("pairs"),
            losses.PairwiseRanking("queries"),
        )
    ]
    cost = losses.OrdinalPairs().bind(y, weight).value_and_subgradient(scores, np.zeros(0))[0]
    assert np.ptp([*values, cost / 2]) <= 1e-13


@pytest.mark.parametrize("shift", [1e3, 1e6])
def test_pairs_about_one_apart_are_counted_once(shift):
    """Rounding must not count a pair for one of its samples only."""
    rng = np.random.default_rng(0)
    scores = np.repeat(rng.integers(0, 4, 40), 3) + shift + 1e-16 * rng.normal(size=120)
    scores = scores * (1 + EPS * rng.integers(-2, 3, 120))
    for metric in RANKING:
        y = targets(metric, 120, rng)
        _, u, _ = make(metric).bind(y, np.ones(120)).value_and_subgradient(scores, np.zeros(0))
        assert abs(u.sum()) <= 1e-14


@pytest.mark.parametrize("metric", RANKING)
def test_scores_that_overflow(metric):
    y = targets(metric, 5, np.random.default_rng(0))
    risk = make(metric).bind(y, np.ones(5))
    for far in (np.inf, np.nan):
        value, u, _ = risk.value_and_subgradient(np.array([0, far, 1.0, 2, 3]), np.zeros(0))
        assert not np.isfinite(value) and np.isfinite(u).all()


@pytest.mark.parametrize(
    ("make_one", "message"),
    [
        (lambda: losses.PartialRocArea(0.0), "max_fpr must lie"),
        (lambda: losses.PairwiseRanking("all"), "mean must be"),
        (lambda: losses.OrdinalPairs("square"), "cost must be 'difference' or a table"),
        (lambda: losses.OrdinalPairs([[0, 1]]), "square table"),
        (lambda: losses.OrdinalPairs([[0, -1], [0, 0]]), "not negative"),
        (lambda: losses.OrdinalPairs([[0, 1], [0, 0]]).bind([0, 2.0], np.ones(2)), "levels 0 to 1"),
        (lambda: losses.OrdinalPairs().bind(np.ones(3), np.ones(3)), "at least two levels"),
        (lambda: losses.OrdinalPairs().bind(np.arange(2000.0), np.ones(2000)), "at most 1000"),
        (lambda: losses.PairwiseRanking().bind([0, 1.0], np.ones(2), np.zeros(3)), "one query a sample"),
        (lambda: losses.RocArea().bind(np.ones(2), np.ones(2)), "both classes"),
    ],
)
def test_mistakes_are_named(make_one, message):
    with pytest.raises(ValueError, match=message):
        make_one()


def test_ranking_losses_compare_by_their_parameters():
    table = [[0, 1.0], [0, 0]]
    assert losses.OrdinalPairs(table) == losses.OrdinalPairs(np.array(table))
    assert hash(losses.OrdinalPairs(table)) == hash(losses.OrdinalPairs(table))
    for a, b in itertools.combinations(RANKING, 2):
        assert make(a) != make(b)
