"""Balls at every alpha from one pair, and over ranges, against tight fits whose own bounds they must meet."""

import numpy as np
import pytest

from gapfit import Problem, registry, solve
from gapfit.minorant import mix
from gapfit.penalties import QuadraticForm
from gapfit.statements import optimal_ball
from gapfit.whereabouts import Balls, NewtonCertificate
from gapfit.whereabouts.balls import qualifies
from tables import LOSSES

NAMES = [
    "hinge",
    "squared_hinge",
    "logistic",
    "absolute",
    "huber",
    "quantile",
    "squared",
    "f_beta",
    "error_rate",
]


def draw(seed, name):
    rng = np.random.default_rng([seed, len(name)])
    X = rng.normal(size=(25, 3)) + seed % 2
    target = X @ rng.normal(size=3) + 0.7 * rng.normal(size=25)
    labels = name not in ("absolute", "huber", "quantile", "squared")
    y = np.where(target > np.median(target), 1.0, -1.0) if labels else target
    penalty = QuadraticForm(np.diag([0.5, 1.0, 3.0])) if seed % 3 == 2 else "l2"
    loss = registry.LOSSES[name](**LOSSES.get(name, {}))
    return X, Problem(X, y, loss, penalty, 0.05, rng.random(25) + 0.5, bool(seed % 4))


def offsets(problem, fit):
    return np.atleast_1d(fit.intercept)[: problem.n_offsets]


@pytest.mark.parametrize("name", NAMES)
def test_one_pair_knows_all_alphas(name):
    finite = 0
    for seed in range(6):
        X, problem = draw(seed, name)
        fit = solve(problem, tol=10.0 ** -(1 + seed))
        balls = Balls(problem, fit.w, offsets(problem, fit), fit.minorant)
        for least, most in ((0.05, 0.05), (0.045, 0.06), (0.09, 0.09), (0.1, 0.14)):
            lo, hi = balls.between(least, most).score_bounds(X)
            finite += int(np.isfinite(hi - lo).all())
            for alpha in (least, np.sqrt(least * most), most):
                other = problem.at(float(alpha))
                below, above = optimal_ball(other, solve(other, tol=1e-11)).score_bounds(X)
                assert (lo <= above).all() and (below <= hi).all(), (seed, least, alpha)
    assert finite >= 20  # of 24


def test_an_exact_fit_has_the_radius_of_the_formula():
    _, problem = draw(0, "squared")
    fit = solve(problem, tol=1e-13)
    balls = Balls(problem, fit.w, offsets(problem, fit), fit.minorant)
    for alpha in (0.01, 0.04, 0.2, 1.0):
        expected = np.linalg.norm(fit.w) * abs(1 - problem.alpha / alpha) / 2
        assert balls.place(alpha).radius == pytest.approx(expected, rel=1e-3)


def test_at_its_own_alpha_it_is_the_ball_of_the_certificate():
    for seed in range(4):
        X, problem = draw(seed, "hinge")
        fit = solve(problem, tol=1e-3)
        balls = Balls(problem, fit.w, offsets(problem, fit), fit.minorant)
        lo, hi = balls.between(problem.alpha, problem.alpha).score_bounds(X)
        below, above = optimal_ball(problem, fit).score_bounds(X)
        assert np.mean(hi - lo) <= 1.1 * np.mean(above - below)


def test_an_alpha_in_single_precision_is_the_number_that_it_is():
    X, problem = draw(1, "squared")
    fit = solve(problem, tol=1e-9)
    for tool in (
        Balls(problem, fit.w, offsets(problem, fit), fit.minorant),
        NewtonCertificate(problem, fit.w, offsets(problem, fit)),
    ):
        single = np.float32(0.07)
        for mine, other in zip(
            tool.between(single, single).score_bounds(X),
            tool.between(float(single), float(single)).score_bounds(X),
            strict=True,
        ):
            np.testing.assert_array_equal(mine, other)


def test_mixed_pairs_are_pairs():
    X, problem = draw(1, "hinge")
    problem = problem.sealed()
    first, last = (solve(problem.at(alpha), tol=1e-9) for alpha in (0.05, 0.06))
    problem.adopt(first.minorant)
    alone = Balls(problem, first.w, offsets(problem, first), first.minorant)
    b = 0.5 * (offsets(problem, first) + offsets(problem, last))
    both = Balls(problem, 0.5 * (first.w + last.w), b, mix(first.minorant, last.minorant, 0.5))
    alpha = 0.0546
    tight = problem.at(alpha)
    below, above = optimal_ball(tight, solve(tight, tol=1e-11)).score_bounds(X)
    widths = []
    for balls in (alone, both):
        lo, hi = balls.between(alpha, alpha).score_bounds(X)
        assert (lo <= above).all() and (below <= hi).all()
        widths.append(np.mean(hi - lo))
    assert widths[1] < widths[0]


def test_the_radius_is_convex_in_one_over_alpha():
    for seed in range(4):
        _, problem = draw(seed, "logistic")
        fit = solve(problem, tol=0.3)
        balls = Balls(problem, fit.w, offsets(problem, fit), fit.minorant)
        radius = np.array([balls.place(1 / t).radius for t in np.linspace(1.0, 60.0, 60)])
        assert (np.diff(radius, 2) >= -1e-9 * radius[1:-1]).all()


def test_which_penalties_qualify():
    X, y = np.eye(4), np.array([1.0, -1.0, 1.0, -1.0])
    assert qualifies(Problem(X, y, "hinge")) and qualifies(Problem(X, y, "hinge", QuadraticForm(np.eye(4))))
    assert not qualifies(Problem(X, y, "hinge", "elastic_net")) and not qualifies(
        Problem(X, y, "hinge", "l1")
    )
