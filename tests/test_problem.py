"""Bounds from below: each kind of evidence makes a plane under the risk, and its minimum is one under J."""

import numpy as np
import pytest

from gapfit import Problem, solve
from gapfit.rounding import Estimate
from problems import labels_problem

LOSSES = ["hinge", "squared_hinge", "logistic", "f_beta", "roc_area"]
CONJUGATES = ["hinge", "squared_hinge", "smoothed_hinge", "logistic"]


def below(problem, minorant, seed=0):
    """Does the plane lie under the risk, rounding allowed for, at many points near and far?"""
    rng = np.random.default_rng(seed)
    d = problem.design.shape[1]
    for size in (0.0, 1e-3, 1.0, 30.0):
        w, b = size * rng.normal(size=d), size * rng.normal(size=problem.n_offsets)
        risk = problem.evaluate(w, b) - problem.alpha * problem.penalty.value(w)
        plane = float(minorant.a @ w + minorant.e @ b) + minorant.c
        slack = minorant.noise + minorant.spread * np.linalg.norm(w) + 1e-12 * (1 + abs(risk))
        if plane > risk + slack:
            return False
    return True


@pytest.mark.parametrize("loss", LOSSES)
def test_a_cut_is_tight_where_it_was_made_and_below_everywhere(loss):
    problem = labels_problem(loss=loss)
    for seed in range(5):
        w = np.random.default_rng(seed).normal(size=5)
        at = problem.oracle(w)
        assert at.minorant.a @ w + at.minorant.c == pytest.approx(at.risk, rel=1e-10, abs=1e-12)
        assert not at.minorant.e.any() and below(problem, at.minorant, seed)


@pytest.mark.parametrize("loss", CONJUGATES)
def test_any_dual_point_makes_a_plane_below(loss):
    """Wherever it lies: it is projected and balanced first."""
    problem = labels_problem(loss=loss)
    for seed in range(5):
        u = np.random.default_rng(seed).normal(size=60)
        made = problem.minorant_at(u)
        assert below(problem, made, seed) and made.evidence == "conjugate"
        assert abs(float(made.u.sum())) <= 1e-12


def test_a_dual_point_that_is_no_number_still_makes_one():
    problem = labels_problem()
    u = np.full(60, np.nan)
    u[3] = np.inf
    assert below(problem, problem.minorant_at(u))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_tangent_that_leans_bounds_offsets_and_no_optimum(loss):
    problem = labels_problem(loss=loss)
    if not problem.n_offsets:
        pytest.skip("the loss is blind to an offset")
    w, b = np.ones(5), np.array([7.0])
    scores = problem.scores(w)
    plane = problem.tangent_plane(*problem.risk.value_and_subgradient(scores, b), scores, b)
    assert plane.e.any() and below(problem, plane)
    assert problem.dual(plane) == -np.inf and problem.least(plane).value == -np.inf


def test_the_bound_of_a_plane_is_the_least_value_of_penalty_and_plane():
    problem = labels_problem(alpha=0.1)
    plane = problem.oracle(np.ones(5)).minorant
    w = problem.minimiser(plane)
    assert problem.dual(plane) == pytest.approx(0.05 * w @ w + plane.a @ w + plane.c, rel=1e-12)
    counted = problem.least(plane)
    assert counted.below < counted.value == problem.dual(plane)


def test_without_a_modulus_planes_are_shrunk_until_their_bound_is_finite():
    problem = labels_problem(penalty="l1", alpha=0.05)
    steep = problem.oracle(np.full(5, -3.0)).minorant
    assert problem.dual(steep) == -np.inf
    mild = problem.feasible(steep)
    assert np.isfinite(problem.least(mild).below) and below(problem, mild)
    strong = problem.at(10.0)  # under which the same plane has a finite bound already
    assert strong.feasible(steep) is steep and np.isfinite(strong.dual(steep))


def test_what_a_solver_claims_serves_until_it_is_made_anew():
    problem = labels_problem(alpha=1e-2)
    u = solve(problem, tol=1e-8).minorant.u
    lie = problem.claimed(u, np.zeros(5), 100.0)
    assert not lie.made
    honest = problem.again(lie)
    assert honest.made and below(problem, honest)
    assert problem.least(honest).value < problem.least(lie).value


def test_planes_that_were_summed_up_keep_their_height_and_get_their_slope_anew():
    problem = labels_problem(offset=np.linspace(-1, 1, 60))
    u = problem.oracle(np.ones(5)).minorant.u
    summed = problem.accumulated(u, Estimate(0.25, 1e-9), spread=1e-8)
    np.testing.assert_allclose(summed.a, problem.design.adjoint(u))
    assert summed.noise >= 1e-9 and summed.spread >= 1e-8
    assert summed.c == pytest.approx(0.25 + u @ problem.offset, abs=1e-12)


def test_the_zero_plane_is_there_where_the_risk_has_a_floor():
    assert labels_problem().zero_plane().c == 0.0
    rng = np.random.default_rng(0)
    assert Problem(rng.normal(size=(9, 2)), np.ones(9), "novelty", alpha=1.0).zero_plane() is None


def test_where_the_risk_overflows_nothing_is_proved():
    problem = labels_problem(loss="exponential")
    with np.errstate(over="ignore", invalid="ignore"):
        assert problem.dual(problem.oracle(np.full(5, 1e5)).minorant) == -np.inf
