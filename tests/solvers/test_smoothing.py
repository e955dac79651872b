"""Smoothing that gives way: every kind of dual set, against the bundle, and monotone bounds."""

import numpy as np
import pytest

from gapfit import IncompatibleSolver, Problem, solve
from problems import labels_problem


@pytest.mark.parametrize("loss", ["hinge", "absolute", "quantile", "huber", "crammer_singer"])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_optimum_is_that_of_the_bundle(loss, intercept):
    problem = labels_problem(loss=loss, alpha=0.05, intercept=intercept)
    found, exact = solve(problem, "smoothing", tol=1e-5), solve(problem, "bundle", tol=1e-8)
    assert found.converged
    assert (
        abs(found.certificate.primal - exact.certificate.primal)
        <= found.certificate.gap + exact.certificate.gap
    )


def test_a_centre_that_moves_needs_no_sharp_rounding():
    """To 1e-8 on a loss with kinks, which a rounding that stays could only reach by becoming that small."""
    solution = solve(labels_problem(alpha=1e-2), "smoothing", tol=1e-8)
    assert solution.converged and solution.n_iter < 2000


def test_wide_data_are_no_trouble():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 200))
    problem = Problem(X, np.where(rng.random(30) < 0.5, 1.0, -1.0), "hinge", alpha=1e-1)
    assert solve(problem, "smoothing", tol=1e-4).converged


def test_what_cannot_be_projected_is_refused_by_name():
    with pytest.raises(IncompatibleSolver, match="Poisson"):
        solve(Problem(np.eye(3), [1.0, 2.0, 0.0], "poisson"), "smoothing")


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "absolute", "quantile", "huber"])
@pytest.mark.parametrize("seed", range(3))
def test_a_point_that_is_right_from_the_start_is_proved(loss, seed):
    """Every row with both labels: w = 0 is best, about every centre; only the dual point has a way to go."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-3, 4, size=(12, 1 + seed)).astype(float)
    X, y = np.vstack([rows, rows]), np.r_[np.ones(12), -np.ones(12)]
    for intercept in (True, False):
        problem = Problem(X, y, loss, alpha=0.01, intercept=intercept)
        assert solve(problem, "smoothing", tol=1e-7).converged
