"""The bound of average precision, against all rankings and the measure itself."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from gapfit import Problem, Ranker, Status, datasets, load, save, solve
from gapfit.cli.main import run
from gapfit.losses import MeanAveragePrecision
from gapfit.testing import check_loss
from metrics import AVERAGE_PRECISION, targets


def worst_ranking(relevant, f):
    """The largest over all interleavings of the relevant documents and the others; both sorted."""
    P, N = relevant.sum(), (~relevant).sum()
    if not N:
        return 0.0
    best = -np.inf
    for places in itertools.combinations(range(P + N), P):
        there = np.isin(np.arange(P + N), places)
        g = np.empty(P + N)
        g[there], g[~there] = -np.sort(-f[relevant]), -np.sort(-f[~relevant])
        precision = np.cumsum(there)[there] / (np.flatnonzero(there) + 1)
        wrong = sum(g[j] - g[i] for i in places for j in range(i) if not there[j])
        best = max(best, 1 - precision.mean() + 2 / (P * N) * wrong)
    return best


def any_ranking(relevant, f):
    """The same over all permutations: sorted ones suffice."""
    P, N = relevant.sum(), (~relevant).sum()
    best = -np.inf
    for order in map(list, itertools.permutations(range(len(f)))):
        there, g = relevant[order], f[order]
        precision = np.cumsum(there)[there] / (np.flatnonzero(there) + 1)
        wrong = sum(g[j] - g[i] for i in np.flatnonzero(there) for j in range(i) if not there[j])
        best = max(best, 1 - precision.mean() + 2 / (P * N) * wrong)
    return best


def test_it_is_the_largest_over_all_rankings():
    rng = np.random.default_rng(0)
    for trial in range(150):
        query = rng.integers(0, 3, 20)
        query[:2] = 0
        query[np.cumsum(query[:, None] == np.arange(3), axis=0)[np.arange(20), query] > 8] = 3  # 8 a query
        keep = query < 3
        query, n = query[keep], keep.sum()
        y = rng.integers(0, 3, n).astype(float)
        y[:2] = 0, 2
        f = np.round(rng.normal(size=n) * 10.0 ** rng.uniform(-2, 1), int(rng.integers(0, 3)))
        threshold = float(trial % 2)
        risk = MeanAveragePrecision(threshold).bind(y, np.ones(n), query)
        value, u, _ = risk.value_and_subgradient(f, np.zeros(0))
        parts = [query == q for q in range(3) if (y[query == q] > threshold).any()]
        expected = np.mean([worst_ranking(y[part] > threshold, f[part]) for part in parts])
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-13)
        there = f + rng.normal(size=n)
        moved = np.mean([worst_ranking(y[part] > threshold, there[part]) for part in parts])
        assert moved >= value + u @ (there - f) - 1e-12 * (1 + moved)
        assert abs(u.sum()) <= 1e-14
        measure = [average_precision_score(y[part] > threshold, f[part]) for part in parts]
        assert value >= 1 - np.mean(measure) - 1e-12


def test_rankings_that_are_not_sorted_are_no_worse():
    rng = np.random.default_rng(1)
    for _ in range(15):
        relevant, f = np.array([True, False, *(rng.random(3) < 0.5)]), np.round(rng.normal(size=5), 1)
        assert any_ranking(relevant, f) == pytest.approx(worst_ranking(relevant, f), rel=1e-12)


@pytest.mark.parametrize("metric", AVERAGE_PRECISION)
def test_contract(metric):
    assert not MeanAveragePrecision.unit_free
    loss = MeanAveragePrecision(**AVERAGE_PRECISION[metric])
    check_loss(loss, targets(metric, 12, np.random.default_rng(0)))


def test_fits_are_certified_and_rank(tmp_path):
    rng = np.random.default_rng(0)
    query = np.repeat(np.arange(15), 10)
    y = rng.integers(0, 3, 150)
    X = rng.normal(size=(150, 4)) + np.outer(y > 0, [1.0, 0, -1, 0])
    model = Ranker(loss="map", alpha=1e-2, tol=1e-8).fit(X, y, qid=query)
    assert model.converged_
    save(model, tmp_path / "model")
    assert (load(tmp_path / "model").predict(X) == model.predict(X)).all()
    solution = solve(Problem(X, y, "mean_average_precision", alpha=1e-2, groups=query), "bundle", tol=1e-8)
    assert solution.status is Status.CERTIFIED
    assert model.objective_ == pytest.approx(solution.certificate.primal, rel=1e-7)
    precision = [average_precision_score(y[query == q] > 0, model.predict(X[query == q])) for q in range(15)]
    assert np.mean(precision) > 0.75


def test_in_the_terminal(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X, y, query = rng.normal(size=(60, 3)), rng.integers(0, 2, 60).astype(float), np.repeat(np.arange(6), 10)
    datasets.save(tmp_path / "train.svm", datasets.Data(X, y, query))
    line = ["rank", str(tmp_path / "train.svm"), "--loss", "map", "--alpha", "0.01"]
    assert run([*line, "-o", str(tmp_path / "model")]) == 0
    assert "MAP" in capsys.readouterr().out
    stored = load(tmp_path / "model")
    assert stored.loss == MeanAveragePrecision()
    assert stored.objective_ == pytest.approx(Ranker(loss="map", alpha=0.01).fit(X, y, query).objective_)


def test_queries_without_a_relevant_document_are_left_out():
    f, loss = np.array([1.0, 0.5, 0.2, 3.0, 1.0]), MeanAveragePrecision()
    y, query = np.array([0.0, 1, 0, 0, 0]), np.array([0, 0, 0, 1, 1])
    alone = loss.bind(y[:3], np.ones(3), query[:3]).value_and_subgradient(f[:3], np.zeros(0))[0]
    both = loss.bind(y, np.ones(5), query).value_and_subgradient(f, np.zeros(0))[0]
    assert both == alone
    y[3:] = 1  # relevant throughout: its precision is 1 in any order
    assert loss.bind(y, np.ones(5), query).value_and_subgradient(f, np.zeros(0))[0] == 0.5 * alone


@pytest.mark.parametrize(
    ("make_one", "message"),
    [
        (lambda: MeanAveragePrecision(np.inf), "threshold must be finite"),
        (lambda: MeanAveragePrecision().bind([0.0, 0.0], np.ones(2)), "above 0 for some but not all"),
        (lambda: MeanAveragePrecision(3).bind([1.0, 2.0], np.ones(2)), "above 3 for some but not all"),
        (lambda: MeanAveragePrecision().bind([0.0, 1.0], np.array([1.0, 0.5])), "whole numbers"),
        (lambda: MeanAveragePrecision().bind([0.0, 1.0], np.array([1.0, 1e9])), "too many"),
        (lambda: MeanAveragePrecision().bind([0.0, 1.0], np.ones(2), [1]), "one query a sample"),
        (lambda: Ranker(loss="mapp").fit([[1.0], [2.0]], [0, 1]), "one of pairwise, map, .*ndcg"),
    ],
)
def test_mistakes_are_named(make_one, message):
    with pytest.raises(ValueError, match=message):
        make_one()
