"""Losses of the contingency table, against all labellings one by one."""

import itertools
from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

from gapfit import Problem, Status, losses, solve, threads
from gapfit.losses.sorting import descending
from gapfit.registry import LOSSES
from gapfit.testing import check_loss
from metrics import CONTINGENCY, METRICS, jagged, registry_name, targets
from problems import make_penalty
from tables import PENALTIES

DRAWS = 2000
EPS = np.finfo(float).eps


def make(metric):
    return LOSSES[registry_name(metric)](**METRICS[metric])


def matthews(tp, fp, fn, tn):
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return 1 - (tp * tn - fp * fn) / np.sqrt(below) if below else 1.0


def delta(loss, tp, fp, fn, tn):
    """The loss of one table from its definition; None where the labelling is not allowed."""
    n, P = tp + fp + fn + tn, tp + fn
    match loss:
        case losses.FBeta(beta=beta):
            return 1 - (1 + beta**2) * tp / ((1 + beta**2) * tp + fp + beta**2 * fn)
        case losses.Jaccard():
            return 1 - tp / (tp + fp + fn)
        case losses.Matthews():
            return matthews(tp, fp, fn, tn)
        case losses.ErrorRate():
            return (fp + fn) / n
        case losses.BalancedAccuracy():
            return 1 - (tp / (tp + fn) + tn / (tn + fp)) / 2
        case losses.PrecisionAtK(k=k):
            return 1 - tp / k if tp + fp == k else None
        case losses.RecallAtK(k=k):
            return 1 - tp / P if tp + fp == k else None
        case losses.Lift(k=k):
            return (min(k, P) - tp) / k * n / P if tp + fp == k else None
        case losses.BreakEven():
            return 1 - tp / P if tp + fp == P else None
        case losses.PrecisionAtRecall(floor=floor):
            return 1 - tp / (tp + fp) if tp >= floor * P - 1e-9 else 1.0
        case losses.RecallAtPrecision(floor=floor):
            return 1 - tp / P if tp >= floor * (tp + fp) - 1e-9 else 1.0
        case losses.Contingency(f=f):
            return float(f(*np.array([[tp], [fp], [fn], [tn]], dtype=float))[0])


@cache
def labellings(n):
    return np.array(list(itertools.product([-1.0, 1.0], repeat=n)))


@cache
def tables(loss, P, N):
    """Delta for all tp and fp; -inf where a labelling is not allowed."""
    made = [[delta(loss, tp, fp, P - tp, N - fp) for fp in range(N + 1)] for tp in range(P + 1)]
    return np.array([[-np.inf if entry is None else entry for entry in row] for row in made])


def planes(loss, y):
    """All labellings that are allowed, as planes: the risk is the maximum of c + u @ f."""
    n = len(y)
    ybar = labellings(n)
    tp, fp = (((ybar > 0) & (y == sign)).sum(axis=1) for sign in (1, -1))
    c = tables(loss, int((y > 0).sum()), int((y < 0).sum()))[tp, fp]
    scores = np.where(y > 0, loss.score_weight, 1.0) / n
    return c[c > -np.inf], (scores * (ybar - y))[c > -np.inf]


def draw_scores(rng, n):
    """Scores of several sizes around where labels change; in half of the draws with ties."""
    scores = rng.normal(size=n) * 10.0 ** rng.uniform(-1, 1)
    if rng.random() < 0.5:
        scores = np.round(scores * 2) / 2
        scores[rng.integers(n)] = scores[rng.integers(n)]
    return scores


@pytest.mark.parametrize("metric", CONTINGENCY)
def test_the_maximum_over_all_labellings(metric):
    loss, rng = make(metric), np.random.default_rng(0)
    for number in range(DRAWS):
        n = int(rng.integers(4, 13 if number % 20 == 0 else 9))
        y, scores = targets(metric, n, rng), draw_scores(rng, n)
        risk = loss.bind(y, np.ones(n))
        b = rng.normal(size=risk.offsets.size)
        value, u, e = risk.value_and_subgradient(scores, b)
        c, slopes = planes(loss, y)
        height = (c + slopes @ (scores + b.sum())).max()
        noise = 8 * EPS * (1 + abs(height) + np.abs(scores + b.sum()).max() * max(1, loss.score_weight))
        assert abs(value - height) <= noise
        assert np.all(e == u.sum())
        for _ in range(2):
            there, shift = scores + draw_scores(rng, n), rng.normal(size=b.shape)
            moved = value + u @ (there - scores) + e @ shift
            assert (c + slopes @ (there + (b + shift).sum())).max() >= moved - 8 * noise
        assert height >= risk.infimum - noise


@pytest.mark.parametrize("metric", CONTINGENCY)
def test_contract(metric):
    loss = make(metric)
    check_loss(loss, targets(metric, 12, np.random.default_rng(0)))


@pytest.mark.parametrize("metric", CONTINGENCY)
def test_weights_are_copies(metric):
    """Also where all weights have a factor in common."""
    loss, rng = make(metric), np.random.default_rng(1)
    for number in range(200):
        n = int(rng.integers(4, 12))
        y, scores = targets(metric, n, rng), draw_scores(rng, n)
        weight = rng.integers(1, 6, n) * (2.0 if number % 3 == 0 else 1.0)
        copies = np.repeat(np.arange(n), weight.astype(int))
        weighted, repeated = loss.bind(y, weight), loss.bind(y[copies], np.ones(len(copies)))
        b = rng.normal(size=weighted.offsets.size)
        value, u, _ = weighted.value_and_subgradient(scores, b)
        value_of_copies, _, _ = repeated.value_and_subgradient(scores[copies], b)
        assert abs(value - value_of_copies) <= 1e-13 * (1 + abs(value))
        assert weighted.infimum == pytest.approx(repeated.infimum, abs=1e-15)
        there = rng.normal(size=n) * 3
        assert repeated.value_and_subgradient(there[copies], b)[0] >= value + u @ (there - scores) - 1e-12


WHOLE = ("contingency", "matthews", "precision_at_recall", "recall_at_precision")
FRACTIONAL = [name for name in CONTINGENCY if registry_name(name) not in WHOLE]


@pytest.mark.parametrize("metric", FRACTIONAL)
def test_other_weights_divide_samples(metric):
    """The risk is the limit of ever finer copies: each sample in a million pieces, and a piece for k."""
    loss, rng = make(metric), np.random.default_rng(2)
    pieces = 1e6
    fine = make(metric)
    if hasattr(fine, "k"):
        fine.k = fine.k * pieces
    for _ in range(200):
        n = int(rng.integers(4, 12))
        y, scores = targets(metric, n, rng), draw_scores(rng, n)
        weight = rng.integers(1, 40, n) / 16 + 1 / 32  # exact in binary, and none is whole
        if hasattr(loss, "k") and loss.k > weight.sum():
            continue
        risk = loss.bind(y, weight)
        b = rng.normal(size=risk.offsets.size)
        value = risk.value_and_subgradient(scores, b)[0]
        limit = fine.bind(y, weight * pieces).value_and_subgradient(scores, b)[0]
        assert limit - 1e-12 * (1 + abs(value)) <= value <= limit + 1e-5 * (1 + abs(value))


@pytest.mark.parametrize("metric", ["f_beta", "f_beta(0.3)", "f_beta(4)", "jaccard(weighted)"])
def test_no_fractional_labelling_is_better(metric):
    """Random and fine labellings of divisible samples stay below the risk."""
    loss, rng = make(metric), np.random.default_rng(3)
    for _ in range(100):
        n = int(rng.integers(3, 8))
        y, scores, weight = targets(metric, n, rng), draw_scores(rng, n), rng.uniform(0.1, 2, n)
        share = np.concatenate([rng.random((3000, n)), rng.random((3000, n)).round(), np.eye(n)])
        mixed = rng.random(share.shape) < 0.5
        share = np.where(mixed, share, share.round())
        P, N = weight[y > 0].sum(), weight[y < 0].sum()
        tp, fp = share[:, y > 0] @ weight[y > 0], share[:, y < 0] @ weight[y < 0]
        values = np.array([delta(loss, *table) for table in zip(tp, fp, P - tp, N - fp, strict=True)])
        slope = weight / weight.sum() * np.where(y > 0, loss.score_weight, 1.0)
        values += (2 * share - 1 - y) @ (slope * scores)
        assert values.max() <= loss.bind(y, weight).value_and_subgradient(scores, np.zeros(1))[0] + 1e-12


@pytest.mark.parametrize("metric", WHOLE)
def test_tables_of_fractions_are_refused(metric):
    with pytest.raises(ValueError, match="sample_weight must hold whole numbers"):
        make(metric).bind(np.array([-1.0, 1.0]), np.array([1.0, 1.5]))


@pytest.mark.parametrize("n", [2000, 40_000])
def test_four_ways_to_the_same_maximum(n):
    """The walks of ratios and along diagonals, and bisection on either kind of line, at large sizes."""
    rng = np.random.default_rng(n)
    y = np.where(rng.random(n) < 0.1, 1.0, -1.0)
    for beta, spread in itertools.product((0.2, 1.0, 3.0), (0.1, 1.0, 10.0)):
        scores = np.round(y + spread * rng.normal(size=n), 2)

        def f(tp, fp, fn, tn, B=beta**2):
            return 1 - (1 + B) * tp / ((1 + B) * tp + fp + B * fn)

        values = [
            loss.bind(y, np.ones(n)).value_and_subgradient(scores, np.full(1, 0.3))[0]
            for loss in (
                losses.FBeta(beta),
                losses.Contingency(f, "fp"),
                losses.Contingency(f, "predicted"),
                losses.Contingency(f, "linear"),
            )
        ]
        assert np.ptp(values) <= 1e-12 * (1 + values[0])


def test_labellings_can_be_left_out():
    rng = np.random.default_rng(0)
    y, scores = targets("recall_at_k", 40, rng), rng.normal(size=40)

    def recall_at_5(tp, fp, fn, tn):
        return np.where(tp + fp == 5, 1 - tp / (tp + fn), -np.inf)

    values = [
        loss.bind(y, np.ones(40)).value_and_subgradient(scores, np.zeros(0))[0]
        for loss in (losses.RecallAtK(5), losses.Contingency(recall_at_5))
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-14)
    none = losses.Contingency(lambda tp, fp, fn, tn: np.where(tp < 0, 0.0, -np.inf))
    with pytest.raises(ValueError, match="-inf at all tables"):
        solve(Problem(np.ones((2, 1)), [1, -1], none))


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    n = 150_000
    y, scores = targets("f_beta", n, rng), rng.normal(size=n)
    results = []
    for n_jobs in (1, 2):
        with threads.using(n_jobs):
            results.append(losses.FBeta().bind(y, np.ones(n)).value_and_subgradient(scores, np.zeros(1)))
    assert results[0][0] == results[1][0]
    np.testing.assert_array_equal(results[0][1], results[1][1])


def test_the_order_kept_from_the_last_call_changes_nothing():
    rng = np.random.default_rng(0)
    y = targets("f_beta", 500, rng)
    kept = losses.FBeta().bind(y, np.ones(500))
    scores = rng.normal(size=500)
    for turn in range(6):
        if turn % 2:
            scores[rng.integers(500)] += 1.0  # in place: the risk must notice
        b = rng.normal(size=1)
        value, u, _ = kept.value_and_subgradient(scores, b)
        value_anew, u_anew, _ = losses.FBeta().bind(y, np.ones(500)).value_and_subgradient(scores, b)
        assert value == value_anew
        np.testing.assert_array_equal(u, u_anew)


@pytest.mark.parametrize("far", [np.inf, -np.inf, np.nan])
def test_scores_that_overflow(far):
    y, scores = np.array([1.0, -1.0, -1.0]), np.array([0.0, far, 1.0])
    for metric in ("f_beta", "error_rate", "precision_at_k"):
        risk = make(metric).bind(y, np.ones(3))
        value, u, _ = risk.value_and_subgradient(scores, np.zeros(risk.offsets.size))
        assert not np.isfinite(value) and np.isfinite(u).all()


def imbalanced(n=150, d=4, share=0.15, seed=0, apart=1.5):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < share, 1.0, -1.0)
    X = rng.normal(size=(n, d))
    X[:, 0] += apart * (y > 0)
    return X, y


@pytest.mark.parametrize("metric", CONTINGENCY)
@pytest.mark.parametrize("intercept", [False, True])
def test_fits_are_certified(metric, intercept):
    solution = solve(Problem(*imbalanced(), make(metric), alpha=1e-2, intercept=intercept), tol=1e-3)
    assert solution.status is Status.CERTIFIED


@pytest.mark.parametrize("penalty", PENALTIES)
def test_every_penalty(penalty):
    X, y = imbalanced()
    for loss, intercept in (("f_beta", True), ("break_even", False)):
        penalise = make_penalty(penalty, PENALTIES[penalty](4))
        solution = solve(Problem(X, y, loss, penalise, alpha=1e-2, intercept=intercept), tol=1e-3)
        assert solution.status is Status.CERTIFIED


@pytest.mark.parametrize("metric", CONTINGENCY)
@pytest.mark.parametrize("intercept", [False, True])
def test_optima_over_all_labellings(metric, intercept):
    """Every plane handed to a solver of quadratic programs, which proves its own optimum to 1e-8."""
    X, y = imbalanced(n=8, d=3, share=0.4, seed=5)
    loss, alpha = make(metric), 0.05
    problem = Problem(X, y, loss, alpha=alpha, intercept=intercept)
    solution = solve(problem, "bundle", tol=1e-10)
    c, slopes = planes(loss, y)
    w, xi = cp.Variable(3), cp.Variable()
    b = cp.Variable(problem.n_offsets)
    f = X @ w + (b if problem.n_offsets else 0)
    model = cp.Problem(cp.Minimize(alpha / 2 * cp.sum_squares(w) + xi), [c + slopes @ f <= xi])
    model.solve("CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    certificate = solution.certificate
    assert abs(certificate.primal - model.value) <= 1e-8 * max(1, abs(model.value))
    assert certificate.dual <= model.value + 1e-8
    np.testing.assert_allclose(solution.w, w.value, atol=1e-4)


def largest_vacuous_score_weight(X, y):
    """The largest r for which the sum of the positives times r lies in the capped hull of the negatives:

    max r with sum_j a_j x_j = r sum_i x_i, sum_j a_j = r P, 0 <= a <= 1. Up to there w = 0 is optimal.
    """
    positive, negative = X[y > 0], X[y < 0]
    n = len(negative)
    A = np.vstack([np.c_[negative.T, -positive.sum(axis=0)], np.r_[np.ones(n), -len(positive)]])
    found = linprog(np.r_[np.zeros(n), -1], A_eq=A, b_eq=np.zeros(len(A)), bounds=[(0, 1)] * n + [(0, None)])
    return found.x[-1]


@pytest.mark.parametrize("apart", [0.5, 2.0])
def test_where_the_surrogate_is_vacuous(apart):
    """Just below the critical score weight no direction lowers the risk; just above it one does."""
    X, y = imbalanced(n=120, d=3, share=0.1, apart=apart)
    critical = largest_vacuous_score_weight(X, y)
    assert (critical > 1) == (apart == 0.5)  # the papers' choice collapses on one of them
    for factor, collapses in ((0.98, True), (1.05, False)):
        loss = losses.FBeta(score_weight=factor * critical)
        solution = solve(Problem(X, y, loss, alpha=1e-4), tol=1e-6)
        assert (solution.certificate.primal >= 1 - 1e-9) == collapses
        assert solution.status is Status.CERTIFIED


@pytest.mark.parametrize(
    ("make_one", "message"),
    [
        (lambda: losses.FBeta(0.0), "beta must be positive"),
        (lambda: losses.FBeta(score_weight=-1.0), "score_weight must be positive"),
        (lambda: losses.PrecisionAtK(0), "k must be positive"),
        (lambda: losses.RecallAtPrecision(1.5), "floor must lie in"),
        (lambda: losses.Contingency(jagged, "tp"), "structure must be"),
        (lambda: Problem(np.ones((3, 1)), [1, -1, 1], losses.RecallAtK(4)), "k is 4, but there are 3"),
        (lambda: Problem(np.ones((3, 1)), [1, 1, 1], "f_beta"), "both classes"),
        (lambda: Problem(np.ones((3, 1)), [1, 0, 1], "f_beta"), "labels -1 and \\+1"),
        (lambda: Problem(np.ones((2, 1)), [1, -1], losses.Contingency(lambda *t: 1.0)), "one loss a table"),
        *(
            (
                lambda s=structure: losses.Contingency(jagged, s).bind(np.repeat([1.0, -1], 9), np.ones(18)),
                f"not {what} at tp=.*claims",
            )
            for structure, what in (("fp", "concave"), ("predicted", "concave"), ("linear", "linear"))
        ),
        (
            lambda: solve(Problem(np.ones((2, 1)), [1, -1], losses.Contingency(lambda *t: 1 / t[0]))),
            "finite losses, but is inf at tp=0",
        ),
    ],
)
def test_mistakes_are_named(make_one, message):
    with np.errstate(divide="ignore"), pytest.raises(ValueError, match=message):
        make_one()


def test_names_without_parameters():
    with pytest.raises(TypeError, match="write PrecisionAtK"):
        Problem(np.ones((2, 1)), [1, -1], "precision_at_k")
    with pytest.raises(TypeError, match="f must be a function"):
        losses.Contingency("f1")


@pytest.mark.parametrize(
    "shape",
    ["normal", "ties", "constant", "cauchy", "clusters", "huge", "tiny", "every magnitude", "sorted"],
)
@pytest.mark.parametrize("n", [1, 24, 25, 5000])
def test_sorting(shape, n):
    rng = np.random.default_rng(n)
    f = rng.normal(size=n)
    scores = {
        "normal": f,
        "ties": np.round(f),
        "constant": np.zeros(n),
        "cauchy": rng.standard_cauchy(n) ** 3,
        "clusters": rng.integers(0, 2, n) + 1e-12 * f,
        "huge": np.where(f > 0, 1.7e308, -1.7e308 + 1e300 * f),
        "tiny": rng.integers(0, 9, n) * 5e-324,
        "every magnitude": np.sign(f) * 10.0 ** rng.uniform(-300, 300, n),
        "sorted": np.sort(f),
    }[shape]
    starts = np.unique([0, n // 3, n // 2, n])
    order, values = descending(scores, starts)
    expected = [a + np.argsort(-scores[a:b], kind="stable") for a, b in itertools.pairwise(starts)]
    np.testing.assert_array_equal(order, np.concatenate(expected))
    np.testing.assert_array_equal(values, scores[order])
