"""Several quantiles at once: against cvxpy, against quantiles alone, and what is promised of crossing."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import mean_pinball_loss

from gapfit import LinearRegressor, Problem, load, save, solve
from gapfit.losses import Quantile, Quantiles
from gapfit.testing import check_loss
from vectors import REAL, risk

LEVELS = (0.1, 0.4, 0.6, 0.9)


def drawn(seed, n=40, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + (0.3 + np.abs(X[:, 0])) * rng.standard_t(3, size=n), rng


@pytest.mark.parametrize("name", REAL)
def test_the_contract(name):
    check_loss(Quantiles(**REAL[name]), drawn(0)[1])


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", REAL)
def test_two_other_solvers_agree(name, seed, intercept):
    X, y, rng = drawn(seed, 20, 2)
    weight, alpha = rng.integers(1, 4, 20).astype(float), 0.02
    problem = Problem(X, y, Quantiles(**REAL[name]), "l2", alpha, weight, intercept)
    found = solve(problem, tol=1e-6)
    assert found.converged
    W, b = cp.Variable((2, 3)), cp.Variable(3) if intercept else np.zeros(3)
    F = X @ W + np.ones((20, 1)) @ cp.reshape(b, (1, 3), order="C")
    model = cp.Problem(cp.Minimize(alpha / 2 * cp.sum_squares(W) + risk(name, y, weight, F)))
    for solver in (cp.CLARABEL, cp.SCS):
        value = model.solve(solver, **({"eps": 1e-8, "max_iters": 100_000} if solver == cp.SCS else {}))
        slack = 1e-5 * (1 + value)
        assert found.certificate.dual - slack <= value <= found.certificate.primal + slack


def test_without_a_price_of_crossing_each_quantile_is_what_it_is_alone():
    X, y, _ = drawn(1)
    together = solve(Problem(X, y, Quantiles(LEVELS, 0.0), "l2", 0.01), tol=1e-7).certificate
    alone = [solve(Problem(X, y, Quantile(q), "l2", 0.01), tol=1e-7).certificate for q in LEVELS]
    slack = together.gap + sum(one.gap for one in alone)
    assert abs(together.primal - sum(one.primal for one in alone)) <= slack


@pytest.mark.parametrize("seed", range(5))
def test_predictions_never_cross_and_sorting_costs_nothing(seed):
    """On training rows scores hardly cross, anywhere else predictions are sorted, which lowers the loss."""
    X, y, rng = drawn(seed, 60, 4)
    model = LinearRegressor(loss=Quantiles(LEVELS, 0.0), alpha=1e-4).fit(X, y)
    held = clone(model).set_params(loss=Quantiles(LEVELS, 100.0)).fit(X, y)
    far = 5 * rng.normal(size=(500, 4))
    raw = far @ model.coef_.T + model.intercept_
    assert (np.diff(raw, axis=1) < 0).any()  # else nothing is shown
    assert (np.diff(model.predict(far), axis=1) >= 0).all() and model.predict(far).shape == (500, 4)
    target = rng.normal(size=500)
    pairs = zip(LEVELS, raw.T, model.predict(far).T, strict=True)
    losses = [[mean_pinball_loss(target, f, alpha=q) for f in (*both,)] for q, *both in pairs]
    before, after = np.sum(losses, axis=0)
    assert after < before
    own = X @ held.coef_.T + held.intercept_
    assert np.diff(own, axis=1).min() >= -1e-3
    assert np.diff(X @ model.coef_.T + model.intercept_, axis=1).min() < -1e-3 or seed


def test_estimator_file_score_and_refusals(tmp_path):
    X, y, _ = drawn(2)
    model = LinearRegressor(loss=Quantiles([0.2, 0.8]), alpha=0.01).fit(X, y)
    assert model.coef_.shape == (2, 3) and len(model.certificates_) == 1 and model.converged_
    assert 0 < model.score(X, y) < 1
    save(model, tmp_path / "quantiles.gapfit")
    loaded = load(tmp_path / "quantiles.gapfit")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.loss == model.loss
    plain = LinearRegressor(loss=Quantiles([0.2, 0.8]), alpha=0.01, fit_intercept=False).fit(X, y)
    exact = clone(plain).set_params(tol=1e-8).fit(X, y).predict(X)
    lo, hi = plain.score_bounds(X)
    assert ((lo <= exact) & (exact <= hi)).all() and np.isfinite(hi - lo).all()
    with pytest.raises(ValueError, match="one dimension"):
        model.fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="several at once"):
        plain.coef_range(0.1)
    with pytest.raises(ValueError, match="one score at a time"):
        model.leave_one_out(X, y)
    assert Quantile([0.1, 0.9]) == Quantiles((0.1, 0.9)) and Quantile(0.1) != Quantile(0.9)
    for bad in ([0.5], [0.9, 0.1], [0.0, 0.5], [0.5, 0.5], 0.5, "x"):
        with pytest.raises((ValueError, TypeError), match="quantiles"):
            Quantiles(bad)
    with pytest.raises(ValueError, match="crossing"):
        Quantiles(crossing=-1.0)
