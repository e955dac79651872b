"""No bound is off by more than its allowance, judged with fifty digits; and what compensated sums promise."""

import mpmath as mp
import numpy as np
import pytest
from scipy import sparse

from gapfit import Problem, Status, solve
from gapfit.errors import IncompatibleSolver
from gapfit.penalties import (
    L1,
    L2,
    Box,
    Constrained,
    ElasticNet,
    Entropy,
    GroupLasso,
    QuadraticForm,
    SimplexEntropy,
    SquaredLp,
)
from gapfit.rounding import EPS, exact_dot, exact_sum, gamma, two_product, two_sum
from soak.cases import Case
from soak.exact.numbers import numbers
from soak.exact.objective import Judge

mp.mp.dps = 50
SOLVERS = (
    "auto",
    "newton",
    "semismooth_newton",
    "lbfgs",
    "dual_cd",
    "newton_cg",
    "bundle",
    "smoothing",
    "pragam",
)


def number(x):
    return mp.mpf(float(x))


PHI = {
    "squared": lambda f, y: (f - y) ** 2 / 2,
    "absolute": lambda f, y: abs(f - y),
    "quantile": lambda f, y: abs(f - y) / 2,
    "hinge": lambda f, y: max(mp.mpf(0), 1 - y * f),
    "logistic": lambda f, y: mp.log(1 + mp.exp(-y * f)),
    "poisson": lambda f, y: mp.exp(f) - y * f + (y * mp.log(y) if y else 0) - y,
}


def exact_objective(X, y, w, b, alpha, loss):
    """J with the L2 penalty, in fifty digits, of numbers as they are stored."""
    w, b = [number(v) for v in w], mp.mpf(b) if isinstance(b, mp.mpf) else number(b)
    risk = mp.mpf(0)
    for row, target in zip(X, y, strict=True):
        f = sum((number(x) * v for x, v in zip(row, w, strict=True)), b)
        risk += PHI[loss](f, number(target))
    return number(alpha) * sum(v * v for v in w) / 2 + risk / len(y)


def targets(loss, rng, hidden, size=1.0):
    if loss in ("hinge", "logistic"):
        return np.where(hidden + 0.3 * rng.normal(size=len(hidden)) > 0, 1.0, -1.0)
    if loss == "poisson":
        return rng.poisson(size * np.exp(0.3 * hidden)).astype(float)
    return size * (hidden + 0.3 * rng.normal(size=len(hidden)))


def judge(solution, exact, below=None):
    """The claims of a certificate, whatever its status."""
    primal, dual, gap = solution.certificate[:3]
    assert abs(exact - number(primal)) <= number(gap)
    if below is not None:
        assert number(dual) <= below
        assert exact - below <= number(gap)
    if solution.status is Status.CERTIFIED:
        assert np.isfinite([primal, dual, gap]).all()


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge", "absolute"])
@pytest.mark.parametrize("shift", [1e3, 1e6, 1e8, 1e10])
def test_columns_far_from_zero(loss, shift):
    """The same problem in exact arithmetic, with a shift that an intercept makes harmless."""
    rng = np.random.default_rng(int(np.log10(shift)))
    Z = np.round(rng.normal(size=(40, 3)) * 2.0**12) / 2.0**12  # so that X - shift is Z, exactly
    y = targets(loss, rng, Z[:, 0])
    X = Z + shift
    assert np.array_equal(X - shift, Z)
    centred = solve(Problem(Z, y, loss, "l2", 1e-3), tol=1e-12)
    below = exact_objective(Z, y, centred.w, centred.intercept, 1e-3, loss)  # an attained value
    for solver in SOLVERS:
        for tol in (1e-3, 1e-6, 1e-10):
            try:
                solution = solve(Problem(X, y, loss, "l2", 1e-3), solver, tol=tol, max_time=2)
            except IncompatibleSolver:
                continue
            judge(solution, exact_objective(X, y, solution.w, solution.intercept, 1e-3, loss), below)


@pytest.mark.parametrize("loss", sorted(PHI))
def test_fewer_samples_than_features_and_hardly_a_penalty(loss):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, d = int(rng.choice([1, 3, 8])), int(rng.choice([10, 30]))
        X, alpha = rng.normal(size=(n, d)), float(10.0 ** rng.choice([-8, -10, -12]))
        y = targets(loss, rng, X[:, 0], 1000.0 if loss == "poisson" else 100.0)
        for intercept in (False, True):
            if intercept and np.ptp(y) == 0:
                continue
            solution = solve(Problem(X, y, loss, "l2", alpha, intercept=intercept), tol=1e-6, max_time=2)
            judge(solution, exact_objective(X, y, solution.w, solution.intercept, alpha, loss))


@pytest.mark.parametrize("loss", ["squared", "absolute", "quantile"])
@pytest.mark.parametrize("shift", [1e6, 1e8, 1e10])
def test_targets_far_from_zero_can_be_had(loss, shift):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    y = shift + np.round((X[:, 0] + 0.3 * rng.normal(size=40)) * 2.0**10) / 2.0**10
    centred = solve(Problem(X, y - shift, loss, "l2", 1e-3), tol=1e-12)
    below = exact_objective(X, y - shift, centred.w, centred.intercept, 1e-3, loss)
    solution = solve(Problem(X, y, loss, "l2", 1e-3), tol=1e-4)
    assert solution.converged
    judge(solution, exact_objective(X, y, solution.w, solution.intercept, 1e-3, loss), below)


@pytest.mark.parametrize("mean", [10, 1000, 10_000])
def test_large_counts_are_no_broken_contract(mean):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20, 60))
        y = rng.poisson(mean * np.exp(0.3 * X[:, 0]))
        for alpha in (1e-4, 1e-8):
            assert solve(Problem(X, y, "poisson", "l2", alpha), tol=1e-4, max_time=5).converged


@pytest.mark.parametrize("loss", ["exponential", "poisson"])
def test_an_infinite_objective_is_never_certified(loss):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, offset = rng.normal(size=(40, 3)), rng.normal(size=40) * 10.0 ** rng.uniform(1, 5)
        y = np.where(X[:, 0] > 0, 1.0, -1.0) if loss == "exponential" else rng.poisson(3.0, 40)
        solution = solve(Problem(X, y, loss, "l2", 0.1, offset=offset), tol=1e-4, max_time=2)
        if solution.converged:
            assert np.isfinite(solution.certificate[:3]).all()
            at_rest = solve(Problem(X, y, loss, "l2", 0.1, offset=offset), max_iter=0).certificate.primal
            assert solution.certificate.gap <= max(1e-4 * solution.certificate.primal, 1e-12 * at_rest)


@pytest.mark.parametrize("solver", ["auto", "bundle", "dual_cd", "newton", "lbfgs", "line_search_bundle"])
@pytest.mark.parametrize("size", [1e10, 1e20, 1e50, 1e150])
def test_the_tolerance_does_not_know_the_start(solver, size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=40)
    problem = Problem(X, y, "squared", "l2", 1e-3)
    solution = solve(problem, solver, tol=1e-6, start=np.full(3, size), max_time=10)
    reference = solve(problem, "newton", tol=1e-10)
    assert solution.converged
    assert solution.certificate.primal - reference.certificate.dual <= 1e-6 * reference.certificate.primal


PENALTIES = [
    L2(), L1(), ElasticNet(0.3), Box(L2(), -0.5, 0.5), Box(L1(), -0.5, 0.5), Entropy(),
    Box(Entropy(), 0.1, 2.0), SimplexEntropy(), SquaredLp(1.05), SquaredLp(1.5),
    QuadraticForm(np.diag([1e-6, 1.0, 3.0, 1e3])), GroupLasso([0, 1, 0, 0]),
    GroupLasso([1, 1, 0, 0], [1e-6, 1e3], 0.3), Constrained(L2(), [[1, 2, 0, 0], [-1, 0, 3, 1]], [-1, 0.5]),
]  # fmt: skip


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_conjugates_cover_all_that_is_near(penalty):
    rng = np.random.default_rng(0)
    for _ in range(200):
        mu = rng.normal(size=4) * 10.0 ** rng.uniform(-6, 1)
        slack = float(10.0 ** rng.uniform(-12, 0)) * float(np.linalg.norm(mu))
        claimed = penalty.conjugate_above(mu, slack).above
        for _ in range(20):
            step = rng.normal(size=4)
            step *= slack * rng.random() ** 0.1 / np.linalg.norm(step)
            assert penalty.conjugate(mu + step) <= claimed
        assert abs(penalty.conjugate(mu)) < np.inf or claimed == np.inf


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_what_is_shrunk_is_feasible(penalty):
    rng = np.random.default_rng(1)
    for _ in range(100):
        mu, slack = rng.normal(size=4) * 10.0 ** rng.uniform(-2, 2), float(10.0 ** rng.uniform(-8, -2))
        keep = penalty.shrinkage(mu, slack)
        for _ in range(5):
            step = rng.normal(size=4)
            assert penalty.conjugate(keep * (mu + slack * step / np.linalg.norm(step))) < np.inf


def test_sums_that_keep_what_they_lose():
    rng = np.random.default_rng(0)
    for _ in range(100):
        n = int(rng.integers(1, 200))
        x = rng.normal(size=n) * 10.0 ** rng.uniform(-20, 20, n)
        x = np.concatenate([x, -x * (1 + EPS * rng.integers(-2, 3, n))])
        y = rng.normal(size=2 * n) * 10.0 ** rng.uniform(-5, 5, 2 * n)
        for found, exact in (
            (exact_sum(x), sum(map(number, x))),
            (exact_dot(x, y), sum(number(a) * number(b) for a, b in zip(x, y, strict=True))),
        ):
            assert abs(exact - number(found.value)) <= number(found.error)
            size = float(np.abs(x).sum() + np.abs(x * y).sum())
            assert found.error <= EPS * abs(found.value) + 1e-28 * size
    total, rest = two_sum(x, y)
    product, lost = two_product(x, y)
    for a, b, s, r, p, q in zip(x, y, total, rest, product, lost, strict=True):
        assert number(a) + number(b) == number(s) + number(r)
        assert number(a) * number(b) == number(p) + number(q)
    assert gamma(10) > 10 * EPS / 2


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_and_what_is_said_of_their_errors(layout, dtype):
    rng = np.random.default_rng(2)
    raw = (rng.normal(size=(30, 6)) * 10.0 ** rng.uniform(-6, 6, 6) + 1e5).astype(dtype)
    raw[rng.random(raw.shape) < 0.3] = 0
    design = Problem(layout(raw), rng.normal(size=30), "squared").design
    w, u = rng.normal(size=6) * 10.0 ** rng.uniform(-6, 6, 6), rng.normal(size=30)
    scores = [sum(number(x) * number(v) for x, v in zip(row, w, strict=True)) for row in raw]
    slopes = [sum(number(x) * number(v) for x, v in zip(column, u, strict=True)) for column in raw.T]
    for f, exact, slack in zip(design.scores(w), scores, design.slack(w), strict=True):
        assert abs(exact - number(f)) <= number(slack)
    off = [exact - number(a) for a, exact in zip(design.adjoint(u), slopes, strict=True)]
    assert mp.sqrt(sum(x * x for x in off)) <= number(design.spread(u))
    for exact, precise in ((scores, design.precise_scores(w)), (slopes, design.precise_adjoint(u))):
        for value, high, low, slack in zip(exact, *precise, strict=True):
            assert abs(value - number(high) - number(low)) <= number(slack)
            assert slack <= 1e-24 * (1 + abs(raw).max() * max(np.abs(w).max(), np.abs(u).max()) * 100)


@pytest.mark.parametrize("seed", range(20))
def test_a_count_that_is_met_exactly_costs_no_more_than_its_rounding(seed):
    """Poisson at its minimum: f - log y vanishes as computed, the loss is of second order, and not zero."""
    rng = np.random.default_rng(seed)
    y, weight = np.exp(rng.uniform(-20, 20, 1)), np.exp(rng.uniform(-20, 20, 1))
    problem = Problem(rng.normal(size=(1, 3)), y, "poisson", "l1", 0.1, sample_weight=weight)
    w, b = np.zeros(3), np.log(y)
    most = problem.most(w, b)
    with mp.workprec(300):
        f, count = mp.mpf(float(b[0])), mp.mpf(float(y[0]))
        exact = mp.exp(f) - count * f + count * mp.log(count) - count
        assert abs(exact - mp.mpf(most.value)) <= mp.mpf(most.error)
    assert most.error <= 1e-28 * (1 + float(y[0]))


@pytest.mark.parametrize("penalty", [L1(), Box(L1(), -2.0, np.inf), Box(L1(), -np.inf, 3.0)])
@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_a_feasible_minorant_stays_as_it_is(penalty, size):
    rng = np.random.default_rng(1)
    problem = Problem(size * rng.normal(size=(30, 4)), rng.choice([-1.0, 1.0], 30), "hinge", penalty, 1e-3)
    for _ in range(20):
        minorant = problem.oracle(rng.normal(size=4) / size).minorant
        once = problem.feasible(minorant)
        assert problem.feasible(once) is once
        assert problem.least(once).below > -np.inf


# -- slopes that are differences of sums --------------------------------------------------------------

TABLES = {
    "break_even": {}, "precision_at_k": {"k": 0.3}, "recall_at_k": {"k": 0.9}, "lift": {"k": 0.3},
    "f_beta": {}, "jaccard": {}, "balanced_accuracy": {}, "error_rate": {}, "roc_area": {},
    "partial_roc_area": {"max_fpr": 0.4}, "pairwise_ranking": {},
}  # fmt: skip


def hostile_table(loss, seed):
    """A few samples of weights 1e-7 to 1e7, with known offsets that leave nothing to be learnt, or much."""
    rng = np.random.default_rng([seed, 903])
    n = int(rng.integers(3, 12))
    y = np.where(rng.random(n) < 0.6, 1.0, -1.0)
    y[0], y[-1] = 1.0, -1.0
    weight = 10.0 ** rng.uniform(-7, 7, n)
    weight[0] = weight.max()  # positives of next to no weight are refused
    apart = y * 10.0 ** rng.uniform(1, 4) if rng.random() < 0.5 else 0.0
    offset = apart + 10.0 ** rng.uniform(0, 3) * rng.normal(size=n)
    params = {name: share * weight.sum() if name == "k" else share for name, share in TABLES[loss].items()}
    groups = np.zeros(n, dtype=int) if loss == "pairwise_ranking" else None
    return Case(
        rng.normal(size=(n, 2)), y, loss, params, weight=weight, offset=offset, intercept=False, groups=groups
    ), rng


@pytest.mark.parametrize("loss", TABLES)
def test_slopes_that_cancel_are_off_in_proportion_to_what_they_are_made_of(loss):
    for seed in range(25):
        case, rng = hostile_table(loss, seed)
        problem, judge = case.problem(), Judge(case)
        for w in (np.zeros(2), rng.normal(size=2)):
            most = problem.most(w, np.zeros(0))
            assert abs(judge.value(w, 0.0) - number(most.value)) <= most.error
            cut = problem.oracle(w).minorant
            for v in (np.zeros(2), w, 10 * rng.normal(size=2)):
                height = number(cut.c) + sum(number(a) * number(x) for a, x in zip(cut.a, v, strict=True))
                room = cut.noise + cut.spread * float(np.linalg.norm(v))
                assert height - judge.risk(numbers(v), numbers(np.zeros(1))) <= room
