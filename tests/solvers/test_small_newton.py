"""Small fits in one compiled call: losses of lines and parabolas and the logistic one; L2, L1 or both."""

import numpy as np
import pytest

from gapfit import IncompatibleSolver, Problem, solve
from gapfit.solvers.small_newton import small_newton
from problems import labels_problem

LOSSES = ["hinge", "squared_hinge", "smoothed_hinge", "logistic", "absolute", "quantile", "huber", "squared"]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net"])
def test_the_optimum_is_that_of_the_bundle(loss, penalty):
    problem = labels_problem(loss=loss, penalty=penalty, alpha=0.02)
    found, exact = solve(problem, "small_newton", tol=1e-6), solve(problem, "bundle", tol=1e-8)
    assert found.converged
    assert (
        abs(found.certificate.primal - exact.certificate.primal)
        <= found.certificate.gap + exact.certificate.gap
    )


@pytest.mark.parametrize("alpha", [1e2, 1.0, 1e-3, 1e-6])
def test_strong_and_weak_penalties(alpha):
    problem = labels_problem(alpha=alpha)
    assert solve(problem, "small_newton", tol=1e-6).converged


def test_columns_far_from_zero_are_centred():
    near = labels_problem(alpha=1e-2)
    far = Problem(near.design.X + 1e6, near.y, alpha=1e-2)
    first, second = (solve(problem, "small_newton", tol=1e-6) for problem in (near, far))
    assert second.converged
    np.testing.assert_allclose(first.w, second.w, atol=1e-3 * np.abs(first.w).max())


def test_equal_samples_and_constant_columns_are_no_trouble():
    X = np.repeat([[1.0, 2.0], [1.0, -2.0]], 20, axis=0)
    y = np.repeat([1.0, -1.0], 20)
    assert solve(Problem(X, y, alpha=1e-3), "small_newton", tol=1e-8).converged


def test_losses_that_are_no_data_are_refused_by_name():
    with pytest.raises(IncompatibleSolver, match="FBeta"):
        solve(labels_problem(loss="f_beta"), "small_newton")


def test_a_start_with_its_intercept_takes_fewer_steps():
    near = labels_problem(loss="logistic", alpha=1e-3, n=300)
    problem = Problem(near.design.X + 3.0, near.y, "logistic", alpha=1e-3)
    found = solve(problem, "small_newton", tol=1e-6)
    told = {"w": found.w, "offsets": np.array([found.intercept - 0.01])}
    with_it, without = (next(small_newton(problem, start)) for start in (told, {"w": found.w}))
    assert len(with_it.way) < len(without.way)
    alone = next(small_newton(problem, {"offsets": told["offsets"]}))  # without w it says nothing
    assert (alone.point() == next(small_newton(problem)).point()).all()


def test_a_start_that_is_the_optimum_is_the_end():
    """A gap of zero, or what rounding makes of it, moves nothing: the solver ends."""
    X = np.array([[1.0], [-1.0], [2.0], [-2.0]])
    problem = Problem(X, np.zeros(4), "squared", alpha=1.0)
    assert len(list(small_newton(problem))) == 1
    found = solve(problem, "small_newton", tol=1e-12)
    assert found.converged and not found.w.any()
