"""What a loose fit says of the exact optimum: score bounds, certified labels, support.

Two intervals that both contain the optimum's score must meet, so a loose fit is judged by a tight one. The
families are drawn: losses with one offset x penalties with a modulus x tolerances x scales x storage.
"""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from gapfit import LinearClassifier, LinearRegressor, Problem, registry, solve
from gapfit.losses import Huber, SmoothedHinge
from gapfit.losses.multilabel import least_error_threshold, threshold_range
from gapfit.penalties import L2, Box, ElasticNet, QuadraticForm, SimplexEntropy, SquaredLp
from gapfit.solution import Certificate
from gapfit.statements import SUPPORT, optimal_ball, optimal_balls, support_status
from tables import LOSSES

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

LABELS = ["hinge", "squared_hinge", "smoothed_hinge", "logistic", "exponential", "f_beta", "error_rate"]
NUMBERS = ["squared", "absolute", "quantile", "huber", "epsilon_insensitive", "poisson"]


def draw_penalty(rng, d):
    A = rng.normal(size=(d, d))
    U = np.linalg.qr(A)[0]
    skew = (U * 10.0 ** rng.uniform(-6, 3, d)) @ U.T
    choices = [
        L2(), ElasticNet(0.3), ElasticNet(0.99), SquaredLp(1.001), SquaredLp(1.05), SquaredLp(1.5),
        SquaredLp(2.0), QuadraticForm(A @ A.T + np.eye(d)), QuadraticForm(0.5 * (skew + skew.T)),
        Box(L2(), 0.0, 0.1), Box(ElasticNet(0.5), -0.1, 0.3), SimplexEntropy(),
    ]  # fmt: skip
    return choices[rng.integers(len(choices))]


def draw_problem(rng, name):
    n, d = int(rng.choice([6, 15, 40])), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.3:
        X[0] = 0.0
    if rng.random() < 0.3:
        X[: n // 2] = X[n // 2 : 2 * (n // 2)]
    target = X @ rng.normal(size=d) + 0.5 * rng.normal(size=n)
    if name in LABELS:
        y = np.where(target > np.median(target), 1.0, -1.0)
    elif name == "poisson":
        y = np.round(np.exp(np.clip(target, -3, 3))) + 1.0
    else:
        y = target * 10.0 ** rng.uniform(-3, 3) + (10.0 ** rng.uniform(0, 8) if rng.random() < 0.2 else 0.0)
    if rng.random() < 0.3:
        X += 10.0 ** rng.uniform(0, 8)
    if rng.random() < 0.4:
        X *= 10.0 ** rng.uniform(-12, 8)
    alpha = 10.0 ** rng.uniform(-4, 0) * max(float(np.abs(X).max()), 1e-30) ** 2
    X = X.astype(np.float32) if rng.random() < 0.2 else X
    X = sparse.csr_array(X) if rng.random() < 0.2 else X
    offset = rng.normal(size=n) if rng.random() < 0.2 else None
    intercept = bool(rng.random() < 0.7)
    loss = registry.LOSSES[name](**LOSSES.get(name, {}))
    return Problem(X, y, loss, draw_penalty(rng, d), alpha, None, intercept, offset), X


@pytest.mark.parametrize("name", [*LABELS, *NUMBERS])
def test_bounds_and_statuses_of_a_loose_fit_hold_for_a_tight_one(name):
    finite = 0
    for seed in range(12):
        rng = np.random.default_rng([seed, len(name)])
        problem, X = draw_problem(rng, name)
        loose = solve(problem, tol=10.0 ** rng.uniform(-4, 0), max_time=2)
        tight = solve(problem, tol=1e-11, max_time=2)
        ball, near = optimal_ball(problem, loose), optimal_ball(problem, tight)
        for Z in (X, X * X.dtype.type(rng.normal())):
            (lo, hi), (below, above) = ball.score_bounds(Z), near.score_bounds(Z)
            assert (lo <= above).all() and (below <= hi).all(), (seed, problem.penalty)
            scores, room = Z @ tight.w.astype(float) + float(np.sum(tight.intercept)), above - below
            room = room + 1e-14 * np.abs(scores)
            assert (scores >= lo - room).all() and (scores <= hi + room).all(), (seed, problem.penalty)
            finite += int(np.isfinite(above - below).all())
        said, found = (SUPPORT[support_status(problem, one)] for one in (ball, near))
        some = ["support", "bound"]
        assert not ((said == "zero") & np.isin(found, some)).any(), (seed, problem.penalty)
        assert not (np.isin(said, some) & (found == "zero")).any(), (seed, problem.penalty)
    assert finite >= 20  # of 24


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-5])
@pytest.mark.parametrize("name", [*LABELS, *NUMBERS])
def test_intervals_are_about_as_narrow_as_without_an_intercept(name, tol):
    """The ball alone moves scores by radius times the distance from the mean row; the offset adds little."""
    ratios = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(150, 5)) + 2.0
        target = X @ rng.normal(size=5) + rng.normal(size=150)
        target -= np.median(target)
        y = np.where(target > 0, 1.0, -1.0) if name in LABELS else target
        y = np.round(np.exp(np.clip(target, -3, 2))) if name == "poisson" else y
        problem = Problem(
            X, y, registry.LOSSES[name](**LOSSES.get(name, {})), alpha=10.0 ** -(2 + 0.5 * seed)
        )
        ball = optimal_ball(problem, solve(problem, tol=tol))
        lo, hi = ball.score_bounds(X)
        ratios.append(np.mean(hi - lo) / (2 * ball.radius * np.mean(problem.distances)))
    assert np.mean(ratios) < 1.35, ratios
    assert max(ratios) < 2.0, ratios


def test_the_offset_of_parabolas_is_known():
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e6):
        X, weight = rng.normal(size=(40, 3)) + 10.0, rng.random(40) + 0.1
        y, offset = scale * (rng.normal(size=40) + 3.0), scale * rng.normal(size=40)
        problem = Problem(X, y, "squared", alpha=0.1, sample_weight=weight, offset=offset)
        ball = optimal_ball(problem, solve(problem, tol=0.5))
        known = np.average(y - offset, weights=weight)
        assert ball.lo <= known <= ball.hi and ball.hi - ball.lo <= 1e-10 * scale
        np.testing.assert_allclose(ball.mean, np.average(X, axis=0, weights=weight))


def test_an_infinite_gap_proves_nothing_and_says_so():
    X = np.array([[0.0, 0.0], [1.0, 2.0], [-1.0, 1.0], [2.0, -1.0]])
    for name in ("exponential", "hinge", "squared", "f_beta"):
        for intercept in (True, False):
            problem = Problem(X, [1.0, -1.0, 1.0, -1.0], name, intercept=intercept)
            fit = solve(problem, tol=0.1)
            fit = replace(fit, certificate=Certificate(fit.certificate.primal, -np.inf, np.inf, "none"))
            (ball,) = optimal_balls(problem, fit)
            lo, hi = ball.score_bounds(X)
            assert not np.isnan([lo, hi]).any() and (lo <= hi).all()
            assert np.isinf(hi[1:] - lo[1:]).all()


def test_rounding_is_counted_in_the_norms_of_an_ill_conditioned_form():
    rng = np.random.default_rng(2)
    mpmath.mp.dps = 60
    for _ in range(10):
        d = int(rng.integers(2, 5))
        U = np.linalg.qr(rng.normal(size=(d, d)))[0]
        Q = (U * 10.0 ** rng.uniform(-9, 3, d)) @ U.T
        penalty = QuadraticForm(0.5 * (Q + Q.T))
        exact = mpmath.matrix(penalty.Q.tolist())
        rows, centre = rng.normal(size=(4, d)), rng.normal(size=d)
        for row, norm in zip(rows, penalty.dual_norms(rows, centre), strict=True):
            less = mpmath.matrix([mpmath.mpf(x) - mpmath.mpf(m) for x, m in zip(row, centre, strict=True)])
            z = mpmath.lu_solve(exact, less)
            assert norm >= mpmath.sqrt((less.T * z)[0]) >= 0.9 * norm - 1e-12
            solved = penalty.argmax(row)
            apart = mpmath.matrix(solved.tolist()) - mpmath.lu_solve(exact, mpmath.matrix(row.tolist()))
            assert mpmath.sqrt((apart.T * exact * apart)[0]) <= penalty.argmax_error(row, 0.0)
            own = mpmath.matrix(row.tolist())
            assert penalty.norm_below(row) <= mpmath.sqrt((own.T * exact * own)[0])


# -- the support ------------------------------------------------------------------------------------------


def statuses_of_a_row_at_zero(loss, y, make):
    X = np.random.default_rng(0).normal(size=(30, 2))
    X[0] = 0.0  # its score is zero, whatever the weights are
    target = np.where(X[:, 0] > 0, 1.0, -1.0)
    target[0] = y
    return make(loss=loss, fit_intercept=False, alpha=1e-2).fit(X, target).support_status_[0]


@pytest.mark.parametrize(
    ("loss", "y", "make", "status"),
    [
        (SmoothedHinge(2.0), 1.0, LinearClassifier, "support"),
        (SmoothedHinge(0.5), 1.0, LinearClassifier, "bound"),
        (SmoothedHinge(1.0), 1.0, LinearClassifier, "support"),  # at the very end of the parabola: not proved
        ("squared_hinge", 1.0, LinearClassifier, "support"),
        ("hinge", 1.0, LinearClassifier, "bound"),
        ("logistic", 1.0, LinearClassifier, "support"),
        ("exponential", 1.0, LinearClassifier, "support"),
        (Huber(1.0), 0.3, LinearRegressor, "support"),
        (Huber(1.0), -1.3, LinearRegressor, "bound"),
        (Huber(1.0), 0.0, LinearRegressor, "undecided"),  # its derivative is zero at a point only
        ("absolute", 0.3, LinearRegressor, "bound"),
        ("absolute", 0.0, LinearRegressor, "undecided"),
        ("squared", 0.3, LinearRegressor, "support"),
        ("epsilon_insensitive", 0.05, LinearRegressor, "zero"),
        ("epsilon_insensitive", 0.3, LinearRegressor, "bound"),
        ("squared_epsilon_insensitive", 0.3, LinearRegressor, "support"),
    ],
)
def test_status_at_a_known_score(loss, y, make, status):
    assert statuses_of_a_row_at_zero(loss, y, make) == status


def test_large_targets_have_no_bounds():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = LinearRegressor(loss="squared", alpha=1.0, tol=1e-3, fit_intercept=False).fit(X, 1e9 + X[:, 0])
    assert set(model.support_status_) <= {"support", "undecided"}


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_a_derivative_that_is_too_small_for_a_number_is_not_zero(loss):
    X = np.array([[1.0], [-1.0], [1e5]])
    model = LinearClassifier(loss=loss, alpha=1e-3, fit_intercept=False).fit(X, [1, -1, 1])
    assert set(model.support_status_) == {"support"}


# -- labels that are ranked -----------------------------------------------------------------------------


def test_the_range_of_thresholds_contains_that_of_all_scores_between():
    rng = np.random.default_rng(3)
    for _ in range(200):
        n, k = int(rng.integers(1, 8)), int(rng.integers(1, 4))
        Y, weight = (rng.random((n, k)) < 0.5).astype(float), rng.choice([0.5, 1.0, 3.0], n)
        lo = np.round(rng.normal(size=(n, k)), 1)
        hi = lo + np.round(rng.choice([0.0, 0.1, 0.5, 2.0]) * rng.random((n, k)), 1)
        lowest, highest = threshold_range(lo, hi, Y, weight)
        for _ in range(20):
            share = rng.choice([0.0, 1.0, rng.random()], (n, k))
            found = least_error_threshold(lo + share * (hi - lo), Y, weight)
            assert lowest - 1e-12 <= found <= highest + 1e-12


def test_label_ranking_without_intercept_is_about_what_predict_says():
    proved = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n = int(rng.choice([8, 20, 80]))
        X = rng.normal(size=(n, 3))
        Y = (X @ rng.normal(size=(3, 3)) + rng.normal() + 0.5 * rng.normal(size=(n, 3)) > 0).astype(int)
        Y[0], Y[1] = [1, 0, 1], [0, 1, 0]
        given = {"loss": "label_ranking", "fit_intercept": False, "alpha": 1e-2}
        loose, tight = (LinearClassifier(tol=tol, **given).fit(X, Y) for tol in (1e-1, 1e-9))
        lo, hi = loose.score_bounds(X)
        scores = tight.decision_function(X)
        assert (lo <= scores + 1e-6).all() and (scores <= hi + 1e-6).all(), seed
        certified = loose.certified(X)
        assert_array_equal(loose.predict(X)[certified], tight.predict(X)[certified])
        proved += int(certified.sum())
    assert proved > 0
