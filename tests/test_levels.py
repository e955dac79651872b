"""Where the optimal offset is: bounds that hold for every optimum, for losses that are means and others."""

import numpy as np
import pytest

from gapfit import solve
from gapfit.levels import Known, levels
from problems import labels_problem

LOSSES = ["hinge", "logistic", "squared", "huber", "f_beta", "error_rate"]


def known(problem, solution):
    w = np.asarray(solution.w, dtype=np.float64)
    gap = solution.certificate.gap
    radius = np.sqrt(2 * gap / problem.alpha)
    return Known(solution.minorant, gap, w, problem.scores(w), float(np.linalg.norm(w)) + radius)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-5])
def test_the_offset_of_the_optimum_lies_between_its_levels(loss, tol):
    for seed in range(3):
        problem = labels_problem(loss=loss, seed=seed, alpha=0.05)
        if not problem.n_offsets:
            pytest.skip("the loss is blind to an offset")
        rough, exact = solve(problem, tol=tol), solve(problem, tol=1e-9)
        low, high = levels(problem, known(problem, rough), np.array([rough.intercept]))
        error = 1e-3 * (1 + abs(exact.intercept))  # of the reference itself, whose w is known to its own ball
        at = [exact.intercept + float(exact.w @ level.mean) for level in (low, high)]
        assert low.value <= at[0] + error and at[1] - error <= high.value


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
def test_levels_close_in_with_the_gap(loss):
    """At the weights found: each level is of a mean row of its own."""
    problem = labels_problem(loss=loss, alpha=0.05)
    widths = []
    for tol in (1e-2, 1e-6):
        solution = solve(problem, "bundle", tol=tol)
        low, high = levels(problem, known(problem, solution), np.array([solution.intercept]))
        least, most = (level.value - float(solution.w @ level.mean) for level in (low, high))
        assert least <= solution.intercept + 1e-9 and solution.intercept - 1e-9 <= most
        widths.append(most - least)
    assert 0 <= widths[1] < 0.2 * widths[0] < np.inf


def test_parabolas_have_an_offset_that_is_known_exactly():
    problem = labels_problem(loss="squared")
    solution = solve(problem, tol=1e-1)
    low, high = levels(problem, known(problem, solution), np.zeros(1))
    assert high.value - low.value <= 1e-12
    assert low.value <= problem.y.mean() <= high.value
    np.testing.assert_allclose(low.mean, problem.design.X.mean(axis=0))


def test_without_a_gap_nothing_is_known():
    problem = labels_problem()
    solution = solve(problem, tol=1e-3)
    low, high = levels(problem, known(problem, solution)._replace(gap=np.inf), np.zeros(1))
    assert (low.value, high.value) == (-np.inf, np.inf)
