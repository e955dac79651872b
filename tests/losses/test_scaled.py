"""Huber's loss with a scale of its own: what it is, its bounds with all rounding counted, and its peer."""

import cvxpy as cp
import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import HuberRegressor

from gapfit import LinearRegressor, Problem, load, save, solve
from gapfit.losses import Absolute, ScaledHuber, Squared
from gapfit.testing import check_loss


def samples(seed=0, n=200, d=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) + 2.0
    y[: n // 10] += 20 * rng.normal(size=n // 10)
    return X, y, rng.integers(1, 4, size=n).astype(float)


@pytest.mark.parametrize("epsilon", [1.0, 1.35, 3.0, 100.0])
def test_the_contract(epsilon):
    y = np.random.default_rng(1).normal(size=14)
    check_loss(ScaledHuber(epsilon), y)
    check_loss(ScaledHuber(epsilon), np.round(y))


@pytest.mark.parametrize("epsilon", [1.0, 1.1, 1.35, 2.0, 50.0])
@pytest.mark.parametrize("ties", [False, True])
def test_the_scale_is_where_the_sum_is_least(epsilon, ties):
    rng = np.random.default_rng(2)
    for _ in range(20):
        r, p = rng.normal(size=9) * 10.0 ** rng.integers(-8, 8), rng.integers(1, 5, size=9).astype(float)
        r = np.round(rng.normal(size=9)) if ties else r
        loss = ScaledHuber(epsilon)

        def total(s, r=r, p=p):
            z = np.abs(r) / s
            return p @ (s + s * np.where(z <= epsilon, z**2, 2 * epsilon * z - epsilon**2)) / p.sum()

        grid = np.abs(r).max(initial=1e-9) * np.geomspace(1e-7, 3, 4001)
        value, *_ = loss.bind(np.zeros(9), p).value_and_subgradient(r, np.zeros(0))
        assert value <= min(map(total, grid)) * (1 + 1e-12)
        if (s := loss.scale(r, p)) > 0:
            assert_allclose(value, total(s), rtol=1e-12)


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_two_other_solvers_agree(solver):
    X, y, weight = samples(n=40, d=3)
    p, w, b, v = weight / weight.sum(), cp.Variable(3), cp.Variable(), cp.Variable()
    r = X @ w + b - y
    # s + s H(r / s) is the least of s + t^2 / s + 2 e |r - t|
    t = cp.Variable(40)
    cost = v + cp.quad_over_lin(cp.multiply(np.sqrt(p), t), v) + 2 * 1.5 * p @ cp.abs(r - t)
    other = cp.Problem(cp.Minimize(0.05 / 2 * cp.sum_squares(w) + cost))
    other.solve(solver=solver)
    ours = LinearRegressor(loss=ScaledHuber(1.5), alpha=0.05, tol=1e-9).fit(X, y, weight)
    assert ours.converged_
    assert_allclose(ours.objective_, other.value, rtol=1e-4)
    assert_allclose(ScaledHuber(1.5).scale(y - ours.predict(X), weight), v.value, rtol=1e-2)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("epsilon", [1.0, 1.35, 5.0])
def test_it_is_scikit_learns_huber_regressor(epsilon, fit_intercept):
    X, y, weight = samples()
    shared = {"fit_intercept": fit_intercept}
    theirs = HuberRegressor(epsilon=epsilon, alpha=0.3, tol=1e-10, max_iter=10_000, **shared).fit(
        X, y, weight
    )
    loss = ScaledHuber(epsilon)
    ours = LinearRegressor(loss=loss, alpha=2 * 0.3 / weight.sum(), tol=1e-10, **shared)
    ours.fit(sparse.csr_array(X), y, weight)
    problem = Problem(X, y, loss, alpha=ours.alpha, sample_weight=weight, intercept=fit_intercept)
    assert ours.converged_
    b = np.atleast_1d(theirs.intercept_)[: problem.n_offsets]
    assert problem.evaluate(theirs.coef_, b) >= ours.dual_objective_
    if epsilon > 1:
        assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
        scale = loss.scale(y - ours.predict(X), weight)
        assert_allclose(scale, theirs.scale_, rtol=1e-3)
        np.testing.assert_array_equal(np.abs(y - ours.predict(X)) > epsilon * scale, theirs.outliers_)


def test_the_ends_are_least_squares_and_least_absolute_errors():
    """For large epsilon twice the root of the mean square, for 1 twice the mean of absolute values."""
    r, p = np.random.default_rng(3).normal(size=30), np.full(30, 1 / 30)
    for epsilon, other, of in (
        (1.0, Absolute(), lambda v: 2 * v),
        (1e3, Squared(), lambda v: 2 * np.sqrt(2 * v)),
    ):
        values = [
            one.bind(np.zeros(30), p).value_and_subgradient(r, np.zeros(0))[0]
            for one in (ScaledHuber(epsilon), other)
        ]
        assert_allclose(values[0], of(values[1]), rtol=1e-12)


def least(size, p, e):
    """min over s of sum p (s + s H(r / s)): at 0, or where all up to one of the residuals are within e s."""
    found = [2 * e * mpmath.fdot(p, size)]
    for mark in size:
        inside = [one <= mark for one in size]
        kept = mpmath.fsum(q * r * r for q, r, ok in zip(p, size, inside, strict=True) if ok)
        room = 1 - e * e * mpmath.fsum(q for q, ok in zip(p, inside, strict=True) if not ok)
        if kept > 0 and room > 0:
            s = mpmath.sqrt(kept / room)
            found.append(
                mpmath.fsum(
                    q * (s + (r * r / s if r <= e * s else 2 * e * r - e * e * s))
                    for q, r in zip(p, size, strict=True)
                )
            )
    return min(found)


@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_in_exact_arithmetic(seed):
    """Hostile sizes of rows, targets and weights; J of the point that was found, in 60 digits."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 25)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-5, 5, size=d) + rng.choice([0.0, 1e4])
    y = np.round(rng.normal(size=n) * 10.0 ** rng.uniform(-3, 6), int(rng.integers(0, 3)))
    weight = 10.0 ** rng.uniform(-6, 6, size=n)
    loss = ScaledHuber(float(rng.choice([1.0, 1.2, 1.35, 4.0])))
    alpha = 10.0 ** rng.uniform(-8, 1)
    solution = solve(Problem(X, y, loss, alpha=alpha, sample_weight=weight), tol=1e-8, max_time=5)
    with mpmath.workdps(60):
        w, b = [mpmath.mpf(float(v)) for v in solution.w], mpmath.mpf(float(solution.intercept))
        size = [abs(mpmath.fdot(w, map(float, row)) + b - float(t)) for row, t in zip(X, y, strict=True)]
        total = mpmath.fsum(map(float, weight))
        p = [mpmath.mpf(float(one)) / total for one in weight]
        J = mpmath.mpf(alpha) / 2 * mpmath.fdot(w, w) + least(size, p, mpmath.mpf(loss.epsilon))
        proof = solution.certificate
        assert proof.dual <= J <= mpmath.mpf(proof.dual) + mpmath.mpf(proof.gap)


def test_files_names_and_refusals(tmp_path):
    X, y, _ = samples()
    model = LinearRegressor(loss="scaled_huber").fit(X, y)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))
    for wrong in (0.5, np.inf, np.nan, "x"):
        with pytest.raises((ValueError, TypeError), match="epsilon"):
            ScaledHuber(wrong)
    exact = LinearRegressor(loss=ScaledHuber(), tol=1e-6).fit(X, X @ np.arange(6.0))
    assert exact.converged_ and ScaledHuber().scale(np.zeros(3)) == 0.0
