"""What is particular to `newton`: its lower bound, its shares of the samples, and its line search."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from gapfit import Problem, solve
from gapfit.solvers.newton import Tuning, _Descent, newton
from gapfit.solvers.point import at_offsets
from gapfit.solvers.second_order.line import along
from gapfit.solvers.second_order.place import place

LOSSES = ("logistic", "squared_hinge", "exponential", "poisson", "huber", "squared")


def make(loss, n=400, d=6, intercept=True, alpha=1e-3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    f = X @ rng.normal(size=d) / d + 0.5 * rng.normal(size=n)
    targets = {"poisson": rng.poisson(np.exp(f)), "huber": f, "squared": f}
    return Problem(X, targets.get(loss, np.where(f > 0.3, 1.0, -1.0)), loss, alpha=alpha, intercept=intercept)


def started(problem):
    return _Descent(problem, Tuning(), place(problem, problem.start(), None))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_dual_point_of_a_step_fits_the_weights_after_it(loss, intercept):
    """With any D in the Hessian: also with the one of an earlier step."""
    problem = make(loss, intercept=intercept)
    descent = started(problem)
    for _ in range(3):
        point = descent.point
        if not descent.step():
            break
        known = descent.known
        gradient = problem.alpha * point.w + problem.design.adjoint(point.u)
        e = float(point.u.sum()) if intercept else 0.0
        centred = problem.design.X - known.mean
        hessian = problem.alpha * np.eye(len(point.w)) + centred.T @ (known.D[:, None] * centred)
        s = -np.linalg.solve(hessian, gradient - e * known.mean)
        t = -e / known.D.sum() - known.mean @ s if intercept else 0.0
        dual = descent.bound.args[2]
        assert np.allclose(dual, point.u + known.D * (problem.design.scores(s) + t), atol=1e-10)
        assert np.allclose(problem.design.adjoint(dual), -problem.alpha * (point.w + s), atol=1e-10)
        assert not intercept or abs(dual.sum()) <= 1e-12


def test_its_bound_is_far_tighter_than_the_tangent_where_alpha_is_small():
    problem = make("logistic", n=2000, alpha=1e-5, intercept=False)
    descent = started(problem)
    optimum = solve(problem, "bundle", tol=1e-9).certificate.dual
    while descent.known is None or descent.known.decrement > 1e-2 * optimum:
        descent.step()
    point = descent.point
    tangent = problem.dual(problem.minorant(problem.tangent(point.scores), point.scores))
    ours = problem.dual(descent.bound())
    assert ours <= optimum * (1 + 1e-12)
    assert optimum - ours <= 0.1 * (optimum - tangent)


@pytest.mark.parametrize("loss", ["squared_hinge", "huber"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_a_corrected_matrix_is_the_matrix(loss, kind):
    problem = make(loss, n=1500)
    problem = Problem(kind(problem.design.X), problem.y, loss, alpha=1e-4)
    descent = started(problem)
    for _ in range(6):
        descent.step()
        known = descent.known
        fresh = problem.design.weighted_gram(known.D, descent.centre)
        assert np.allclose(np.tril(known.gram), np.tril(fresh), atol=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "squared"])
def test_shares_of_the_samples_change_the_way_and_not_the_optimum(loss, monkeypatch):
    problem = make(loss, n=30_000, d=8)
    lengths = []
    take = Problem.take
    monkeypatch.setattr(Problem, "take", lambda self, rows: lengths.append(len(rows)) or take(self, rows))
    learnt = solve(problem, "newton", tol=1e-8)
    plain = solve(problem, partial(newton, tuning=Tuning(shares=())), tol=1e-8)
    assert learnt.converged
    assert plain.converged
    assert lengths
    # one share tells that J is a parabola; a quarter of so many samples would not tell more than a 16th
    assert len(lengths) == (1 if loss == "squared" else 2)
    assert np.allclose(learnt.w, plain.w, atol=1e-3 * np.abs(plain.w).max())


def test_a_class_that_is_too_rare_for_a_share():
    problem = make("logistic", n=30_000, d=8)
    y = np.full(30_000, -1.0)
    y[:3] = 1.0
    problem = Problem(problem.design.X, y, "logistic", alpha=1e-2)
    assert solve(problem, "newton", tol=1e-6).converged


def test_a_share_that_is_too_bold_for_the_exponential():
    """The few rows outside the shares are so long that exp overflows where the others lead."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 8))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=len(X)) > 0, 1.0, -1.0)
    lot = np.random.default_rng(0).random(len(X), dtype=np.float32)
    far = np.flatnonzero(lot > 0.9)[:3]
    X[far] = -1e4 * y[far][:, None] * np.eye(8)[0]
    solution = solve(Problem(X, y, "exponential", alpha=1e-3), "newton", tol=1e-6)
    assert solution.converged


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("length", [1e-3, 0.1, 1.0, 30.0])
def test_the_search_ends_near_the_minimum_or_takes_the_whole_step(loss, length):
    problem = make(loss)
    start = place(problem, problem.start(), None)
    descent = _Descent(problem, Tuning(), start)
    descent.known = descent._look_anew()
    gradient = problem.alpha * start.w + problem.design.adjoint(start.u)
    s, t, decrement = descent._newton_step(gradient)
    s, t, decrement = length * s, length * t, length * decrement
    f = problem.design.scores(s)
    found = along(problem, start, s, f, t, decrement)

    def J(x):
        return at_offsets(problem, start.w + x * s, start.scores + x * f, start.b + x * t).J

    with np.errstate(over="ignore"):
        best = minimize(lambda x: J(float(x[0])), [1.0 / length], method="Nelder-Mead").fun
        whole = start.J - J(1.0)
    assert found.J < start.J
    assert min(0.9 * (start.J - best), whole if whole >= 0.25 * decrement else np.inf) <= start.J - found.J
