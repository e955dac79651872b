"""The line search between two planes: the best share, by brute force; and O(d) memory."""

import numpy as np
import pytest

from gapfit import IncompatibleSolver, solve
from gapfit.minorant import mix
from gapfit.solvers.line_search_bundle import best_mixture, line_search_bundle
from problems import labels_problem


@pytest.mark.parametrize("loss", ["hinge", "logistic", "f_beta"])
def test_no_other_share_proves_a_higher_bound(loss):
    problem = labels_problem(loss=loss, alpha=0.1)
    rng = np.random.default_rng(0)
    for _ in range(20):
        model, cut = (problem.oracle(rng.normal(size=5)).minorant for _ in range(2))
        best = problem.dual(best_mixture(problem, model, cut))
        others = [problem.dual(mix(model, cut, share)) for share in np.linspace(0, 1, 101)]
        assert best >= max(others) - 1e-12


def test_the_first_cut_is_the_model():
    problem = labels_problem()
    cut = problem.oracle(np.ones(5)).minorant
    assert best_mixture(problem, None, cut) is cut


def test_bounds_rise_and_one_plane_is_all_that_is_kept():
    problem = labels_problem(alpha=0.05)
    steps, bounds = line_search_bundle(problem), []
    for _, iterate in zip(range(50), steps, strict=False):
        bounds.append(problem.dual(iterate.minorant))
        assert set(iterate.snapshot()) == {"model", "b"}
    assert (np.diff(bounds) >= -1e-14).all() and bounds[-1] > bounds[0]


def test_it_finds_what_the_bundle_finds():
    problem = labels_problem(alpha=0.5)
    found, exact = solve(problem, "line_search_bundle", tol=1e-3), solve(problem, "bundle", tol=1e-8)
    assert found.converged
    assert abs(found.certificate.primal - exact.certificate.primal) <= found.certificate.gap


def test_other_penalties_are_refused_by_name():
    with pytest.raises(IncompatibleSolver, match="L1"):
        solve(labels_problem(penalty="l1"), "line_search_bundle")
