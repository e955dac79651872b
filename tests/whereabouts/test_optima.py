"""Optima: who asks need not know which theorem answers."""

import numpy as np
import pytest

from gapfit import Problem, solve
from gapfit.statements import optimal_ball
from gapfit.whereabouts import Hull, Nowhere, Optima, Overlap

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 4))
Y = np.where(X @ [1.0, -1.0, 0.5, 0.0] + RNG.normal(size=60) > 0, 1.0, -1.0)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge"])
def test_more_fits_know_more(loss):
    problem = Problem(X, Y, loss).sealed()
    optima, widths = Optima(problem), []
    for alpha in (0.1, 0.05, 0.06, 0.055):
        optima.add(alpha, solve(problem.at(alpha), tol=1e-9))
        lo, hi = optima.between(0.0548, 0.0556).score_bounds(X)
        for inside in (0.0548, 0.0552, 0.0556):
            tight = problem.at(inside)
            below, above = optimal_ball(tight, solve(tight, tol=1e-12)).score_bounds(X)
            assert (lo <= above).all() and (below <= hi).all()
        widths.append(float(np.mean(hi - lo)))
    assert widths[-1] < widths[1] < widths[0]


def test_a_loss_without_any_of_them():
    optima = Optima(Problem(X, Y, "hinge", "l1"))
    assert not optima.possible
    optima.add(0.1, solve(Problem(X, Y, "hinge", "l1", 0.1), tol=1e-3))
    assert isinstance(optima.at(0.1), Nowhere)


def test_nothing_is_known_without_a_fit():
    assert isinstance(Optima(Problem(X, Y, "hinge")).at(0.1), Nowhere)


def test_answers_are_put_together():
    class At:
        def __init__(self, lo, hi):
            self.ends = np.array([lo]), np.array([hi])

        def score_bounds(self, X):
            return self.ends

    lo, hi = Hull([At(0.0, 1.0), At(-1.0, 0.5)]).score_bounds(X)
    assert (lo[0], hi[0]) == (-1.0, 1.0)
    lo, hi = Overlap([At(0.0, 1.0), At(-1.0, 0.5)]).score_bounds(X)
    assert (lo[0], hi[0]) == (0.0, 0.5)
    lo, hi = Nowhere().score_bounds(X)
    assert lo.shape == (60,) and np.isinf(hi).all()
