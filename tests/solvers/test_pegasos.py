"""Pegasos: its iterates by hand, its seeds, and the ball that holds the optimum."""

from functools import partial

import numpy as np
import pytest

from gapfit import IncompatibleSolver, solve
from gapfit.solvers.pegasos import pegasos
from problems import labels_problem


def test_full_batch_iterates_are_minus_the_mean_subgradient_over_alpha():
    problem = labels_problem(alpha=0.5, intercept=False)
    X, y = problem.design.X, problem.y
    w, slopes, steps = np.zeros(5), [], pegasos(problem, batch="full")
    for _, iterate in zip(range(8), steps, strict=False):
        np.testing.assert_allclose(iterate.w, w, atol=1e-12)
        slopes.append(-((X @ w * y < 1) * y) @ X / 60)
        w = -np.mean(slopes, axis=0) / 0.5
        w *= min(1.0, np.sqrt(2 / 0.5) / np.linalg.norm(w))


@pytest.mark.parametrize("batch", ["sample", "full"])
def test_both_kinds_of_steps_come_near_the_optimum(batch):
    problem = labels_problem(alpha=0.1)
    found = solve(problem, partial(pegasos, batch=batch), tol=2e-2, max_iter=3000)
    exact = solve(problem, tol=1e-8).certificate
    assert found.certificate.dual <= exact.primal <= found.certificate.primal <= 1.02 * exact.primal


def test_seeds_repeat_and_differ():
    problem = labels_problem(alpha=0.1)
    first, again, other = (solve(problem, partial(pegasos, seed=s), tol=0.0, max_iter=3).w for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_what_single_samples_cannot_serve_is_refused_by_name():
    with pytest.raises(IncompatibleSolver, match='batch="full"'):
        solve(labels_problem(loss="f_beta"), partial(pegasos, batch="sample"))
    with pytest.raises(ValueError, match="batch must be"):
        solve(labels_problem(), partial(pegasos, batch="some"))
