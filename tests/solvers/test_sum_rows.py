"""Joint quantiles as rows: against the bundle, an interior point method and single quantiles."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from gapfit import Problem, Status, TooLarge, room, solve
from gapfit.losses import Quantile, Quantiles
from gapfit.losses.forms import Combined
from gapfit.penalties import L1, L2, ElasticNet

LEVELS = (0.1, 0.4, 0.8)


def drawn(seed, n=60, d=4):
    rng = np.random.default_rng([seed, 65])
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1, size=d)
    spread = 1.0 + 0.5 * np.abs(X[:, 0]) / np.abs(X[:, 0]).max()
    y = X @ rng.normal(size=d) + rng.standard_t(3, size=n) * spread
    return X, 10.0 ** rng.uniform(-2, 4) * y + 10.0 ** rng.uniform(-2, 4)


@pytest.mark.parametrize("penalty", [L2(), L1(), ElasticNet(0.5)], ids=str)
@pytest.mark.parametrize("alpha", [1e-1, 1e-3, 1e-5])
@pytest.mark.parametrize("seed", range(6))
def test_drawn_problems_are_certified(seed, alpha, penalty):
    X, y = drawn(seed)
    found = solve(Problem(X, y, Quantiles(LEVELS), penalty, alpha), "sum_rows", tol=1e-5)
    assert found.status is Status.CERTIFIED


def optimum(X, y, crossing, penalty, alpha, weight):
    """By Clarabel, from the definition."""
    W, b = cp.Variable((X.shape[1], len(LEVELS))), cp.Variable(len(LEVELS))
    F = X @ W + np.ones((len(y), 1)) @ cp.reshape(b, (1, len(LEVELS)), order="C")
    p, terms = weight / weight.sum(), 0
    for k, q in enumerate(LEVELS):
        rest = y - F[:, k]
        terms += p @ cp.maximum(q * rest, (q - 1) * rest)
    for k in range(len(LEVELS) - 1):
        terms += crossing * (p @ cp.pos(F[:, k] - F[:, k + 1]))
    size = penalty.l1_ratio * cp.sum(cp.abs(W)) + 0.5 * (1 - penalty.l1_ratio) * cp.sum_squares(W)
    return float(cp.Problem(cp.Minimize(alpha * size + terms)).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("crossing", [0.0, 1.0, 50.0])
@pytest.mark.parametrize("ratio", [0.5, 0.999])
def test_the_optimum_is_that_of_an_interior_point_method(crossing, ratio):
    rng = np.random.default_rng(2)
    X, weight = rng.normal(size=(40, 3)), rng.uniform(0.2, 3.0, size=40)
    y = X[:, 0] + rng.normal(size=40)
    penalty = ElasticNet(ratio)
    found = solve(Problem(X, y, Quantiles(LEVELS, crossing), penalty, 1e-2, weight), "sum_rows", tol=1e-7)
    assert found.certificate.primal == pytest.approx(optimum(X, y, crossing, penalty, 1e-2, weight), rel=1e-6)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
def test_bounds_agree_with_those_of_cuts(layout, intercept):
    X, y = drawn(1, n=40)
    rng = np.random.default_rng(1)
    known, weight = rng.normal(size=(40, 3)), rng.uniform(0.1, 2.0, size=40)
    problem = Problem(layout(X), y, Quantiles(LEVELS), "l2", 1e-2, weight, intercept, known)
    by_rows, by_cuts = (solve(problem, name, tol=1e-5) for name in ("sum_rows", "bundle"))
    assert by_rows.converged and by_cuts.converged
    assert by_rows.certificate.dual <= by_cuts.certificate.primal
    assert by_cuts.certificate.dual <= by_rows.certificate.primal


def test_quantiles_that_may_cross_are_found_one_by_one():
    X, y = drawn(4)
    joint = solve(Problem(X, y, Quantiles(LEVELS, 0.0), "l2", 1e-2), "sum_rows", tol=1e-7)
    alone = [solve(Problem(X, y, Quantile(q), "l2", 1e-2), tol=1e-7) for q in LEVELS]
    total = sum(one.certificate.primal for one in alone)
    assert joint.certificate.primal == pytest.approx(total, rel=1e-6)


def test_the_form_is_the_risk():
    rng = np.random.default_rng(0)
    y, weight, F = rng.normal(size=20), rng.uniform(0.5, 2.0, size=20), rng.normal(size=(20, 3))
    risk = Quantiles(LEVELS, 7.0).bind(y, weight)
    sums, atoms, shares = risk.form(Combined)
    values, _ = atoms().maximise((F @ sums.T).ravel())
    mean = float(shares @ values.reshape(20, -1).sum(axis=1))
    assert mean == pytest.approx(risk.value_and_subgradient(F.ravel(), np.zeros(0))[0], rel=1e-14)


def test_a_fit_goes_on_from_a_solution():
    X, y = drawn(3)
    problem = Problem(X, y, Quantiles(LEVELS), "l2", 1e-3)
    rough = solve(problem, "sum_rows", tol=1e-1)
    fine = solve(problem, "sum_rows", tol=1e-6, start=rough)
    assert fine.converged
    assert solve(problem, "sum_rows", tol=1e-6, start=fine.w).converged


def test_too_many_rows_are_refused_by_name(monkeypatch):
    X, y = drawn(0)
    monkeypatch.setattr(room, "available", lambda: 1000.0)
    with pytest.raises(TooLarge, match="sum_rows"):
        solve(Problem(X, y, Quantiles(LEVELS), "l2", 1e-3), "sum_rows")


@pytest.mark.parametrize("crossing", [100.0, 1000.0])
@pytest.mark.parametrize("seed", range(3))
def test_where_crossings_are_very_dear_auto_goes_on_by_cuts(seed, crossing):
    rng = np.random.default_rng([seed, 66])
    X = rng.normal(size=(60, 4))
    y = X[:, 0] + rng.normal(size=60)
    assert solve(Problem(X, y, Quantiles(LEVELS, crossing), "l2", 1e-4), tol=1e-4).converged
