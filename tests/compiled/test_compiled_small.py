"""Compiled steps of `small_newton`, against NumPy and brute force."""

import numpy as np
import pytest

from gapfit import Problem, solve
from gapfit.compiled import small, small_corners, small_model, small_step
from gapfit.losses.atoms import Atoms
from gapfit.solvers.small_newton import _Path
from kernels import entry

close = np.testing.assert_allclose


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def path_of(rng, loss="hinge", penalty="l2", n=30, d=4, **kwargs):
    X = rng.normal(size=(n, d)) + 3.0
    y = np.sign(X[:, 0] - 3.0 + 0.5 * rng.normal(size=n))
    path = _Path(Problem(X, y, loss, penalty, 1e-2, **kwargs))
    path.start(None)
    return path


def test_the_system_of_a_step(rng):
    H, s = np.cov(rng.normal(size=(5, 20))), rng.normal(size=5)
    x, factor = s.copy(), np.tril(H)
    entry(small_model.solve)(factor, x, 5)
    close(H @ x, s, rtol=1e-9)
    x, factor = s.copy(), np.tril(H)
    entry(small_model.solve)(factor, x, 3)
    close(H[:3, :3] @ x[:3], s[:3], rtol=1e-9)
    close(x[3:], s[3:])


@pytest.mark.parametrize("free", [False, True])
def test_the_hessian_is_that_of_curved_rows_about_their_mean(rng, free):
    path = path_of(rng, intercept=free)
    place, X = path.place, path.X
    place.curvature[:] = np.where(rng.random(30) < 0.6, rng.random(30), 0.0)
    bend = place.curvature.sum() if free else 0.0
    entry(small_model.hessian)(X, place, place.mean, bend, path.net)
    centred = X - (place.curvature @ X / bend if free else 0.0)
    expected = (centred * place.curvature[:, None]).T @ centred + path.net.l2 * np.eye(4)
    close(np.tril(place.hessian), np.tril(expected), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_the_model_with_l1_is_least_where_no_subgradient_is_left(seed):
    rng = np.random.default_rng(seed)
    path = path_of(rng, d=6, penalty="l1")
    H = np.cov(rng.normal(size=(6, 30)))
    w, slope, l1 = np.where(rng.random(6) < 0.5, 0.0, rng.normal(size=6)), rng.normal(size=6), 0.4
    step = np.empty(6)
    entry(small_corners.minimise_with_l1)(np.tril(H), w, l1, slope.copy(), step, path.corners)
    at = w + step
    rest = slope + H @ step
    close(rest[at != 0], -l1 * np.sign(at[at != 0]), rtol=0, atol=5e-3)
    assert (np.abs(rest[at == 0]) <= l1 + 5e-3).all()


@pytest.mark.parametrize("seed", range(30))
def test_the_model_with_l1_is_least_where_columns_are_alike_or_the_same(seed):
    """There weights come to zero one after the other, or together."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 50))
    X = rng.normal(size=(100, d)) + rng.choice([0.0, 3.0]) * rng.normal(size=(100, 1))
    X = X[:, rng.integers(0, d, d)] if rng.random() < 0.5 else X
    H = X.T @ X / 100 + 1e-8 * np.eye(d)
    w = np.where(rng.random(d) < rng.random(), 0.0, rng.normal(size=d))
    slope = X.T @ rng.normal(size=100) / 10
    l1, step = rng.random() * np.abs(slope - H @ w).max(), np.empty(d)
    zeros = np.zeros(d)
    corners = small_corners.Corners(zeros, np.zeros((d, d)), zeros.copy(), np.zeros(d, np.int64))
    entry(small_corners.minimise_with_l1)(np.tril(H), w, l1, slope.copy(), step, corners)
    at = w + step
    rest = slope + H @ step
    slack = 1e-3 * np.sqrt(np.diag(H)).max() * max(np.abs(w).max(), 1.0)
    close(rest[at != 0], -l1 * np.sign(at[at != 0]), rtol=0, atol=slack)
    assert (np.abs(rest[at == 0]) <= l1 + slack).all()


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_a_step_ends_where_the_model_is_least(rng, loss, penalty):
    path = path_of(rng, loss, penalty)
    path.improve()
    place, course, net = path.place, path.course, path.net
    bend = max(course.bend, net.least_bend)
    entry(small_model.hessian)(path.X, place, place.mean, bend, net)
    lower, w = np.tril(place.hessian), place.w.copy()
    H = lower + np.tril(lower, -1).T
    slope = net.l2 * w - place.z - course.imbalance * place.mean
    db = entry(small_step.step_by_hessian)(path.X, net, place, course, path.corners)
    step, rest = place.step, slope + H @ place.step
    slack = 1e-3 * np.abs(slope).max()
    close(rest[w + step != 0], -net.l1 * np.sign(w + step)[w + step != 0], rtol=0, atol=slack)
    assert (np.abs(rest) <= net.l1 + slack).all()
    close(db, -course.imbalance / bend - place.mean @ step, rtol=1e-10)
    close(place.along, path.X @ step + db, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "smoothed_hinge"])
def test_a_look_tells_the_objective_and_a_gap_that_is_none_too_small(rng, loss):
    path = path_of(rng, loss)
    path.improve()
    problem, course = path.problem, path.course
    close(course.primal, problem.evaluate(path.w, path.offsets()), rtol=1e-12)
    best = solve(problem, "bundle", tol=1e-9).certificate
    assert course.gap >= course.primal - best.primal - 1e-12
    assert problem.dual(path.bound()) >= course.primal - 1.5 * course.gap - 1e-12


@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_calls_lead_to_the_optimum(rng, loss, penalty):
    path = path_of(rng, loss, penalty)
    path.improve()
    while path.course.moving and path.course.gap > 1e-9:
        before = path.course.gap
        path.improve()
        assert path.course.gap <= small.PROGRESS * before or not path.course.moving
    best = solve(path.problem, "bundle", tol=1e-9).certificate
    assert path.course.primal <= best.primal + 1e-8


def test_rows_of_weight_and_offset_move_targets(rng):
    path = path_of(rng, offset=np.linspace(-1, 1, 30), sample_weight=rng.random(30) + 0.1)
    atoms = path.problem.form(Atoms)
    close(path.losses.target, atoms.sign * atoms.lin - np.linspace(-1, 1, 30))
    close(path.losses.p.sum(), 1.0)
