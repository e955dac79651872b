"""Dual points are taken back into the domain of a norm's conjugate by the least change."""

from fractions import Fraction

import numpy as np
import pytest

from gapfit import Problem, Status, solve
from gapfit.losses.forms import Conjugate
from gapfit.refinement import drawn_in


def far_from_zero(seed, loss, n=60, d=8):
    """Columns that are long beside alpha: their products with u are small differences of large sums."""
    rng = np.random.default_rng([seed, 5])
    X = rng.normal(size=(n, d)) + 10.0 ** rng.uniform(4, 7)
    y = X[:, :2] @ [1.0, -1.0] + rng.standard_t(2, size=n)
    return Problem(X, y, loss, "l1", 10.0 ** rng.uniform(-7, -4))


LOSSES = ["squared", "huber", "squared_epsilon_insensitive"]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(8))
def test_slopes_that_round_across_the_domain_are_certified(loss, seed):
    found = solve(far_from_zero(seed, loss), tol=1e-6)
    assert found.status is Status.CERTIFIED


@pytest.mark.parametrize("seed", range(4))
def test_what_is_proved_is_below_the_exact_objective(seed):
    problem = far_from_zero(seed, "squared", n=20, d=3)
    found = solve(problem, tol=1e-6)
    exact = _exact_squared(problem, found.w, float(np.sum(found.intercept)))
    assert (
        Fraction(found.certificate.dual) <= exact <= Fraction(found.certificate.dual + found.certificate.gap)
    )


def _exact_squared(problem, w, b):
    rows, targets = problem.design.X.tolist(), problem.y.tolist()
    weights, b = [Fraction(v) for v in w.tolist()], Fraction(b)
    residuals = [
        sum((Fraction(x) * v for x, v in zip(row, weights, strict=True)), b) - Fraction(t)
        for row, t in zip(rows, targets, strict=True)
    ]
    risk = sum(r * r for r in residuals) / (2 * len(residuals))
    return Fraction(problem.alpha) * sum(map(abs, weights)) + risk


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", [*LOSSES, "logistic", "hinge"])
def test_the_slope_moves_to_its_target_and_the_point_hardly(loss, intercept):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(80, 6)) + 50.0, np.where(rng.random(80) < 0.5, -1.0, 1.0)
    problem = Problem(X, y, loss, "l1", 1e-3, intercept=intercept)
    u = -0.5 * problem.weight / problem.weight.sum() * (y + 0.1 * rng.normal(size=80))
    u = problem.form(Conjugate).project(u, balanced=intercept)
    a = problem.design.adjoint(u)
    moved = drawn_in(problem, u, a, 0.99)
    assert np.abs(problem.design.adjoint(moved) - 0.99 * a).max() <= 1e-6 * np.abs(a).max()
    assert np.abs(moved - u).max() <= 0.05 * np.abs(u).max()
    if intercept:
        assert abs(moved.sum() - u.sum()) <= 1e-12


def test_points_that_cannot_move_are_left_alone():
    X, y = np.eye(4), np.array([1.0, -1.0, 1.0, -1.0])
    problem = Problem(X, y, "hinge", "l1", 1e-3, intercept=False)
    corner = -y * problem.weight / problem.weight.sum()  # every sample at its bound
    assert drawn_in(problem, corner, problem.design.adjoint(corner), 0.9) is None
    assert drawn_in(problem, np.zeros(4), np.zeros(4), 0.9) is None


def test_a_matrix_that_takes_long_is_not_made_when_a_fit_ends(monkeypatch):
    problem = far_from_zero(0, "squared")
    u = problem.tangent(problem.scores(problem.start())).u
    a = problem.design.adjoint(u)
    assert drawn_in(problem, u, a, 0.9) is not None
    monkeypatch.setattr("gapfit.refinement._WORK", problem.design.size * len(a) - 1)
    assert drawn_in(problem, u, a, 0.9) is None
