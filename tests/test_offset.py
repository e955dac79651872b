"""The unpenalised intercept: minimised exactly, with cuts that are valid for every intercept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gapfit import Problem, registry, solve
from gapfit.losses import PointwiseLoss
from gapfit.losses.weighted_quantile import weighted_quantile
from gapfit.offset import minimise_offset, offset_interval
from problems import labels_problem
from tables import LOSSES, TARGETS
from test_contracts import targets

NUMBERS = st.integers(-5, 5).map(float)


@given(st.lists(st.tuples(NUMBERS, st.integers(1, 3)), min_size=1, max_size=30), st.integers(0, 40))
@settings(max_examples=300, deadline=None)
def test_weighted_quantile_equals_counting(pairs, target):
    positions = np.array([position for position, _ in pairs])
    masses = np.array([float(mass) for _, mass in pairs])
    ordered = np.unique(positions)
    counts = np.array([masses[positions <= x].sum() for x in ordered])

    def first(reached):
        return ordered[reached][0] if reached.any() else np.inf

    expected = (-np.inf if target == 0 else first(counts >= target), first(counts > target))
    assert weighted_quantile(positions, masses, float(target)) == expected


@pytest.mark.parametrize("loss", LOSSES)
def test_minimum_over_b_equals_a_grid_search(loss):
    rng = np.random.default_rng(1)
    for _ in range(20):
        y = targets(loss, n=9)
        risk = registry.LOSSES[loss](**LOSSES[loss]).bind(y, rng.integers(1, 4, 9).astype(float))
        scores = np.round(rng.normal(size=9), 1)  # ties
        value, tangent = minimise_offset(risk, scores, rng.normal())
        for b in tangent.b + np.concatenate([np.linspace(-3, 3, 101), [1e-9, -1e-9]]):
            assert risk.value_and_subgradient(scores, np.array([b]))[0] >= value - 1e-13 * (1 + abs(value))
        assert tangent.value == pytest.approx(value, rel=1e-13, abs=1e-14)
        lo, hi = offset_interval(risk, scores, 0.0)
        assert lo - 1e-12 <= tangent.b <= hi + 1e-12


@pytest.mark.parametrize("loss", LOSSES)
def test_balanced_cuts_are_valid_for_every_w_and_every_intercept(loss):
    """Scores on a grid, so that many samples sit exactly on a kink."""
    rng = np.random.default_rng(2)
    for _ in range(30):
        X = rng.integers(-2, 3, size=(12, 2)).astype(float)
        problem = Problem(X, targets(loss), registry.LOSSES[loss](**LOSSES[loss]), alpha=1.0)
        at = problem.oracle(rng.integers(-2, 3, size=2) / 2.0)
        assert not at.minorant.e.any()
        for _ in range(20):
            w, b = rng.normal(size=2), rng.normal(size=1)
            risk = problem.risk.value_and_subgradient(problem.scores(w), b)[0]
            assert risk >= at.minorant.a @ w + at.minorant.c - 1e-12 * (1 + abs(risk))


def test_a_zero_one_mask_would_not_be_valid():
    """Why the subgradient must be balanced: the naive choice of 0 or 1 at the kink overshoots."""
    rng = np.random.default_rng(0)
    overshoots = 0
    for _ in range(200):
        X = rng.integers(-2, 3, size=(10, 2)).astype(float)
        y = np.where(rng.random(10) < 0.4, 1.0, -1.0)
        y[:2] = [1, -1]
        problem = Problem(X, y, "hinge", alpha=1.0)
        w = rng.integers(-2, 3, size=2) / 2.0
        at = problem.oracle(w)
        u = problem.risk.value_and_subgradient(at.scores, at.b)[1]
        c = at.risk - u @ at.scores  # as if its slope in b were zero
        v = rng.normal(size=2)
        overshoots += problem.oracle(v).risk < X.T @ u @ v + c - 1e-9
        assert problem.oracle(v).risk >= at.minorant.a @ v + at.minorant.c - 1e-12
    assert overshoots > 0


def test_a_loss_without_formulas_gets_an_exact_intercept_too():
    class UserHinge(PointwiseLoss):
        """max(0, 1 - y f), written as a user would."""

        def value_and_slope(self, f, y):
            return np.maximum(1 - y * f, 0.0), np.where(y * f < 1, -y, 0.0)

    ours = solve(labels_problem(loss="hinge"), "bundle", tol=1e-10)
    theirs = solve(labels_problem(loss=UserHinge()), "bundle", tol=1e-10)
    assert theirs.certificate.primal == pytest.approx(ours.certificate.primal, rel=1e-9)
    np.testing.assert_allclose(theirs.w, ours.w, rtol=1e-4)


@pytest.mark.parametrize("loss", [name for name in LOSSES if TARGETS[name] in ("labels", "real")])
def test_weights_are_unchanged_when_a_constant_is_added_to_x(loss):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 3)), targets(loss, n=40)
    solutions = [
        solve(Problem(X + shift, y, registry.LOSSES[loss](**LOSSES[loss]), alpha=1e-2), tol=1e-10)
        for shift in (0.0, np.array([100.0, -1000.0, 10.0]))
    ]
    np.testing.assert_allclose(solutions[1].w, solutions[0].w, rtol=1e-6, atol=1e-7)


def test_novelty_keeps_its_promise_about_nu():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) + 3.0
    problem = Problem(X, np.zeros(200), registry.LOSSES["novelty"](0.1), alpha=1.0)
    solution = solve(problem, tol=1e-10)
    scores = X @ solution.w + solution.intercept
    assert np.mean(scores < -1e-9) <= 0.1 <= np.mean(scores <= 1e-9)
