"""Coordinate descent over classes: softmax by SciPy, Crammer-Singer by the bundle and by the hinge."""

import numpy as np
import pytest
from scipy.optimize import minimize

from gapfit import IncompatibleSolver, Problem, solve

RNG = np.random.default_rng(0)
X = RNG.normal(size=(70, 3))
Y = np.argmax(X @ RNG.normal(size=(3, 4)) + RNG.normal(size=(70, 4)), axis=1).astype(float)


def softmax_objective(point, alpha):
    W, b = point[:12].reshape(3, 4), point[12:]
    f = X @ W + b
    top = f.max(axis=1)
    risk = top + np.log(np.exp(f - top[:, None]).sum(axis=1)) - f[np.arange(70), Y.astype(int)]
    return alpha / 2 * (W**2).sum() + risk.mean()


@pytest.mark.parametrize("alpha", [1.0, 1e-2])
def test_softmax_is_minimised(alpha):
    found = solve(Problem(X, Y, "softmax", alpha=alpha), "simplex_cd", tol=1e-7)
    least = minimize(
        softmax_objective, np.zeros(16), args=(alpha,), method="BFGS", options={"gtol": 1e-8}
    ).fun
    at = softmax_objective(np.r_[found.w, found.intercept], alpha)
    assert found.converged and at == pytest.approx(found.certificate.primal, rel=1e-10)
    assert abs(at - least) <= 1e-6 * least and found.certificate.dual <= least


@pytest.mark.parametrize("intercept", [True, False])
def test_crammer_singer_is_minimised(intercept):
    problem = Problem(X, Y, "crammer_singer", alpha=0.05, intercept=intercept)
    found, exact = solve(problem, "simplex_cd", tol=1e-6), solve(problem, "bundle", tol=1e-9)
    assert found.converged
    assert (
        abs(found.certificate.primal - exact.certificate.primal)
        <= found.certificate.gap + exact.certificate.gap
    )


def test_two_classes_are_what_the_hinge_finds():
    """With W = (-w/2, w/2) the penalty is half as large, and the margin is that of both columns."""
    two = (Y > 1).astype(float)
    joint = solve(Problem(X, two, "crammer_singer", alpha=0.1, intercept=False), "simplex_cd", tol=1e-9)
    plain = solve(Problem(X, 2 * two - 1, "hinge", alpha=0.05, intercept=False), tol=1e-9)
    assert joint.certificate.primal == pytest.approx(plain.certificate.primal, rel=1e-7)


def test_two_labels_that_compete_with_none_are_refused_by_name():
    with pytest.raises(IncompatibleSolver, match="Hinge"):
        solve(Problem(X, 2.0 * (Y > 1) - 1, "hinge"), "simplex_cd")
