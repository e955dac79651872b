"""Sparse models of losses with kinks: against an interior point method, the bundle, and on bad scales."""

from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from gapfit import Problem, solve
from gapfit.losses import Absolute, EpsilonInsensitive, Hinge, Huber, Quantile
from gapfit.penalties import L1, L2, Box, ElasticNet
from gapfit.solvers.primal_cd import Tuning
from gapfit.solvers.rounded_cd import rounded_cd

REGRESSION = [Absolute(), Quantile(0.9), EpsilonInsensitive(0.3), Huber(0.01)]


def data(n=120, d=40, seed=0, loss=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    scores = X[:, :5] @ rng.standard_normal(5) + 0.5 * rng.standard_t(2, size=n) + 0.4
    return X, np.sign(scores) if isinstance(loss, Hinge) else scores


def convex_program(X, y, loss, penalty, alpha, weight):
    """The optimal value by Clarabel, from the definitions of loss and penalty."""
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    r = X @ w + b - y
    values = {
        Hinge: lambda: cp.pos(1 - cp.multiply(y, X @ w + b)),
        Absolute: lambda: cp.abs(r),
        Quantile: lambda: cp.maximum(-0.9 * r, 0.1 * r),
        EpsilonInsensitive: lambda: cp.pos(cp.abs(r) - 0.3),
        Huber: lambda: cp.huber(r, 0.01) / 2,
    }[type(loss)]()
    share = penalty.l1_ratio
    size = share * cp.norm1(w) + 0.5 * (1 - share) * cp.sum_squares(w)
    program = cp.Problem(cp.Minimize(alpha * size + (weight / weight.sum()) @ values))
    return float(program.solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("loss", [Hinge(), *REGRESSION], ids=repr)
@pytest.mark.parametrize("penalty", [L1(), ElasticNet(0.5)], ids=repr)
def test_finds_the_optimum_of_an_interior_point_method(loss, penalty):
    X, y = data(loss=loss)
    weight = np.random.default_rng(1).uniform(0.2, 2.0, len(y))
    for alpha in (0.05, 0.005):
        solution = solve(Problem(X, y, loss, penalty, alpha, weight), "rounded_cd", tol=1e-8)
        assert solution.converged
        reference = convex_program(X, y, loss, penalty, alpha, weight)
        assert solution.certificate.primal == pytest.approx(reference, rel=1e-6)


@pytest.mark.parametrize(
    "penalty", [L1(), ElasticNet(0.2), Box(L1(), 0.0, 0.3), Box(L2(), -0.1, 0.1)], ids=repr
)
@pytest.mark.parametrize("intercept", [False, True])
def test_agrees_with_the_bundle(penalty, intercept):
    X, y = data(n=60, d=12, loss=Hinge())
    problem = Problem(X, y, "hinge", penalty, 0.02, intercept=intercept)
    ours, theirs = solve(problem, "rounded_cd", tol=1e-9), solve(problem, "bundle", tol=1e-7)
    assert ours.converged
    assert theirs.converged
    difference = abs(ours.certificate.primal - theirs.certificate.primal)
    assert difference <= ours.certificate.gap + theirs.certificate.gap


@pytest.mark.parametrize("loss", [Hinge(), Absolute()], ids=repr)
def test_raw_scales_and_an_offset(loss):
    """Columns from 1e-3 to 1e5 and a known part of the scores; the same in other units."""
    X, y = data(d=12, loss=loss)
    raw = X * np.geomspace(1e-3, 1e5, 12)
    known = np.linspace(-1, 1, len(y))
    for penalty in (L1(), ElasticNet(0.5)):
        at_zero = Problem(raw, y, loss, "l2", 1.0, offset=known).oracle(np.zeros(12)).minorant.a
        problem = Problem(raw, y, loss, penalty, np.abs(at_zero).max() / 1000, offset=known)
        assert solve(problem, "rounded_cd", tol=1e-6).converged


@pytest.mark.parametrize("layout", [sparse.csr_array, np.asfortranarray, lambda X: X.astype(np.float32)])
def test_layout_and_precision_do_not_matter(layout):
    X, y = data(loss=Hinge())
    X[np.abs(X) < 0.8] = 0.0
    X = X.astype(np.float32).astype(float)
    same = solve(Problem(layout(X), y, "hinge", "l1", 0.01), "rounded_cd", tol=1e-6)
    reference = solve(Problem(X, y, "hinge", "l1", 0.01), "rounded_cd", tol=1e-6)
    assert same.converged
    assert same.certificate.primal == pytest.approx(reference.certificate.primal, rel=2e-6)


def test_more_columns_than_samples_and_a_column_that_was_overlooked():
    """The columns to work with are guessed from the first derivatives; a wrong guess is found out."""
    X, y = data(n=60, d=500, loss=Absolute())
    problem = Problem(X, y, "absolute", "l1", 0.05)
    usual = solve(problem, "rounded_cd", tol=1e-7)
    narrow = solve(problem, partial(rounded_cd, tuning=Tuning(margin=0.05)), tol=1e-7)
    assert usual.converged
    assert narrow.converged
    assert narrow.certificate.primal == pytest.approx(usual.certificate.primal, rel=2e-7)


def test_integer_weights_equal_repetition():
    X, y = data(n=50, d=10, loss=Absolute())
    times = np.random.default_rng(2).integers(1, 4, 50)
    weighted = solve(Problem(X, y, "absolute", "l1", 0.02, times), "rounded_cd", tol=1e-8)
    X, y = np.repeat(X, times, axis=0), np.repeat(y, times)
    repeated = solve(Problem(X, y, "absolute", "l1", 0.02), "rounded_cd", tol=1e-8)
    assert weighted.certificate.primal == pytest.approx(repeated.certificate.primal, rel=2e-8)


@pytest.mark.parametrize("stop", [1, 3, 6, 9])
def test_goes_on_with_identical_bytes(stop):
    """Within a rounded problem, and from one to the next."""
    X, y = data(loss=Hinge())
    problem = Problem(sparse.csr_array(X), y, "hinge", "l1", 0.01)
    whole = solve(problem, "rounded_cd", tol=0.0, max_iter=12, callbacks=[lambda progress: False])
    half = solve(problem, "rounded_cd", tol=0.0, max_iter=stop)
    rest = solve(problem, "rounded_cd", tol=0.0, max_iter=12 - stop, start=half)
    ours, theirs = rest.state["stage"], whole.state["stage"]
    assert ours.steps == theirs.steps
    assert ours.rounding.mu == theirs.rounding.mu
    assert np.array_equal(ours.rounding.centre, theirs.rounding.centre)
    assert np.array_equal(ours.inner["point"].w, theirs.inner["point"].w)


def test_a_start_helps_along_a_path():
    X, y = data(n=300, loss=Absolute())
    cold = warm = 0
    earlier = None
    for alpha in np.geomspace(0.1, 0.01, 6):
        problem = Problem(X, y, "absolute", "l1", alpha)
        earlier = solve(problem, "rounded_cd", tol=1e-5, start=earlier)
        alone = solve(problem, "rounded_cd", tol=1e-5)
        assert earlier.converged
        warm, cold = warm + earlier.n_iter, cold + alone.n_iter
    assert warm < cold


@pytest.mark.parametrize("seed", range(4))
def test_a_centre_is_left_only_with_every_column_that_wants_to_move_in_sight(seed):
    """Few columns are thought plausible at first: the others are found when a rounded problem is solved, not
    only when the driver looks."""
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(sparse.random_array((200, 150), density=0.05, rng=rng))
    y = np.where(X @ rng.standard_normal(150) > 0, 1.0, -1.0)
    problem = Problem(X, y, Hinge(), L1(), 1e-3)
    unseen = stages = 0
    for _, iterate in zip(range(30), rounded_cd(problem, tuning=Tuning(margin=0.3)), strict=False):
        stage = iterate.snapshot()["stage"]
        if stage.steps == 0:  # what begins now is about another centre
            u = -y * stage.rounding.centre / len(y)
            wanting = np.flatnonzero(np.abs(X.T @ u) > problem.alpha * (1 + 1e-9))
            unseen, stages = unseen + len(np.setdiff1d(wanting, stage.inner["ids"])), stages + 1
    assert stages > 3 and unseen == 0
