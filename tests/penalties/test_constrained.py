"""Linear constraints: against two solvers of cvxpy's, exactly satisfied, refused where there is no w."""

import cvxpy as cp
import numpy as np
import pytest

from gapfit import LinearClassifier, LinearRegressor, Problem, solve
from gapfit.penalties import L2, Constrained, QuadraticForm


def drawn(seed):
    rng = np.random.default_rng(seed)
    n, d, m = int(rng.integers(20, 80)), int(rng.integers(2, 9)), int(rng.integers(1, 12))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1, d)
    t = X @ rng.normal(size=d) + rng.normal(size=n)
    A = rng.normal(size=(m, d)) * 10.0 ** rng.uniform(-2, 2, m)[:, None]
    return X, t, A, A @ (0.2 * rng.normal(size=d)) + np.abs(A).sum(axis=1) * rng.uniform(1e-3, 0.3, m)


def risk(loss, f, y):
    """As cvxpy states it."""
    return {
        "hinge": lambda: cp.sum(cp.pos(1 - cp.multiply(y, f))),
        "logistic": lambda: cp.sum(cp.logistic(-cp.multiply(y, f))),
        "squared": lambda: cp.sum_squares(y - f) / 2,
        "quantile": lambda: cp.sum(cp.maximum(0.3 * (y - f), -0.7 * (y - f))),
    }[loss]() / len(y)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared", "quantile"])
def test_two_other_solvers_agree(loss, seed):
    from gapfit.losses import Quantile

    X, t, A, b = drawn(seed)
    y = np.sign(t) if loss in ("hinge", "logistic") else t
    d, alpha = X.shape[1], 0.03
    Q = np.diag(np.linspace(0.5, 2, d)) + 0.1 if seed % 2 else np.eye(d)
    penalty = Constrained(QuadraticForm(Q) if seed % 2 else L2(), A, b)
    found = solve(Problem(X, y, Quantile(0.3) if loss == "quantile" else loss, penalty, alpha), tol=1e-7)
    assert found.converged
    assert (A @ found.w <= b).all()
    w, c = cp.Variable(d), cp.Variable()
    objective = risk(loss, X @ w + c, y) + alpha / 2 * cp.sum_squares(np.linalg.cholesky(Q).T @ w)
    model = cp.Problem(cp.Minimize(objective), [A @ w <= b])
    for solver in (cp.CLARABEL, cp.SCS):
        value = model.solve(solver, **({"eps": 1e-9, "max_iters": 200_000} if solver == cp.SCS else {}))
        slack = 1e-5 * (1 + abs(value))
        assert found.certificate.dual - slack <= value <= found.certificate.primal + slack


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_monotone_weights_are_monotone_to_the_last_bit(dtype):
    X, t, _, _ = drawn(3)
    d = X.shape[1]
    t = t - 5 * X[:, -1]  # which wants a decrease
    steps = np.eye(d)[:-1] - np.eye(d)[1:]
    model = LinearRegressor(penalty=Constrained(L2(), steps, np.zeros(d - 1)), alpha=1e-3, tol=1e-6)
    model.fit(X.astype(dtype), t)
    assert (np.diff(model.coef_) >= 0).all() and (np.diff(model.coef_) < 1e-3).any()


def test_constraints_that_do_not_bind_change_nothing():
    X, t, A, _ = drawn(4)
    plain = LinearClassifier(alpha=0.1, tol=1e-9).fit(X, t > 0)
    far = Constrained(L2(), A, np.abs(A).sum(axis=1) * 1e3)
    held = LinearClassifier(penalty=far, alpha=0.1, tol=1e-9).fit(X, t > 0)
    np.testing.assert_allclose(held.coef_, plain.coef_, atol=1e-4)
    lo, hi = held.score_bounds(X)
    exact = plain.decision_function(X)
    assert (lo <= exact + 1e-3).all() and (exact - 1e-3 <= hi).all()


def test_a_start_outside_and_a_least_penalty_that_is_not_zero():
    """Zero is not allowed: the penalty's least value is not zero, and bounds say so."""
    X, t, _, _ = drawn(5)
    d = X.shape[1]
    penalty = Constrained(L2(), -np.eye(d)[:1], [-2.0])
    assert not penalty.least_is_zero and penalty.conjugate(np.zeros(d)) == pytest.approx(-2.0)
    found = solve(Problem(X, t, "absolute", penalty, 10.0), tol=1e-8)
    assert found.converged and found.w[0] >= 2.0 and found.certificate.dual >= 10.0 * 2.0
