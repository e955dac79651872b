"""Optima for all targets of one sample, by a few fits, against tight fits whose own bounds they must meet."""

import numpy as np
import pytest

from gapfit import Problem, solve
from gapfit.losses import EpsilonInsensitive, Huber, Quantile
from gapfit.penalties import QuadraticForm
from gapfit.statements import optimal_ball
from gapfit.whereabouts.candidates import Candidates, qualifies

LOSSES = ["squared", "absolute", Huber(0.7), Quantile(0.3), EpsilonInsensitive(0.2)]


def draw(seed, loss):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 3)) + seed % 2
    y = X @ rng.normal(size=3) + 0.5 * rng.normal(size=24)
    y[-1] = 0.0
    penalty = QuadraticForm(np.diag([0.5, 1.0, 3.0])) if seed % 3 == 2 else "l2"
    return X, y, Problem(X, y, loss, penalty, 0.03, None, bool(seed % 4))


def meets(candidates, bounds, z):
    problem = candidates.problem
    target = np.append(problem.y[:-1], z)  # said directly, not by an offset
    other = Problem(
        problem.design, target, problem.loss, problem.penalty, problem.alpha, None, problem.n_offsets > 0
    )
    below, above = optimal_ball(other, solve(other, tol=1e-12)).score_bounds(problem.design)
    return bool((bounds[0] <= above).all() and (below <= bounds[1]).all())


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_no_target_contradicts(loss):
    narrow = 0
    for seed in range(6):
        X, _, problem = draw(seed, loss)
        candidates = Candidates(problem)
        for z in (-2.0, 0.3, 2.5)[: 1 + seed % 3]:
            assert candidates.fit(z)
        for low, high in ((0.3, 0.3), (-1.0, -0.8), (-2.0, 2.5), (3.0, 3.5)):
            bounds = candidates.between(low, high).where.score_bounds(X)
            narrow += bool((bounds[1] - bounds[0] < 1.0).all())
            for z in (low, 0.7 * low + 0.3 * high, high):
                assert meets(candidates, bounds, z), (seed, low, z)
    assert narrow >= 6


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_beyond_all_fits(loss):
    X, _, problem = draw(1, loss)
    candidates = Candidates(problem)
    for near, far in ((0.0, 40.0), (0.0, -40.0)):
        candidates.fit(near)
        candidates.fit(far)
        growth = candidates.beyond(near, far)
        assert growth is not None
        lo, hi = candidates.between(far, far).where.score_bounds(X)
        for more in (3.0, 1e3):
            room = growth.others * more
            assert meets(candidates, (lo - room, hi + room), far + more * np.sign(far))
    assert candidates.beyond(0.0, 0.01) is None or loss == "squared"


def test_the_squared_loss_is_known_exactly_between_two_fits():
    X, _, problem = draw(1, "squared")
    candidates = Candidates(problem)
    candidates.fit(-3.0)
    candidates.fit(3.0)
    lo, hi = candidates.between(1.2, 1.2).where.score_bounds(X)
    assert (hi - lo < 1e-4).all()


def test_what_qualifies():
    X, y, problem = draw(0, "huber")
    assert qualifies(problem) and qualifies(Problem(X, y, "squared"))
    assert not qualifies(
        Problem(X, y, "squared_epsilon_insensitive")
    )  # its slopes grow, but not for ever alike
    assert not qualifies(Problem(X, y, "huber", "l1"))
    assert not qualifies(Problem(X, np.abs(y) + 1, "poisson"))
    assert not qualifies(Problem(X, np.where(y > 0, 1.0, -1.0), "hinge"))
