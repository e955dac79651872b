"""Zeros, signs and ranges of single weights, against tight fits and against sampled models."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from gapfit import Problem, solve
from gapfit.penalties import ElasticNet
from gapfit.statements import optimal_ball
from gapfit.whereabouts.coefficients import tilted_end, zeros_and_signs

RNG = np.random.default_rng(5)
X = RNG.normal(size=(80, 12)) + np.arange(12) / 4
TARGET = X[:, :4] @ [2.0, -1.5, 1.0, 0.5] + RNG.normal(size=80)
LABELS = np.where(np.median(TARGET) < TARGET, 1.0, -1.0)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", ["l1", ElasticNet(0.8)])
@pytest.mark.parametrize("loss", ["logistic", "squared", "huber", "squared_hinge"])
def test_zeros_and_signs_are_those_of_the_optimum(loss, penalty, intercept):
    y = LABELS if loss in ("logistic", "squared_hinge") else TARGET
    found = []
    tight = solve(Problem(X, y, loss, penalty, 0.1, None, intercept), tol=1e-11)
    for tol in (1e-1, 1e-3, 1e-9):
        problem = Problem(sparse.csr_array(X) if tol == 1e-3 else X, y, loss, penalty, 0.1, None, intercept)
        fit = solve(problem, tol=tol)
        zeros, signs = zeros_and_signs(problem, fit, optimal_ball(problem, fit))
        assert not (zeros & (np.abs(tight.w) > 1e-7)).any()
        assert not ((signs != 0) & (signs != np.sign(tight.w))).any()
        found.append(int(zeros.sum()))
    assert found[0] <= found[1] <= found[2] == int((np.abs(tight.w) < 1e-7).sum()) > 0


def test_losses_of_lines_and_penalties_without_corners_have_no_zeros():
    for loss, penalty in (("hinge", "l1"), ("logistic", "l2")):
        problem = Problem(X, LABELS, loss, penalty, 0.1)
        fit = solve(problem, tol=1e-6)
        assert not zeros_and_signs(problem, fit, optimal_ball(problem, fit))[0].any()


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_ranges_contain_every_nearly_optimal_model_and_little_else(loss):
    """The outermost nearly optimal models, by another solver."""
    y = TARGET if loss == "squared" else LABELS
    problem = Problem(X[:, :4], y, loss, alpha=0.1)
    fit = solve(problem, tol=1e-9)
    eps = 0.01 * fit.certificate.primal
    w, b = cp.Variable(4), cp.Variable()
    f = X[:, :4] @ w + b
    losses = {"squared": cp.sum_squares(f - y) / 2, "logistic": cp.sum(cp.logistic(-cp.multiply(y, f)))}
    losses["hinge"] = cp.sum(cp.pos(1 - cp.multiply(y, f)))
    J = 0.05 * cp.sum_squares(w) + losses[loss] / len(y)
    for j in (0, 2):
        for side, goal in ((1.0, cp.Minimize(w[j])), (-1.0, cp.Maximize(w[j]))):
            outermost = cp.Problem(goal, [fit.certificate.primal + eps >= J]).solve(solver=cp.CLARABEL)
            bound = tilted_end(problem, fit, j, side, eps)
            width = abs(outermost - fit.w[j])
            assert side * (outermost - bound) >= -1e-4 * width
            assert side * (outermost - bound) <= 0.05 * width
