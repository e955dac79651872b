"""Conformal sets against brute force: a tight fit for every target that is tried."""

import numpy as np
import pytest

from gapfit import Problem, solve
from gapfit.conformal import Ends, as_large, conformal_set, verdict
from gapfit.losses import Huber
from gapfit.whereabouts.candidates import Candidates


def brute_force(problem, y, z, k):
    """Does z conform? None if two residuals are too near to each other to tell."""
    target = np.append(y, z)
    other = Problem(
        problem.design, target, problem.loss, alpha=problem.alpha, intercept=problem.n_offsets > 0
    )
    fit = solve(other, tol=1e-12)
    residuals = np.abs(target - problem.design.scores(fit.w) - fit.intercept)
    near = np.abs(residuals[:-1] - residuals[-1])
    return None if near.min() < 1e-5 else int((residuals[:-1] > residuals[-1]).sum()) >= k


def inside(z, intervals):
    return any(low <= z <= high for low, high in intervals)


@pytest.mark.parametrize(
    "loss", ["squared", "absolute", Huber(0.5), "epsilon_insensitive", "quantile"], ids=str
)
def test_the_exact_set_lies_between_the_inner_and_the_outer_one(loss):
    decided = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(26, 3))
        y = X[:-1] @ np.array([1.0, -0.5, 0.0]) + rng.standard_t(3, size=25)
        problem = Problem(X, np.append(y, 0.0), loss, alpha=0.05, intercept=bool(seed % 3))
        k = as_large(0.2, 25)
        found = conformal_set(Candidates(problem), y, 0.0, 1.5, k, 0.01)
        low, high = found.outer[0][0], found.outer[-1][1]
        assert np.isfinite([low, high]).all() and found.inner
        edges = np.array([found.inner[0][0], found.inner[-1][1], low, high])
        tried = [
            *np.linspace(low - 2, high + 2, 21),
            *(edges + 0.005),
            *(edges - 0.005),
            low - 500,
            high + 500,
        ]
        for z in tried:
            exact = brute_force(problem, y, float(z), k)
            if exact is not None:
                decided += 1
                assert inside(z, found.outer) or not exact, (seed, z)
                assert exact or not inside(z, found.inner), (seed, z)
        assert sum(b - a for a, b in found.outer) - sum(b - a for a, b in found.inner) < 0.2
    assert decided > 60


def test_a_level_too_small_for_so_few_samples_is_the_whole_line():
    found = conformal_set(None, np.zeros(5), 0.0, 1.0, as_large(0.1, 5), 0.01)
    assert found.outer == found.inner == [(-np.inf, np.inf)]


def test_counting():
    assert as_large(0.1, 199) == 20 and as_large(0.1, 198) == 19 and as_large(0.3, 9) == 3
    ends = Ends(np.array([0.0, 2.0, 3.0]), np.array([1.0, 4.0, 5.0]), 1.5, 2.5)
    assert verdict(ends, 1) is True and verdict(ends, 2) is None and verdict(ends, 3) is False


def test_a_set_that_has_no_bound_is_said_to_have_none():
    """One sample has all the leverage: its residual hardly grows with its target."""
    X = np.zeros((12, 1))
    X[-1] = 100.0
    y = np.linspace(0.1, 1, 11)
    problem = Problem(X, np.append(y, 0.0), "squared", alpha=1e-9, intercept=False)
    found = conformal_set(Candidates(problem), y, 0.0, 1.0, as_large(0.2, 11), 0.01)
    assert brute_force(problem, y, 1e4, 2)
    assert found.outer[0][0] == -np.inf and found.outer[-1][1] == np.inf
