"""Sums over all labellings against all labellings, the smoothed risk, and Pragam on it."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp, softmax

from gapfit import IncompatibleSolver, Problem, Status, solve
from gapfit.losses import (
    BalancedAccuracy,
    BreakEven,
    Contingency,
    ErrorRate,
    FBeta,
    Jaccard,
    Matthews,
    PrecisionAtK,
    PrecisionAtRecall,
    RecallAtK,
    RecallAtPrecision,
    RocArea,
    Smoothed,
)
from gapfit.losses.smoothed import Labellings
from gapfit.solvers.pragam_entropy import lipschitz, pragam_entropy
from gapfit.testing import check_loss

LOSSES = [
    FBeta(),
    FBeta(2.0, score_weight=0.5),
    Jaccard(),
    Matthews(),
    ErrorRate(),
    BalancedAccuracy(),
    PrecisionAtK(3),
    RecallAtK(4),
    BreakEven(),
    PrecisionAtRecall(0.5),
    RecallAtPrecision(0.5),
]


def labels(n, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return y


def brute_force(risk, labellings, scores, mu):
    """R_mu and its gradient, labelling by labelling."""
    heights, slopes = [], []
    for ybar in product((0.0, 1.0), repeat=len(scores)):
        share = np.array(ybar)
        tp, fp = int(share[risk.positive].sum()), int(share[~risk.positive].sum())
        if labellings.allowed[tp, fp]:
            slopes.append(risk.step * (share - risk.positive))
            heights.append((labellings.loss[tp, fp] + slopes[-1] @ scores) / mu)
    top = max(heights)
    weights = np.exp(np.array(heights) - top)
    return mu * (top + np.log(weights.mean())), weights @ np.array(slopes) / weights.sum(), len(heights)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("n", [5, 9, 12])
def test_marginals_are_those_of_all_labellings(loss, n):
    rng = np.random.default_rng(n)
    risk = loss.bind(labels(n), np.ones(n))
    labellings = Labellings(risk)
    for mu, scale in ((1.0, 1.0), (0.05, 3.0)):
        scores = scale * rng.normal(size=n)
        value, gradient = labellings.smooth(scores, mu)
        expected, slopes, count = brute_force(risk, labellings, scores, mu)
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(gradient, slopes, atol=1e-12)
        assert labellings.log_count == pytest.approx(np.log(count), rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_smoothed_risk_brackets_the_true_one(loss):
    n, rng = 40, np.random.default_rng(1)
    risk = loss.bind(labels(n), np.ones(n))
    labellings = Labellings(risk)
    for mu in (1.0, 1e-2, 1e-4):
        scores = 10.0 ** rng.uniform(-1, 1) * rng.normal(size=n)
        true = risk.value_and_subgradient(scores, np.zeros(0))[0]
        value, _ = labellings.smooth(scores, mu)
        assert true - mu * labellings.log_count - 1e-12 <= value <= true + 1e-12


@pytest.mark.parametrize("scale", [1.0, 50.0])
def test_two_thousand_samples_with_large_scores(scale):
    n, rng = 2000, np.random.default_rng(2)
    risk = FBeta().bind(labels(n), np.ones(n))
    labellings = Labellings(risk)
    scores = rng.uniform(-scale, scale, n)
    for mu in (1.0, 1.0 / n):
        gibbs = labellings.gibbs(1.0 / mu, scores / mu)
        shares = gibbs.u / risk.step + risk.positive
        assert np.isfinite(gibbs.log_z) and 0 <= gibbs.delta <= 1
        assert shares.min() >= -1e-15 and shares.max() <= 1 + 1e-15


def test_whole_weights_are_copies():
    n, rng = 8, np.random.default_rng(3)
    y, weight, scores = labels(n), rng.integers(1, 4, n).astype(float), rng.normal(size=n)
    copies = np.repeat(np.arange(n), weight.astype(int))
    value, u = Labellings(FBeta().bind(y, weight)).smooth(scores, 0.1)
    repeated, v = Labellings(FBeta().bind(y[copies], np.ones(len(copies)))).smooth(scores[copies], 0.1)
    assert value == pytest.approx(repeated, rel=1e-12)
    np.testing.assert_allclose(u, np.bincount(copies, v), atol=1e-14)


@pytest.mark.parametrize("loss", [FBeta(), PrecisionAtK(4), Matthews()], ids=repr)
def test_smoothed_is_a_loss(loss):
    check_loss(Smoothed(loss, 0.1), labels(12))


def small(loss, n=30, alpha=1e-1, intercept=False):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 3)) + 0.5
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 1.0, 1.0, -1.0)
    return Problem(X, y, loss, alpha=alpha, intercept=intercept)


def brute_balanced(risk, labellings, exponent, sharpness):
    """The shift at which the mean slope in b vanishes, labelling by labelling; log Z, u and Delta there."""
    tables, slopes, heights = [], [], []
    for ybar in product((0.0, 1.0), repeat=len(exponent)):
        share = np.array(ybar)
        tp, fp = int(share[risk.positive].sum()), int(share[~risk.positive].sum())
        if labellings.allowed[tp, fp]:
            slopes.append(risk.step * (share - risk.positive))
            tables.append(labellings.loss[tp, fp])
            heights.append(sharpness * tables[-1] + slopes[-1] @ exponent)
    slopes, heights = np.array(slopes), np.array(heights)

    def excess(b):
        p = softmax(heights + b * slopes.sum(axis=1))
        return p @ slopes.sum(axis=1)

    b = brentq(excess, -1e4, 1e4, xtol=1e-13)
    p = softmax(heights + b * slopes.sum(axis=1))
    return b, logsumexp(heights + b * slopes.sum(axis=1)), p @ slopes, p @ np.array(tables)


@pytest.mark.parametrize("loss", [FBeta(), FBeta(score_weight=0.3), Matthews(), ErrorRate()], ids=repr)
def test_balanced_distributions_are_those_of_all_labellings(loss):
    n, rng = 9, np.random.default_rng(8)
    risk = loss.bind(labels(n), np.ones(n))
    labellings = Labellings(risk)
    for sharpness, scale in ((0.0, 0.0), (1.0, 3.0), (20.0, 100.0)):
        exponent = scale * rng.normal(size=n)
        gibbs, shift = labellings.balanced(sharpness, exponent, 5.0)
        b, log_z, u, delta = brute_balanced(risk, labellings, exponent, sharpness)
        assert abs(gibbs.u.sum()) <= 1e-15
        assert shift == pytest.approx(b, rel=1e-8, abs=1e-8)
        assert gibbs.log_z == pytest.approx(log_z, rel=1e-10)
        assert gibbs.delta == pytest.approx(delta, abs=1e-10)
        np.testing.assert_allclose(gibbs.u, u, atol=1e-10)


def test_labellings_that_lean_one_way_have_no_balance():
    n = 6
    y = labels(n)
    risk = Contingency(lambda tp, fp, fn, tn: np.where(fn == 0, fp, -np.inf) + 0.0 * tn).bind(y, np.ones(n))
    with pytest.raises(IncompatibleSolver, match="lean one way"):
        Labellings(risk).balanced(1.0, np.zeros(n), 0.0)


def test_smooth_solvers_fit_it_and_it_comes_close():
    problem = small(FBeta(), alpha=1e-2)
    sharp = solve(problem, tol=1e-6)
    for mu in (1e-2, 1e-3):
        smooth = solve(small(Smoothed(FBeta(), mu), alpha=1e-2), "lbfgs", tol=1e-6)
        assert smooth.status is Status.CERTIFIED
        bonus = mu * Labellings(problem.risk).log_count
        assert problem.evaluate(smooth.w, np.zeros(0)) <= sharp.certificate.primal + bonus
        assert smooth.certificate.dual <= sharp.certificate.primal <= smooth.certificate.primal + bonus


@pytest.mark.parametrize(
    ("loss", "intercept"),
    [(FBeta(), False), (PrecisionAtK(8), False), (ErrorRate(), False), (FBeta(), True), (ErrorRate(), True)],
    ids=repr,
)
@pytest.mark.parametrize("given", [False, True])
def test_the_excessive_gap_condition_and_the_rate(loss, intercept, given):
    problem = small(loss, intercept=intercept)
    L = lipschitz(problem) if given else None
    labellings = Labellings(problem.risk)
    D2 = labellings.log_count
    if intercept:
        D2 = labellings.balanced(0.0, np.zeros(len(problem.y)), 0.0)[0].log_z

    def rounded(scores, mu):
        if not intercept:
            return labellings.smooth(scores, mu)[0]
        return mu * (labellings.balanced(1 / mu, scores / mu, 0.0)[0].log_z - D2)

    steps = pragam_entropy(problem, L=L)
    iterate = next(steps)
    for k in range(50):
        pair = iterate.snapshot()["pair"]
        dual = problem.dual(iterate.minorant)
        smoothed = 0.5 * problem.alpha * iterate.w @ iterate.w
        smoothed += rounded(problem.scores(iterate.w), pair.mu)
        assert smoothed <= dual + 1e-10
        assert iterate.primal - dual <= pair.mu * D2 + 1e-10
        if given:
            assert iterate.primal - dual <= 4 * L * D2 / ((k + 1) * (k + 2)) + 1e-10
        iterate = steps.send(None)


@pytest.mark.parametrize(
    ("loss", "intercept"),
    [(FBeta(), False), (PrecisionAtK(8), False), (Matthews(), False), (FBeta(), True), (Jaccard(), True)],
    ids=repr,
)
def test_it_agrees_with_the_bundle_and_goes_on(loss, intercept):
    problem = small(loss, intercept=intercept)
    reference = solve(problem, "bundle", tol=1e-9).certificate
    solution = solve(problem, pragam_entropy, tol=1e-3)
    assert solution.status is Status.CERTIFIED
    assert solution.certificate.dual <= reference.primal and reference.dual <= solution.certificate.primal
    half = solve(problem, pragam_entropy, tol=0.0, max_iter=10)
    rest = solve(problem, pragam_entropy, tol=0.0, max_iter=10, start=half)
    whole = solve(problem, pragam_entropy, tol=0.0, max_iter=20)
    assert rest.history[-1].dual == whole.history[-1].dual


def test_the_found_L_is_smaller_than_the_bound():
    problem = small(FBeta())
    steps = pragam_entropy(problem)
    iterate = next(steps)
    for _ in range(30):
        iterate = steps.send(None)
    found = iterate.snapshot()["pair"].L
    assert found < 0.1 * lipschitz(problem)


def test_what_it_does_not_take():
    problem = small(FBeta())
    with pytest.raises(IncompatibleSolver, match="labellings"):
        solve(small(RocArea()), partial(pragam_entropy, L=1.0))
    weights = np.linspace(0.5, 1.5, len(problem.y))
    with pytest.raises(IncompatibleSolver, match="labellings"):
        solve(Problem(problem.design.X, problem.y, FBeta(), sample_weight=weights), "pragam_entropy")
    many = np.full(len(problem.y), 1000.0)
    with pytest.raises(IncompatibleSolver, match="labellings"):
        solve(Problem(problem.design.X, problem.y, FBeta(), sample_weight=many), "pragam_entropy")
    with pytest.raises(IncompatibleSolver, match="L2"):
        solve(Problem(problem.design.X, problem.y, FBeta(), "l1"), "pragam_entropy")
    with pytest.raises(ValueError, match="whole numbers"):
        Smoothed(FBeta()).bind(labels(4), np.full(4, 0.5))
    with pytest.raises(ValueError, match="too many"):
        Labellings(ErrorRate().bind(labels(4), np.full(4, 1e6)))
    with pytest.raises(TypeError, match="contingency table"):
        Smoothed(RocArea())


def test_a_table_that_forbids_labellings():
    n = 8
    risk = Contingency(lambda tp, fp, fn, tn: np.where(fp <= 1, fn, -np.inf)).bind(labels(n), np.ones(n))
    labellings = Labellings(risk)
    scores = np.random.default_rng(5).normal(size=n)
    value, _, count = brute_force(risk, labellings, scores, 0.3)
    assert labellings.smooth(scores, 0.3)[0] == pytest.approx(value, rel=1e-12)
    assert count == round(np.exp(labellings.log_count)) < 2**n
