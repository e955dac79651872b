"""The papers' iterates, reproduced by the options that mean their algorithms."""

import itertools
from functools import partial

import numpy as np
import pytest

from gapfit import Problem, solve
from gapfit.solvers.bundle import bundle
from gapfit.solvers.line_search_bundle import line_search_bundle
from problems import labels_problem

FOUR_POINTS = Problem(
    np.array([[-1.0], [-0.5], [0.5], [1.0]]), [-1.0, -1.0, 1.0, 1.0], "hinge", alpha=1 / 16, intercept=False
)


def iterates(steps, k):
    """The first k iterates of a solver."""
    first = next(steps)
    return [first, *(steps.send(None) for _ in range(k - 1))]


def test_line_search_on_the_four_points():
    """Started at 0 without the zero plane, w = 12, 4/3, 7/3, 37/21, 2159/987, ..., and w* = 2, J* = 1/8."""
    steps = line_search_bundle(FOUR_POINTS, {"w": np.zeros(1)}, zero_plane=False)
    found = [step.w[0] for step in iterates(steps, 5)]
    np.testing.assert_allclose(found, [12, 4 / 3, 7 / 3, 37 / 21, 2159 / 987], rtol=1e-13)


def test_line_search_is_slow_on_the_four_points_with_the_corrected_constant():
    steps = line_search_bundle(FOUR_POINTS, {"w": np.zeros(1)}, zero_plane=False)
    k = 3000
    last = iterates(steps, k)[-1]
    assert k * (last.primal - 0.125) == pytest.approx(1 / 8, rel=2e-2)


def test_the_exact_master_solves_the_four_points_in_three_steps():
    steps = bundle(FOUR_POINTS, {"w": np.zeros(1)}, zero_plane=False, stabilise=None)
    found = iterates(steps, 4)
    np.testing.assert_allclose([step.w[0] for step in found], [0, 12, 4 / 3, 2], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose([step.primal for step in found], [1, 4.5, 2 / 9, 1 / 8], rtol=1e-12)


def test_line_search_bounds_match_the_full_dual():
    """D of the mixture is what the line search keeps: never above the exact master's bound."""
    problem = labels_problem(alpha=1e-2, intercept=False)
    slow = iterates(line_search_bundle(problem), 40)
    fast = iterates(bundle(problem, stabilise=None), 40)
    lower = [problem.dual(step.minorant) for step in slow]
    assert all(later >= earlier for earlier, later in itertools.pairwise(lower))
    assert all(
        problem.dual(exact.minorant) >= bound - 1e-12 for exact, bound in zip(fast, lower, strict=True)
    )


@pytest.mark.parametrize("zero_plane", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_upper_bound_on_the_number_of_steps(seed, zero_plane):
    """T <= max(1, ceil(8 G^2 / (alpha eps) - 15)) for eps <= G^2 / (2 alpha), and the gap's decrease (11)."""
    problem = labels_problem(alpha=0.05, seed=seed, intercept=False)
    G = np.linalg.norm(problem.design.X, axis=1).max()
    steps = bundle(problem, {"w": np.zeros(5)}, zero_plane=zero_plane, stabilise=None)
    best, gaps = np.inf, []
    for step in itertools.islice(iterates(steps, 60), 60):
        best = min(best, step.primal)
        gaps.append(best - problem.dual(step.minorant))
    for t, gap in enumerate(gaps, start=1):
        if 1e-13 < gap <= G**2 / (2 * problem.alpha):
            assert t <= max(1, np.ceil(8 * G**2 / (problem.alpha * gap) - 15))


def test_the_papers_bundle_and_ours_agree():
    problem = labels_problem(alpha=1e-3)
    papers = solve(problem, partial(bundle, stabilise=None), tol=1e-9)
    ours = solve(problem, "bundle", tol=1e-9)
    assert abs(papers.certificate.primal - ours.certificate.primal) <= 2e-9
    assert ours.n_iter < papers.n_iter
