"""Rankings of few pairs as hinge problems on differences: the same optimum, proved by the ranking itself."""

import numpy as np
import pytest
from scipy import sparse

from gapfit import IncompatibleSolver, Problem, Ranker, TooLarge, solve
from gapfit.losses import NDCG, OrdinalPairs, PairwiseRanking, PartialRocArea, RocArea
from gapfit.losses.forms import Pairs
from gapfit.penalties import ElasticNet, GroupLasso
from gapfit.solvers import pair_rows as module
from gapfit.solvers.auto import for_small_data, plan
from gapfit.testing import check_solver

LOSSES = [PairwiseRanking(), PairwiseRanking("queries"), NDCG(), RocArea(), OrdinalPairs()]
LOSSES.append(OrdinalPairs(np.array([[0, 1, 3], [0, 0, 2], [0, 0, 0]])))  # not all pairs cost the same


def posed(loss, n=60, d=4, penalty="l2", alpha=1e-2, seed=0, X=None, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) if X is None else X
    truth = X @ rng.normal(size=X.shape[1])
    level = np.digitize(truth - truth.mean() + rng.normal(size=n), [0.0, 1.0]).astype(float)
    y = np.where(level > 0, 1.0, -1.0) if isinstance(loss, RocArea) else level
    groups = None if loss.one_query else rng.integers(0, 8, n)
    weight = rng.integers(0, 4, n).astype(float)
    return Problem(X, y, loss, penalty, alpha, weight, False, groups=groups, **options)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_pairs_of_a_loss_add_up_to_it(loss):
    problem = posed(loss)
    above, below, weight = problem.form(Pairs).made()
    assert (weight > 0).all() and len(weight) <= problem.form(Pairs).number()
    for seed in range(3):
        f = np.random.default_rng(seed).normal(size=len(problem.y))
        value = float(weight @ np.maximum(0.0, 1.0 - (f[above] - f[below])))
        assert value == pytest.approx(problem.risk.value_and_subgradient(f, np.zeros(0))[0], rel=1e-12)


def test_a_part_of_the_area_is_no_mean_over_pairs():
    assert not PartialRocArea(0.3).bind(np.array([1.0, -1.0]), np.ones(2)).has(Pairs)
    problem = Problem(np.eye(2), [1.0, -1.0], PartialRocArea(0.3), intercept=False)
    with pytest.raises(IncompatibleSolver, match="PartialRocArea"):
        solve(problem, "pair_rows")


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_it_keeps_the_promises_of_solvers(loss):
    check_solver("pair_rows", [posed(loss), posed(loss, penalty=ElasticNet(0.5))])


@pytest.mark.parametrize("kind", ["products", "sparse", "wide", "groups", "offset", "float32"])
def test_whatever_solves_the_hinge_problem_the_ranking_proves_it(kind):
    loss, rng = PairwiseRanking(), np.random.default_rng(3)
    X, options = None, {}
    if kind in ("products", "sparse"):  # no rows of differences are made
        X = rng.normal(size=(60, 200))
    if kind == "sparse":
        X = sparse.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))
    if kind == "wide":
        X = sparse.csr_array(rng.normal(size=(60, 700)) * (rng.random((60, 700)) < 0.05))
    if kind == "groups":
        options["penalty"] = GroupLasso(np.array([0, 0, 1, 1]))
    if kind == "offset":
        options["offset"] = rng.normal(size=60)
    if kind == "float32":
        X = rng.normal(size=(60, 4)).astype(np.float32)
    problem = posed(loss, X=X, **options)
    check_solver("pair_rows", [problem])
    exact = solve(problem, "bundle", tol=1e-9).certificate
    found = solve(problem, "pair_rows", tol=1e-8)
    assert found.converged and found.certificate.dual <= exact.primal
    assert found.certificate.primal <= exact.primal + found.certificate.gap


def test_rounding_of_differences_is_no_part_of_the_proof():
    """Rows far from zero: bounds of both ways hold against each other, and nothing is claimed beyond them."""
    X = np.random.default_rng(0).normal(size=(60, 4)) + 1e9
    problem = posed(PairwiseRanking(), X=X)
    exact = solve(problem, "bundle", tol=1e-9).certificate
    found = solve(problem, "pair_rows", tol=1e-9, max_iter=200).certificate
    assert found.dual <= exact.primal and exact.dual <= found.primal


def test_auto_takes_few_pairs_so_and_no_others(monkeypatch):
    few, rng = posed(PairwiseRanking()), np.random.default_rng(0)
    assert plan(few)[0].name == "pair_rows"
    assert for_small_data(few) is module.pair_rows
    X, y = rng.normal(size=(600, 3)), rng.integers(0, 2, 600).astype(float)
    many = Problem(X, y, PairwiseRanking(), intercept=False)
    assert plan(many)[0].name != "pair_rows"
    monkeypatch.setattr("gapfit.solvers.auto.available", lambda: 1000.0)
    monkeypatch.setattr("gapfit.solvers.auto.MUCH", 0)
    assert "pair_rows" not in [choice.name for choice in plan(many)]  # there is no room for them
    monkeypatch.undo()
    constrained = posed(PairwiseRanking(), penalty="squared_lp")
    assert [choice.name for choice in plan(constrained)] == ["bundle"]


def test_a_fit_by_default_is_the_one_by_a_bundle():
    rng = np.random.default_rng(5)
    X, qid = rng.normal(size=(300, 5)), np.repeat(np.arange(30), 10)
    y = np.digitize(X[:, 0] + rng.normal(size=300), [0.0, 1.0])
    usual, other = (
        Ranker(solver=solver, alpha=1e-3, tol=1e-7).fit(X, y, qid) for solver in ("auto", "bundle")
    )
    assert usual.converged_ and other.converged_
    assert abs(usual.objective_ - other.objective_) <= usual.dual_gap_ + other.dual_gap_
    np.testing.assert_allclose(usual.coef_, other.coef_, atol=1e-2)


def test_pairs_that_there_is_no_room_for_are_refused_by_name(monkeypatch):
    monkeypatch.setattr("gapfit.room.available", lambda: 1000.0)
    with pytest.raises(TooLarge, match=r"pair_rows with .* pairs .*bundle"):
        solve(posed(PairwiseRanking()), "pair_rows")
