"""`auto`: what it takes, what it says of that, and when it hands over."""

import logging

import numpy as np

from gapfit import Problem, solve
from problems import labels_problem


def test_auto_says_why(caplog):
    with caplog.at_level(logging.INFO, logger="gapfit"):
        solve(labels_problem())
        solve(labels_problem(n=9_000), tol=1e-3)
        solve(labels_problem(n=9_000, loss="logistic"), tol=1e-3)
        solve(labels_problem(loss="logistic", penalty="squared_lp"))
        solve(labels_problem(n=9_000, penalty="l1"), tol=1e-3)
        solve(labels_problem(penalty="squared_lp"))
    assert "auto: small_newton, because the data are small" in caplog.text
    assert "auto: semismooth_newton, because X has 5 columns only" in caplog.text
    assert "auto: newton, because X has 5 columns only" in caplog.text
    assert "auto: lbfgs, because loss and penalty are differentiable" in caplog.text
    assert "auto: rounded_cd, because the loss has lines and the penalty makes weights zero" in caplog.text
    assert "auto: bundle, because it takes every loss and every penalty" in caplog.text


def test_auto_goes_from_coordinate_descent_to_newton_when_the_gap_stops_falling(caplog):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 600))
    y = np.where(X[:, 0] + rng.normal(size=len(X)) > 0, 1.0, -1.0)
    with caplog.at_level(logging.INFO, logger="gapfit"):
        assert solve(Problem(X, y, alpha=1e-1), tol=1e-3).converged
        assert "auto: dual_cd, because the penalty is L2 and X is wide" in caplog.text
        assert "stopped falling" not in caplog.text
        badly_scaled = X * 10.0 ** np.linspace(-2, 3, X.shape[1])
        assert solve(Problem(badly_scaled, y, alpha=1e-3), tol=1e-6).converged
        assert "auto: the gap of dual_cd stopped falling" in caplog.text
        assert "auto: semismooth_newton, because it may be faster here" in caplog.text


def test_auto_leaves_coordinate_descent_soon_where_gradients_are_faster(caplog):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 600))
    y = X[:, :50].sum(axis=1) + rng.normal(size=len(X))
    with caplog.at_level(logging.INFO, logger="gapfit"):
        assert solve(Problem(X, y, "huber", alpha=1e-4), tol=1e-6).converged
    assert "auto: the gap of dual_cd stopped falling" in caplog.text
    assert "auto: smoothing, because it may be faster here" in caplog.text
    assert "auto: newton" not in caplog.text


def test_auto_learns_from_a_sweep_whether_most_samples_are_in_play(caplog):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 30))
    noisy = np.where(X[:, 0] + 3 * rng.normal(size=len(X)) > 0, 1.0, -1.0)
    with caplog.at_level(logging.INFO, logger="gapfit"):
        assert solve(Problem(X, noisy, intercept=False), tol=1e-3).converged
        assert "auto: dual_cd gave up, too many samples are in play" in caplog.text
        assert "auto: semismooth_newton" in caplog.text
