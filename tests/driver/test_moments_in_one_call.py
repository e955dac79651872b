"""Least squares proved by moments alone: bounds that hold in exact arithmetic, or none."""

from fractions import Fraction

import numpy as np
import pytest

from gapfit import LinearRegressor, Problem, solve
from gapfit.design.memory import MemoryDesign
from gapfit.driver.moments_in_one_call import BLOCK, ByMoments
from gapfit.driver.one_call_given import Plain
from gapfit.losses import Squared
from gapfit.registry import as_loss, as_penalty


def exactly(values):
    return [Fraction(float(value)) for value in values]


def value_at(X, y, weight, penalty, alpha, w, b):
    """J, as a fraction."""
    shares, total = exactly(weight), sum(exactly(weight))
    scores = [sum(x * a for x, a in zip(exactly(row), w, strict=True)) + b for row in X]
    risk = sum(p * (f - t) ** 2 for p, f, t in zip(shares, scores, exactly(y), strict=True)) / (2 * total)
    one, two = sum(map(abs, w)), sum(a * a for a in w) / 2
    ratio = {"l1": Fraction(1), "l2": Fraction(0), "elastic_net": Fraction(1, 2)}[penalty]
    return risk + Fraction(float(alpha)) * (ratio * one + (1 - ratio) * two)


def drawn(seed):
    """Few features, of all sizes, far from zero or nearly dependent; targets that fit badly, or too well."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    n = int(rng.integers(8 * d, 8 * d + 40))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, d) + rng.choice([0.0, 1e2, 1e5, 1e8])
    if d > 1 and rng.random() < 0.3:
        X[:, 1] = X[:, 0] * (1 + 1e-9 * rng.normal(size=n))
    spread = X.std(axis=0) + 1e-300
    y = (X - X.mean(axis=0)) / spread @ rng.normal(size=d) + 10.0 ** rng.uniform(-9, 1) * rng.normal(size=n)
    weight = np.ones(n) if rng.random() < 0.5 else 10.0 ** rng.uniform(-3, 3, n)
    penalty, free = str(rng.choice(["l2", "l1", "elastic_net"])), bool(rng.random() < 0.6)
    return X, y + free * rng.choice([0.0, 1e3]), weight, penalty, 10.0 ** rng.uniform(-6, 1), free


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.parametrize("tol", [1e-2, 1e-6, 1e-10])
def test_bounds_hold_in_exact_arithmetic(seed, tol):
    X, y, weight, penalty, alpha, free = drawn(seed)
    given = MemoryDesign(X), weight, Squared(), as_penalty(penalty), alpha, free
    found = ByMoments.of(Plain.of(*given)).fit(y, tol)
    if found is None:  # moments have too few digits for it
        return
    primal, dual, gap, _ = found.certificate
    here = value_at(X, y, weight, penalty, alpha, exactly(found.w), Fraction(float(found.intercept)))
    assert gap <= tol * abs(primal) * (1 + 1e-12)
    assert Fraction(dual) <= here <= Fraction(dual) + Fraction(gap)  # gap reaches above J
    # the bound is below J at the best point that anybody finds
    other = solve(Problem(X, y, "squared", penalty, alpha, weight, free), tol=1e-12, max_time=1)
    b = Fraction(float(np.sum(other.intercept)))
    assert Fraction(dual) <= value_at(X, y, weight, penalty, alpha, exactly(other.w), b)
    least = ByMoments.of(Plain.of(*given)).fit(y, 1e-13)
    if least is not None:
        b = Fraction(float(least.intercept))
        assert Fraction(dual) <= value_at(X, y, weight, penalty, alpha, exactly(least.w), b)


def test_most_are_proved():
    """All but those whose columns are nearly dependent or very far away, or whose targets fit too well."""
    proved = 0
    for seed in range(150):
        X, y, weight, penalty, alpha, free = drawn(seed)
        given = MemoryDesign(X), weight, Squared(), as_penalty(penalty), alpha, free
        proved += ByMoments.of(Plain.of(*given)).fit(y, 1e-4) is not None
    assert proved >= 120


@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net"])
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("n", [300, 2 * BLOCK + 7, 30_000])
def test_they_agree_with_solutions_of_a_problem(n, penalty, free):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 6)) + rng.normal(size=6)
    y, weight = X[:, 0] + rng.normal(size=n) + 3.0, rng.integers(1, 4, n).astype(float)
    problem = Problem(X, y, "squared", penalty, 0.1, weight, free)
    given = Plain.of(MemoryDesign(X), weight, Squared(), as_penalty(penalty), 0.1, free)
    found = ByMoments.of(given).fit(y, 1e-9)
    other = solve(problem, "bundle", tol=1e-9).certificate
    assert found.certificate.dual <= other.primal and other.dual <= found.certificate.primal
    again = found.solution(problem)  # by the proofs of `Problem`
    assert again.certificate.relative_gap <= 1.1e-9
    least = problem.best(found.w, np.zeros(problem.n_offsets))[0]
    assert found.certificate.primal <= least + 1e-12 * abs(least)


def test_what_is_for_others():
    X, squared = np.random.default_rng(0).normal(size=(400, 5)), Squared()

    def of(X=X, loss=squared):
        given = Plain.of(MemoryDesign(X), np.ones(len(X)), loss, as_penalty("l2"), 0.1, True)
        return given and ByMoments.of(given)

    assert of() is not None
    assert of(loss=as_loss("huber")) is None
    assert of(X=X[:39]) is None
    assert of(X=X.astype(np.float32)) is None

    class Mine(Squared):
        pass

    assert of(loss=Mine()) is None


def test_numbers_that_are_too_large_are_left_to_those_who_name_them():
    X = np.random.default_rng(0).normal(size=(400, 5))
    with pytest.raises(ValueError, match="X holds"):
        LinearRegressor().fit(X * 1e160, X[:, 0])
    model = LinearRegressor(alpha=0.1, tol=1e-6).fit(X + 1e9, X[:, 0])  # moments lose too many digits
    assert model.converged_


def test_a_model_says_what_it_says_otherwise():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 4))
    y = X[:, 0] + 0.3 * rng.normal(size=500)
    ours, other = LinearRegressor(alpha=0.1), LinearRegressor(alpha=0.1, solver="least_squares")
    for model in (ours.fit(X, y), other.fit(X, y)):
        np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_[None], atol=1e-3)
    np.testing.assert_allclose(ours.coef_, other.coef_, atol=1e-3)
    lo, hi = ours.score_bounds(X)
    assert (lo <= other.predict(X) + 1e-2).all() and (hi >= other.predict(X) - 1e-2).all()
    assert ours.n_iter_ == 1 and ours.history_[-1].proved


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # others may say that they stall
@pytest.mark.parametrize("alpha", [1e-12, 1e-20, 1e-200])
@pytest.mark.parametrize("penalty", ["l2", "elastic_net", "l1"])
def test_dependent_columns_under_next_to_no_penalty_are_left_to_others(penalty, alpha):
    """Rounding takes what so little of a penalty adds to the matrix, which is singular then."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (60, 2)).astype(float)
    for columns in (np.hstack([X, X]), np.hstack([X, np.zeros((60, 1))]), np.hstack([X, X.sum(1)[:, None]])):
        y = X[:, 0] + rng.normal(size=60)
        model = LinearRegressor(penalty=penalty, alpha=alpha, tol=1e-4, max_time=5.0).fit(columns, y)
        given = MemoryDesign(columns), np.ones(60), Squared(), as_penalty(penalty), alpha, True
        found = ByMoments.of(Plain.of(*given)).fit(y, 1e-4)
        assert found is None or found.certificate.relative_gap <= 1e-4
        assert np.isfinite(model.coef_).all()
        assert model.dual_objective_ <= np.square(y - y.mean()).mean() / 2
        LinearRegressor(penalty=penalty, alpha=alpha, tol=1e-4).fit(columns, y)  # nobody watches: in one call
