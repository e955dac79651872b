"""One sample changed: bounds by the old fit against Newton's method on the changed problem."""

import numpy as np
import pytest

from gapfit import Problem, solve
from gapfit.design.memory import MemoryDesign
from gapfit.losses.forms import Conjugate
from gapfit.statements import optimal_ball
from gapfit.whereabouts import NewtonCertificate
from gapfit.whereabouts.changes import Change, ChangeCertificate, absorbed, glance
from smooth_problems import draw, problem_of
from soak.exact.newton import SMOOTH

KINDS = {"delete": 0.0, "half": 0.5, "more": 2.5, "flip": 0.0}


def changed(case, kind, i, weight):
    after = case.but(y=case.y.copy(), weight=case.weight.copy())
    if kind == "flip":
        after.y[i] = -after.y[i]
    else:
        after.weight[i] = weight[i]
    return after


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", SMOOTH)
def test_bounds_hold_for_the_changed_optimum(loss, kind):
    if kind == "flip" and loss in ("squared", "poisson"):
        pytest.skip("numbers have no other label")
    finite = checked = 0
    for seed in range(4):
        case = draw(seed, loss, n=20, d=3)
        problem = problem_of(case, 0.1)
        fit = solve(problem, tol=10.0 ** -(2 + 2 * seed))
        b = np.atleast_1d(fit.intercept)[: problem.n_offsets]
        weight = KINDS[kind] * case.weight
        certificate = ChangeCertificate(
            NewtonCertificate(problem, fit.w, b), 0.1, Change(np.arange(20), weight, kind == "flip")
        )
        own, asked = certificate.own(problem.design), np.random.default_rng(seed).normal(size=(5, 3))
        lo, hi = certificate.others(MemoryDesign(asked))
        for i in range(20):
            w, b = changed(case, kind, i, weight).optimum(0.1)
            for (least, most), rows in (((own[0][i], own[1][i]), case.X[i]), ((lo[:, i], hi[:, i]), asked)):
                scores = rows @ w + b
                room = 1e-9 * (1 + np.abs(scores))
                assert np.all(scores >= least - room) and np.all(scores <= most + room), (seed, i)
                finite += int(np.isfinite(np.max(most - least)))
                checked += 1
    assert finite > 0.5 * checked


def test_a_row_asked_about_as_one_of_many_has_the_same_bounds():
    case = draw(1, "logistic", n=20, d=3)
    problem = problem_of(case, 0.1)
    fit = solve(problem, tol=1e-8)
    certificate = ChangeCertificate(
        NewtonCertificate(problem, fit.w, np.atleast_1d(fit.intercept)),
        0.1,
        Change(np.arange(20), np.zeros(20), False),
    )
    own, everything = certificate.own(problem.design), certificate.others(problem.design)
    for mine, all_pairs in zip(own, everything, strict=True):
        np.testing.assert_allclose(np.diag(all_pairs), mine, atol=1e-7)


def test_the_changed_problem_is_the_changed_problem():
    case = draw(1, "logistic", n=12, d=2)
    problem = problem_of(case, 0.1)
    for kind, weight in (("delete", 0.0), ("half", 0.5), ("flip", 0.0)):
        change = Change(np.arange(12), weight * case.weight, kind == "flip")
        fit = solve(change.problem(problem, 3), tol=1e-12)
        w, _ = changed(case, kind, 3, weight * case.weight).optimum(0.1)
        np.testing.assert_allclose(fit.w, w, atol=1e-5)
    partly = Change(np.array([3]), 0.5 * case.weight[3:4], True).problem(problem, 0)
    assert len(partly.y) == 13 and partly.weight.sum() == pytest.approx(case.weight.sum())


def test_a_glance_at_a_loss_of_lines_holds():
    case = draw(1, "logistic", n=25, d=3).but(loss="hinge")
    problem = problem_of(case, 0.1)
    fit = solve(problem, tol=1e-8)
    b, finite = np.atleast_1d(fit.intercept), 0
    for i in range(10):
        after = Change(np.arange(25), np.zeros(25), False).problem(problem, i)
        u = np.delete(fit.dual_point, i)
        lo, hi = glance(after, fit.w, b, u).score_bounds(case.X)
        below, above = optimal_ball(after, solve(after, tol=1e-11)).score_bounds(case.X)
        assert (lo <= above).all() and (below <= hi).all()
        finite += int(np.isfinite(hi - lo).all())
    assert finite == 10


@pytest.mark.parametrize("loss", ["hinge", "absolute", "epsilon_insensitive"])
def test_what_one_row_loses_others_take_over_within_their_bounds(loss):
    case = draw(1, "logistic", n=200, d=8)
    y = case.y if loss == "hinge" else case.X[:, 0] + 0.3 * case.y
    problem = Problem(case.X, y, loss, alpha=0.02)
    u = solve(problem, tol=1e-10).dual_point
    better = 0
    for row in np.flatnonzero(u)[:40].tolist():
        after = absorbed(problem, u, row, u[row])
        assert after[row] == 0 and after is not u
        box = problem.form(Conjugate).project(after, balanced=False)
        np.testing.assert_allclose(box, after, atol=1e-12)  # it is within them
        if abs(after.sum()) < 1e-9:  # there was room enough
            dropped = u.copy()
            dropped[row] = 0.0
            balanced = problem.form(Conjugate).project(dropped, balanced=True)
            change = [np.linalg.norm(case.X.T @ (other - u)) for other in (after, balanced)]
            better += int(change[0] <= change[1] + 1e-12)
    assert better >= 6
