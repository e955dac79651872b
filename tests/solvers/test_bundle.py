"""The bundle's parts: its quadratic program, its level, its search, what it forgets, what a step costs."""

import itertools
from functools import partial

import numpy as np
import pytest

from gapfit import Problem, Status, solve
from gapfit.losses import PrecisionAtK, RecallAtK
from gapfit.losses.base import NONE, Loss, Risk
from gapfit.penalties import L2, Constrained, GroupLasso, QuadraticForm, SquaredLp
from gapfit.solvers.bundle import bundle
from gapfit.solvers.cuts import master as master_module
from gapfit.solvers.cuts.masters import master_for
from gapfit.solvers.cuts.quadratic_master import QuadraticMaster
from gapfit.solvers.cuts.segment import search
from gapfit.solvers.cuts.simplex_qp import Face, maximise_on_simplex
from gapfit.solvers.point import at_best_offsets
from problems import labels_problem

EPS = np.finfo(float).eps


class PairwiseHinge(Loss):
    """The mean over all pairs of a positive and a negative sample of max(0, 1 - (f_pos - f_neg))."""

    def bind(self, y, weight, groups=None):
        return PairwiseRisk(self, np.asarray(y) > 0)


class PairwiseRisk(Risk):
    offsets, infimum = NONE, 0.0

    def __init__(self, loss, positive):
        self.loss, self.positive = loss, positive

    def value_and_subgradient(self, scores, b):
        losses = 1.0 - scores[self.positive][:, None] + scores[~self.positive]
        violated = (losses > 0) / losses.size
        u = np.empty(len(scores))
        u[self.positive], u[~self.positive] = -violated.sum(axis=1), violated.sum(axis=0)
        return float((violated * losses).sum()), u, np.zeros(0)


def pairwise_problem(alpha=1e-3, **kwargs):
    return labels_problem(n=120, d=8, loss=PairwiseHinge(), alpha=alpha, intercept=False, **kwargs)


# -- the quadratic program --------------------------------------------------------------------------------


def cuts(kind, rng):
    """Slopes and constants of random cuts, in every way degenerate."""
    t, d = rng.integers(1, 60), rng.integers(1, 30)
    A = rng.normal(size=(t, d)) * 10 ** rng.uniform(-3, 3)
    if kind == "almost parallel":
        A += 1e4 * np.abs(A).max() * rng.normal(size=d)
    elif kind == "copies":
        A[rng.integers(0, t, t // 2)] = A[0]
    elif kind == "scales":
        A *= 10 ** rng.uniform(-2, 2, size=(t, 1))
    elif kind == "all scales":
        A *= 10 ** rng.uniform(-12, 12, size=(t, 1))
    elif kind == "zero plane and mixtures":
        A[0], A[-1] = 0.0, A.mean(axis=0)
    elif kind == "rounded":
        A = np.round(A, 1)
    return A, rng.normal(size=t) * 10 ** rng.uniform(-3, 3)


KINDS = ["plain", "almost parallel", "copies", "scales", "zero plane and mixtures", "rounded"]


@pytest.mark.parametrize("kind", KINDS)
def test_no_coordinate_promises_more_than_the_maximum(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(150):
        A, c = cuts(kind, rng)
        G = A @ A.T / 10 ** rng.uniform(-4, 2)
        start = rng.exponential(size=len(c)) * (rng.uniform(size=len(c)) < 0.5)
        start[0] += 1.0
        x = maximise_on_simplex(G, c, start)
        assert (x >= 0).all()
        assert x.sum() == pytest.approx(1, abs=1e-12)
        promise = c - G @ x
        scale = np.abs(c).max() + np.sqrt(G.diagonal().max() * (x @ np.sqrt(G.diagonal())) ** 2)
        assert (promise - promise @ x).max() <= 100 * EPS * scale


def test_cuts_of_all_sizes_from_any_of_them():
    """Shares of 1e-20 of a large cut count as much as those of small ones."""
    rng = np.random.default_rng(7)
    for _ in range(300):
        A, c = cuts("all scales", rng)
        G = A @ A.T / 10 ** rng.uniform(-4, 2)
        x = maximise_on_simplex(G, c, np.eye(len(c))[rng.integers(len(c))])
        promise, sizes = c - G @ x, np.sqrt(G.diagonal())
        assert (promise - promise @ x).max() <= 100 * EPS * (np.abs(c).max() + sizes.max() * (sizes @ x))


def test_the_factor_follows_the_support():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 60))
    face = Face(A @ A.T, np.arange(5), 60.0)
    for _ in range(300):
        outside = np.setdiff1d(np.arange(40), face.members)
        if len(face.members) < 2 or (len(outside) and rng.uniform() < 0.55):
            face.enter(int(rng.choice(outside)))
        else:
            face.leave(int(rng.integers(len(face.members))))
        block = face.G[np.ix_(face.members, face.members)] + face.lift
        np.testing.assert_allclose(face.R.T @ face.R, block, rtol=1e-11, atol=1e-11)


def test_a_gram_matrix_that_overflows_is_an_error_and_no_endless_loop():
    G = np.array([[np.inf, np.inf], [np.inf, np.inf]])
    with pytest.raises(OverflowError, match="too large"):
        Face(G, np.arange(2), 1.0)


# -- the level --------------------------------------------------------------------------------------------


def collect(problem, steps=12):
    """A master with the cuts of some steps, and the best point."""
    master, best = QuadraticMaster(problem), None
    master.add(problem.zero_plane())
    w = problem.start()
    for _ in range(steps):
        point = at_best_offsets(problem, w, problem.scores(w))
        best = point if best is None or point.J < best.J else best
        master.add(problem.minorant(point, point.scores))
        model, w = master.minimise()
    return master, best, problem.dual(model)


@pytest.mark.parametrize("penalty", ["l2", QuadraticForm(np.diag([1.0, 2.0, 3.0, 4.0, 5.0]))], ids=repr)
def test_the_point_at_the_level_is_the_nearest_one(penalty):
    problem = labels_problem(penalty=penalty, alpha=1e-2)
    master, best, lower = collect(problem)

    def model(w):
        return problem.alpha * problem.penalty.value(w) + max(cut.a @ w + cut.c for cut in master.cuts)

    top = min(best.J, model(best.w))
    w = master.at_level(best.w, best.J)
    height = model(w)
    assert 0.2 <= (height - lower) / (top - lower) <= 0.4
    nearest = problem.penalty.norm(w - best.w)
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(2000):
        other = w + 10 ** rng.uniform(-3, 0) * nearest * rng.normal(size=5)
        if model(other) <= height:
            inside += 1
            assert problem.penalty.norm(other - best.w) >= nearest * (1 - 1e-7)
    assert inside > 20


@pytest.mark.parametrize("intercept", [False, True])
def test_the_search_never_goes_up(intercept):
    problem = labels_problem(n=200, intercept=intercept, alpha=1e-3)
    rng = np.random.default_rng(0)
    for _ in range(50):
        best, target = (
            at_best_offsets(problem, w, problem.scores(w))
            for w in rng.normal(size=(2, 5)) * 10 ** rng.uniform(-2, 2)
        )
        for reach in (1.0, 4.0):
            found, cut = search(problem, best, target, reach)
            assert all(found.J <= other.J for other in (best, target, cut))
            for point in (found, cut):
                again = at_best_offsets(problem, point.w, problem.scores(point.w))
                assert abs(point.J - again.J) <= 1e-12 * again.J


def test_the_search_comes_back_from_where_the_risk_overflows():
    problem = labels_problem(loss="exponential", alpha=0.1)
    w = 1e8 * np.ones(5)
    with np.errstate(over="ignore"):
        best, far = (at_best_offsets(problem, v, problem.scores(v)) for v in (problem.start(), w))
        assert not np.isfinite(far.J)
        found, cut = search(problem, best, far)
    assert np.isfinite(cut.J)
    assert found.J <= best.J


# -- whole fits -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stabilise", ["level", "line_search", None])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_step_costs_one_product_with_x_and_one_with_its_transpose(stabilise, intercept, monkeypatch):
    problem = labels_problem(alpha=1e-4, intercept=intercept, n=200)
    counts = {"scores": 0, "adjoint": 0}
    for name in counts:
        product = getattr(problem.design, name)

        def counted(vector, name=name, product=product):
            counts[name] += 1
            return product(vector)

        monkeypatch.setattr(problem.design, name, counted)
    steps = bundle(problem, stabilise=stabilise)
    next(steps)
    for _ in range(15):
        before = dict(counts)
        steps.send(None)
        assert {name: counts[name] - before[name] for name in counts} == {"scores": 1, "adjoint": 1}


@pytest.mark.parametrize("make", [pairwise_problem, partial(labels_problem, n=300, alpha=1e-4)])
def test_stabilised_steps_are_fewer(make):
    found = {s: solve(make(), partial(bundle, stabilise=s), tol=1e-6) for s in ("level", "line_search", None)}
    assert all(solution.converged for solution in found.values())
    best = min(solution.certificate.primal for solution in found.values())
    for solution in found.values():
        assert solution.certificate.primal - best <= solution.certificate.gap
    assert max(found["level"].n_iter, found["line_search"].n_iter) <= 0.6 * found[None].n_iter


def test_other_penalties_search_on_the_line_to_the_minimiser():
    problem = labels_problem(penalty="l1", alpha=1e-2)
    level, searched = (solve(problem, partial(bundle, stabilise=s)) for s in ("level", "line_search"))
    assert np.array_equal(level.w, searched.w)
    with pytest.raises(ValueError, match="stabilise must be 'level', 'line_search' or None, got 'trust'"):
        solve(problem, partial(bundle, stabilise="trust"))


@pytest.mark.parametrize("stabilise", ["level", "line_search", None])
def test_tight_gaps_are_certified(stabilise):
    for seed, intercept in itertools.product(range(4), (False, True)):
        problem = labels_problem(n=150, alpha=1e-3, seed=seed, intercept=intercept)
        assert solve(problem, partial(bundle, stabilise=stabilise), tol=1e-12).converged


def test_a_long_fit_continues_with_identical_bytes_after_cuts_were_dropped():
    problem = labels_problem(n=1000, d=40, alpha=1e-5)
    whole = solve(problem, "bundle", tol=0.0, max_iter=90)
    assert whole.certificate.relative_gap > 1e-6  # there is still something to do
    assert len(whole.state["cuts"]) < 90
    half = solve(problem, "bundle", tol=0.0, max_iter=60)
    rest = solve(problem, "bundle", tol=0.0, max_iter=30, start=half)
    assert np.array_equal(rest.w, whole.w)
    assert rest.certificate == whole.certificate


@pytest.mark.parametrize("penalty", ["l2", "l1", "squared_lp"])
def test_memory_is_bounded_and_the_lower_bound_does_not_fall(penalty, monkeypatch):
    monkeypatch.setattr(master_module, "_MEMORY", 0)
    monkeypatch.setattr(master_module, "_FEWEST", 20)
    problem = labels_problem(n=400, d=12, penalty=penalty, alpha=1e-4 if penalty == "l2" else 1e-3)
    steps = bundle(problem)
    iterate = next(steps)
    lower = problem.dual(problem.feasible(iterate.minorant))
    for _ in range(80):
        iterate = steps.send(None)
        bound = problem.dual(problem.feasible(iterate.minorant))
        assert bound >= lower - 1e-9 * abs(lower)
        lower = bound
        assert len(iterate.snapshot()["cuts"]) <= 21
    assert solve(problem, "bundle", tol=1e-4).converged


def test_gram_matrices_are_not_carried_to_another_metric():
    first = solve(labels_problem(alpha=1e-2), "bundle", tol=1e-8)
    other = labels_problem(alpha=1e-2, penalty=QuadraticForm(np.diag([1.0, 9.0, 1.0, 4.0, 1.0])))
    warm, cold = solve(other, "bundle", tol=1e-8, start=first), solve(other, "bundle", tol=1e-8)
    assert warm.converged
    assert (
        abs(warm.certificate.primal - cold.certificate.primal) <= warm.certificate.gap + cold.certificate.gap
    )
    master = QuadraticMaster(other)
    master.restore(first.state)
    a = first.state["cuts"][-1].a
    assert master.gram[-1, -1] == pytest.approx(other.inner(a, a))


def test_cuts_of_other_solvers_are_used():
    """Any minorant serves as a cut: the bound of a finished fit lets the bundle start near its end."""
    problem = Problem(*_separable(), "hinge", alpha=1e-3)
    done = solve(problem, "bundle", tol=1e-8)
    state = {"w": done.w, "cuts": [problem.zero_plane(), done.minorant]}
    first = next(bundle(problem, state))
    assert first.primal - problem.dual(first.minorant) <= 2 * done.certificate.gap


def _separable():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 6))
    return X, np.where(X[:, 0] + 0.2 * rng.normal(size=200) > 0, 1.0, -1.0)


@pytest.mark.parametrize("least", [0.0, -7e-21, -1e-3])
def test_a_ridge_is_found_where_rounding_left_no_square(least):
    """The square of a slope that is nearly zero may come out negative: the loop for a ridge must end."""
    G = np.array([[least, -7e-11], [-7e-11, 7e4]])
    face = Face(G, np.array([0, 1]), 3e-36)
    assert np.isfinite(np.triu(face.R)).all()
    with pytest.raises(OverflowError):
        Face(np.array([[1.0, np.nan], [np.nan, 1.0]]), np.array([0, 1]), 1.0)


@pytest.mark.parametrize("penalty", ["l2", "elastic_net"])
def test_the_minimum_of_cuts_that_cancel(penalty):
    """Cuts are a thousand to a million times as large as their best mixture: from below and from above, the
    minimum of the model is known far better than their Gram matrix tells."""
    rng = np.random.default_rng(9)
    for _ in range(40):
        d = int(rng.integers(2, 6))
        X = rng.normal(size=(12, d)) * 10 ** rng.uniform(-4, 4, d)
        problem = Problem(
            X,
            np.sign(rng.normal(size=12)),
            "hinge",
            penalty,
            alpha=10 ** rng.uniform(-6, -1),
            intercept=False,
        )
        master = master_for(problem)
        for _ in range(40):
            master.add(problem.oracle(rng.normal(size=d) * 10 ** rng.uniform(-2, 2)).minorant)
        model, w = master.minimise()
        below = problem.dual(model)
        heights = [cut.a.astype(np.longdouble) @ w + cut.c for cut in master.cuts]
        above = float(problem.alpha * problem.penalty.value(w) + max(heights))
        assert above - below <= 1e-8 * max(abs(above), 1e-3)


@pytest.mark.parametrize("penalty", ["l2", "squared_lp", "constrained", "constrained_form"])
@pytest.mark.parametrize("seed", range(6))
def test_cuts_from_where_the_risk_explodes_do_not_drown_the_others(penalty, seed):
    rng = np.random.default_rng([seed, 21])
    X = rng.normal(size=(20, 30)) * 10.0 ** rng.uniform(-3, 3, size=(20, 1))
    y = np.where(rng.random(20) < 0.5, -1.0, 1.0)
    Q = np.diag(10.0 ** rng.uniform(0, 2, size=30))
    A, b = rng.normal(size=(2, 30)), np.array([0.01, 0.1])
    made = {
        "l2": L2(),
        "squared_lp": SquaredLp(1.5),
        "constrained": Constrained(L2(), A, b),
        "constrained_form": Constrained(QuadraticForm(Q), A, b),
    }[penalty]
    weight = 10.0 ** rng.uniform(-4, 2, size=20)
    found = solve(Problem(X, y, "exponential", made, 1e-3, weight, intercept=False), "bundle", tol=1e-5)
    assert found.status is Status.CERTIFIED


@pytest.mark.parametrize("loss", ["precision_at_k", "recall_at_k"])
@pytest.mark.parametrize("penalty", ["l1", "group_lasso"])
@pytest.mark.parametrize("seed", range(5))
def test_risks_without_a_lower_bound_are_certified_under_norms(loss, penalty, seed):
    """No flat cut draws a mixture inside of the norm's domain: it has to stay inside by itself."""
    rng = np.random.default_rng([seed, 4])
    d = int(rng.integers(1, 6))
    X = rng.normal(size=(40, d)) * 10.0 ** rng.uniform(-2, 2, size=(40, 1))
    y = np.where(X[:, 0] + np.abs(X[:, 0]).max() * rng.normal(size=40) > 0, 1.0, -1.0)
    made = GroupLasso(np.arange(d) // 2) if penalty == "group_lasso" else penalty
    k = {"precision_at_k": PrecisionAtK(k=12.0), "recall_at_k": RecallAtK(k=12.0)}[loss]
    found = solve(Problem(X, y, k, made, 10.0 ** rng.uniform(-6, -3)), "bundle", tol=1e-3)
    assert found.status is Status.CERTIFIED
