"""Sparse multinomial models: against interior points and scikit-learn, on drawn problems, and their parts."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from gapfit import Problem, Status, solve
from gapfit.losses import Softmax
from gapfit.losses.forms import Conditional
from gapfit.penalties import L1, Box, ElasticNet
from gapfit.solvers.classes_in_turn import _shifted, classes_in_turn
from gapfit.solvers.point import at_best_offsets
from gapfit.solvers.second_order.joint_classes import towards_the_minimum


def drawn(seed, n=80, d=12, K=4):
    """Some features, of which a few tell the class; two depend on each other."""
    rng = np.random.default_rng([seed, 64])
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1, size=d)
    X[:, -1] = X[:, 0] - X[:, 1]
    scores = (X / np.abs(X).max(axis=0))[:, :4] @ rng.normal(size=(4, K)) * 4
    y = np.argmax(scores + rng.gumbel(size=(n, K)), axis=1).astype(float)
    y[:K] = np.arange(K)
    return X, y


def optimum(X, y, penalty, alpha, weight, K):
    """By Clarabel, from the definitions."""
    W, b = cp.Variable((X.shape[1], K)), cp.Variable(K)
    F = X @ W + np.ones((len(y), 1)) @ cp.reshape(b, (1, K), order="C")
    losses = cp.log_sum_exp(F, axis=1) - cp.sum(cp.multiply(np.eye(K)[y.astype(int)], F), axis=1)
    size = penalty.l1_ratio * cp.sum(cp.abs(W)) + 0.5 * (1 - penalty.l1_ratio) * cp.sum_squares(W)
    program = cp.Problem(cp.Minimize(alpha * size + (weight / weight.sum()) @ losses))
    return float(program.solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("alpha", [1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize("seed", range(10))
def test_drawn_problems_are_certified(seed, alpha, ratio):
    X, y = drawn(seed)
    penalty = L1() if ratio == 1.0 else ElasticNet(ratio)
    found = solve(Problem(X, y, Softmax(), penalty, alpha), "classes_in_turn", tol=1e-6)
    assert found.status is Status.CERTIFIED
    assert found.n_iter < 100


@pytest.mark.parametrize("penalty", [ElasticNet(0.999), ElasticNet(0.5)], ids=str)
@pytest.mark.parametrize("alpha", [1e-1, 1e-2])
def test_the_optimum_is_that_of_an_interior_point_method(penalty, alpha):
    X, y = drawn(3, n=40, d=6, K=3)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, size=40)
    found = solve(Problem(X, y, Softmax(), penalty, alpha, weight), "classes_in_turn", tol=1e-8)
    assert found.certificate.primal == pytest.approx(optimum(X, y, penalty, alpha, weight, 3), rel=1e-5)


def test_weights_are_those_of_scikit_learn():
    X, y = drawn(5, n=100, d=6, K=3)
    alpha, penalty = 1e-2, ElasticNet(0.5)
    ours = solve(Problem(X, y, Softmax(), penalty, alpha), "classes_in_turn", tol=1e-9)
    peer = LogisticRegression(
        solver="saga", l1_ratio=0.5, C=1 / (alpha * len(y)), tol=1e-8, max_iter=200_000
    ).fit(X, y)
    assert np.abs(ours.w.reshape(-1, 3).T - peer.coef_).max() <= 2e-3


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
def test_rows_of_all_kinds_with_weights_and_known_offsets(layout, intercept):
    X, y = drawn(7)
    rng = np.random.default_rng(7)
    known, weight = rng.normal(size=(len(y), 4)), rng.uniform(0.1, 2.0, size=len(y))
    problem = Problem(layout(X), y, Softmax(), L1(), 1e-2, weight, intercept, known)
    by_cuts = solve(problem, "bundle", tol=1e-5)
    found = solve(problem, "classes_in_turn", tol=1e-7)
    assert found.converged
    assert found.certificate.dual <= by_cuts.certificate.primal
    assert by_cuts.certificate.dual <= found.certificate.primal


def test_a_box_is_kept():
    X, y = drawn(2)
    found = solve(Problem(X, y, Softmax(), Box(L1(), -0.05, 0.3), 1e-3), "classes_in_turn", tol=1e-6)
    assert found.converged
    assert found.w.min() >= -0.05 and found.w.max() <= 0.3


def test_one_class_alone_is_a_logistic_problem():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, size=30).astype(float)
    risk = Softmax(4).bind(y, np.ones(30))
    form, F = risk.form(Conditional), 3 * rng.normal(size=(30, 4))
    for k in range(4):
        logistic = Problem(np.zeros((30, 1)), form.labels(k), "logistic", intercept=False).risk
        there = F.copy()
        there[:, k] += rng.normal(size=30)
        none = np.zeros(0)
        change = [risk.value_and_subgradient(G.ravel(), none)[0] for G in (F, there)]
        alone = [logistic.value_and_subgradient(G[:, k] + form.offset(F, k), none)[0] for G in (F, there)]
        assert np.diff(change) == pytest.approx(np.diff(alone), abs=1e-12)


@pytest.mark.parametrize("penalty", [L1(), ElasticNet(0.7), ElasticNet(0.05)], ids=str)
def test_no_common_number_makes_the_penalty_of_a_feature_less(penalty):
    X, y = drawn(1)
    problem = Problem(X, y, Softmax(), penalty, 1e-2)
    w = np.random.default_rng(1).normal(size=problem.design.shape[1])
    least = _shifted(problem, w).reshape(-1, 4)
    for change in (1e-3, -1e-3, 0.1, -0.1):
        for feature in range(len(least)):
            moved = least.copy()
            moved[feature] += change
            assert penalty.value(least.ravel()) <= penalty.value(moved.ravel()) + 1e-12


def test_a_step_of_all_classes_lowers_the_objective_or_stays():
    X, y = drawn(4)
    problem = Problem(X, y, Softmax(), L1(), 1e-2)
    found = solve(problem, "classes_in_turn", tol=1e-3)
    start = at_best_offsets(problem, 1.1 * found.w, problem.scores(1.1 * found.w))
    assert towards_the_minimum(problem, start).J < start.J
    nothing = at_best_offsets(problem, 0 * found.w, problem.scores(0 * found.w))
    assert towards_the_minimum(problem, nothing) is nothing


def test_what_it_needs_is_said():
    X, y = drawn(0)
    with pytest.raises(Exception, match="classes_in_turn needs"):
        solve(Problem(X, np.where(y > 0, 1.0, -1.0), "hinge"), classes_in_turn)
