"""The unpenalised intercept: minimised exactly, with cuts that are valid for every intercept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from gapfit import Problem, UnboundedProblem, registry, solve, threads
from gapfit.losses import Loss, OrdinalThresholds, PointwiseLoss, Risk
from gapfit.losses.base import Cone
from gapfit.losses.weighted_quantile import weighted_quantile
from gapfit.offset import minimise_offset, minimise_offsets, offset_interval
from gapfit.offset.separate import minimise_separately, separate_bounds
from problems import labels_problem
from tables import LOSSES, TARGETS, targets

NUMBERS = st.integers(-5, 5).map(float)


@given(st.lists(st.tuples(NUMBERS, st.integers(1, 3)), min_size=1, max_size=30), st.integers(0, 40))
@settings(max_examples=300, deadline=None)
def test_weighted_quantile_equals_counting(pairs, target):
    positions = np.array([position for position, _ in pairs])
    masses = np.array([float(mass) for _, mass in pairs])
    ordered = np.unique(positions)
    counts = np.array([masses[positions <= x].sum() for x in ordered])

    def first(reached):
        return ordered[reached][0] if reached.any() else np.inf

    expected = (-np.inf if target == 0 else first(counts >= target), first(counts > target))
    assert weighted_quantile(positions, masses, float(target)) == expected


@pytest.mark.parametrize("values", [2, 5, 10**9])
@pytest.mark.parametrize("share", [0.03, 0.5, 0.97])
def test_weighted_quantile_of_many(values, share):
    """Many positions, most of them equal, or none."""
    rng = np.random.default_rng(values)
    positions, masses = rng.integers(values, size=20_000).astype(float), rng.uniform(0.1, 10.0, size=20_000)
    order = np.argsort(positions)
    target = share * masses.sum()
    expected = positions[order][np.searchsorted(np.cumsum(masses[order]), target)]
    assert weighted_quantile(positions, masses, target) == (expected, expected)


@pytest.mark.parametrize("share", [1e-4, 0.3, 0.5, 0.9999])
@pytest.mark.parametrize("kind", ["rising", "heavy", "one", "sorted", "rounded"])
def test_weighted_quantile_where_a_sample_misleads(kind, share):
    """Masses that rise with the position, or are very unequal, and positions in order; on any threads."""
    rng = np.random.default_rng(0)
    positions, masses = rng.normal(size=120_000), np.ones(120_000)
    if kind == "rising":
        masses = np.exp(3 * positions)
    elif kind == "heavy":
        masses = rng.pareto(0.7, size=len(masses)) + 1e-9
    elif kind == "one":
        masses = np.append(1e6, masses[1:])
    elif kind == "sorted":
        positions.sort()
    else:
        positions = np.round(positions, 1)
    target = share * masses.sum() * (1 + 1e-9)
    order = np.argsort(positions, kind="stable")
    expected = positions[order][np.searchsorted(np.cumsum(masses[order]), target)]
    found = []
    for n_jobs in (1, 2):
        with threads.using(n_jobs):
            found.append(weighted_quantile(positions, masses, target))
    assert found == [(expected, expected)] * 2


@pytest.mark.parametrize("loss", LOSSES)
def test_minimum_over_b_equals_a_grid_search(loss):
    rng = np.random.default_rng(1)
    for _ in range(20):
        y = targets(loss, n=9)
        risk = registry.LOSSES[loss](**LOSSES[loss]).bind(y, rng.integers(1, 4, 9).astype(float))
        scores = np.round(rng.normal(size=9), 1)  # ties
        value, tangent = minimise_offset(risk, scores, rng.normal())
        for b in tangent.b + np.concatenate([np.linspace(-3, 3, 101), [1e-9, -1e-9]]):
            assert risk.value_and_subgradient(scores, np.array([b]))[0] >= value - 1e-13 * (1 + abs(value))
        assert tangent.value == pytest.approx(value, rel=1e-13, abs=1e-14)
        lo, hi = offset_interval(risk, scores, 0.0)
        assert lo - 1e-12 <= tangent.b <= hi + 1e-12


@pytest.mark.parametrize("loss", ["logistic", "exponential", "poisson", "squared_hinge", "huber"])
def test_the_minimum_is_found_where_the_risk_hardly_bends_at_the_guess(loss):
    rng = np.random.default_rng(5)
    for shift in (50.0, 100.0, 300.0, -100.0):
        y = targets(loss, n=20)
        if loss in ("logistic", "exponential", "squared_hinge"):
            y = np.where(np.arange(20) == 0, 1.0, -1.0)  # slopes of very different size to both sides
        risk = registry.LOSSES[loss](**LOSSES[loss]).bind(y, np.ones(20))
        scores = rng.normal(size=20)
        near = minimise_offset(risk, scores, 0.0)[0]
        value, at = minimise_offset(risk, scores + shift, 0.0)
        assert value == pytest.approx(near, rel=1e-9)
        assert at.value <= value * (1 + 1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_balanced_cuts_are_valid_for_every_w_and_every_intercept(loss):
    """Scores on a grid, so that many samples sit exactly on a kink."""
    rng = np.random.default_rng(2)
    for _ in range(30):
        X = rng.integers(-2, 3, size=(12, 2)).astype(float)
        problem = Problem(X, targets(loss), registry.LOSSES[loss](**LOSSES[loss]), alpha=1.0)
        at = problem.oracle(rng.integers(-2, 3, size=2) / 2.0)
        assert not at.minorant.e.any()
        for _ in range(20):
            w, b = rng.normal(size=2), rng.normal(size=1)
            risk = problem.risk.value_and_subgradient(problem.scores(w), b)[0]
            assert risk >= at.minorant.a @ w + at.minorant.c - 1e-12 * (1 + abs(risk))


def test_a_zero_one_mask_would_not_be_valid():
    """Why the subgradient must be balanced: the naive choice of 0 or 1 at the kink overshoots."""
    rng = np.random.default_rng(0)
    overshoots = 0
    for _ in range(200):
        X = rng.integers(-2, 3, size=(10, 2)).astype(float)
        y = np.where(rng.random(10) < 0.4, 1.0, -1.0)
        y[:2] = [1, -1]
        problem = Problem(X, y, "hinge", alpha=1.0)
        w = rng.integers(-2, 3, size=2) / 2.0
        at = problem.oracle(w)
        u = problem.risk.value_and_subgradient(at.scores, at.b)[1]
        c = at.risk - u @ at.scores  # as if its slope in b were zero
        v = rng.normal(size=2)
        overshoots += problem.oracle(v).risk < X.T @ u @ v + c - 1e-9
        assert problem.oracle(v).risk >= at.minorant.a @ v + at.minorant.c - 1e-12
    assert overshoots > 0


def test_a_loss_without_formulas_gets_an_exact_intercept_too():
    class UserHinge(PointwiseLoss):
        """max(0, 1 - y f), written as a user would."""

        def value_and_slope(self, f, y):
            return np.maximum(1 - y * f, 0.0), np.where(y * f < 1, -y, 0.0)

    ours = solve(labels_problem(loss="hinge"), "bundle", tol=1e-10)
    theirs = solve(labels_problem(loss=UserHinge()), "bundle", tol=1e-10)
    assert theirs.certificate.primal == pytest.approx(ours.certificate.primal, rel=1e-9)
    np.testing.assert_allclose(theirs.w, ours.w, rtol=1e-4)


@pytest.mark.parametrize("loss", [name for name in LOSSES if TARGETS[name] in ("labels", "real")])
def test_weights_are_unchanged_when_a_constant_is_added_to_x(loss):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 3)), targets(loss, n=40)
    solutions = [
        solve(Problem(X + shift, y, registry.LOSSES[loss](**LOSSES[loss]), alpha=1e-2), tol=1e-10)
        for shift in (0.0, np.array([100.0, -1000.0, 10.0]))
    ]
    np.testing.assert_allclose(solutions[1].w, solutions[0].w, rtol=1e-6, atol=1e-7)


def test_novelty_keeps_its_promise_about_nu():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) + 3.0
    problem = Problem(X, np.zeros(200), registry.LOSSES["novelty"](0.1), alpha=1.0)
    solution = solve(problem, tol=1e-10)
    scores = X @ solution.w + solution.intercept
    assert np.mean(scores < -1e-9) <= 0.1 <= np.mean(scores <= 1e-9)


# -- several offsets --------------------------------------------------------------------------------------


class Competition(Loss):
    """mean over i of max over k of (k != y_i) + f_ik + b_k - f_iy - b_y, for three classes; nothing else."""

    def bind(self, y, weight, groups=None):
        return CompetitionRisk(self, y.astype(int), weight / weight.sum())


class CompetitionRisk(Risk):
    offsets = Cone(3)
    infimum = 0.0
    outputs = 3

    def __init__(self, loss, y, p):
        self.loss, self.y, self.p = loss, y, p

    def value_and_subgradient(self, scores, b):
        F = scores.reshape(-1, 3) + (b if b.size else 0.0)
        rows = np.arange(len(F))
        F = F - F[rows, self.y][:, None] + (np.arange(3) != self.y[:, None])
        winner = F.argmax(axis=1)
        U = np.zeros_like(F)
        U[rows, winner] += self.p
        U[rows, self.y] -= self.p
        return float(self.p @ F[rows, winner]), U.ravel(), U.sum(axis=0)[: b.size]


class Plain(Risk):
    """A risk without its formulas for offsets: nothing but values and subgradients is left."""

    def __init__(self, risk):
        self.risk, self.loss = risk, risk.loss
        self.offsets, self.infimum, self.outputs = risk.offsets, risk.infimum, risk.outputs

    def value_and_subgradient(self, scores, b):
        return self.risk.value_and_subgradient(scores, b)


def least_over_offsets(y, p, F):
    """By linear programming: the first offset is zero, as a common shift does not matter."""
    n = len(y)
    cost = np.r_[0.0, 0.0, p]
    rows, right = [], []
    for i in range(n):
        for k in range(3):
            row = np.zeros(2 + n)
            for column, sign in ((k - 1, 1.0), (y[i] - 1, -1.0)):
                if column >= 0:
                    row[column] += sign
            row[2 + i] = -1.0
            rows.append(row)
            right.append(-(float(k != y[i]) + F[i, k] - F[i, y[i]]))
    bounds = [(None, None)] * (2 + n)
    return linprog(cost, A_ub=np.array(rows), b_ub=right, bounds=bounds).fun


def test_free_offsets_equal_linear_programming():
    rng = np.random.default_rng(0)
    for _ in range(40):
        n = int(rng.integers(4, 20))
        y = np.r_[0, 1, 2, rng.integers(0, 3, n - 3)]
        risk = Competition().bind(y, rng.integers(1, 4, n).astype(float))
        F = np.round(2 * rng.normal(size=(n, 3)), int(rng.integers(0, 3)))  # ties
        value, u, height, b, _ = minimise_offsets(risk, F.ravel(), rng.normal(size=3))
        assert value == pytest.approx(least_over_offsets(y, risk.p, F), rel=1e-9, abs=1e-9)
        assert value - height <= 1e-13 * (1 + value)  # rounding of tangents away from b is counted
        assert np.abs(u.reshape(-1, 3).sum(axis=0)).max() <= 1e-15  # it knows no offset
        for _ in range(20):
            G = F + 10.0 ** rng.uniform(-3, 1) * rng.normal(size=F.shape)
            there = risk.value_and_subgradient(G.ravel(), b + rng.normal(size=3))[0]
            assert there >= height + u @ (G - F).ravel() - 1e-13 * (1 + there)


@pytest.mark.parametrize("kind", ["all", "immediate"])
@pytest.mark.parametrize("base", ["hinge", "squared_hinge", "logistic", "exponential"])
def test_cuts_find_what_the_formulas_find(kind, base):
    """Ordered thresholds by cutting planes alone, and by pooling and Newton's method."""
    rng = np.random.default_rng(1)
    pooled = 0
    for _ in range(30):
        n = int(rng.integers(6, 30))
        y = np.r_[0.0, 3.0, rng.integers(0, 4, n - 2)]
        risk = OrdinalThresholds(kind, base).bind(y, rng.integers(1, 4, n).astype(float))
        scores = np.round(2 * rng.normal(size=n), 1) + rng.choice([-1, 0, 1]) * y
        ours, cuts = (
            minimise_offsets(some, scores, np.zeros(risk.offsets.size)) for some in (risk, Plain(risk))
        )
        pooled += bool((np.diff(ours.b) == 0).any())
        assert cuts.value == pytest.approx(ours.value, rel=1e-13)
        for value, u, height, b, _ in (ours, cuts):
            assert (np.diff(b) >= 0).all()
            assert value == pytest.approx(risk.value_and_subgradient(scores, b)[0], rel=1e-14)
            assert value - height <= 1e-12 * value
            for _ in range(10):
                there = scores + 10.0 ** rng.uniform(-3, 1) * rng.normal(size=n)
                other = np.sort(b + 10.0 ** rng.uniform(-3, 1) * rng.normal(size=len(b)))
                least = risk.value_and_subgradient(there, other)[0]
                assert least >= height + u @ (there - scores) - 1e-12 * (1 + least)
    if kind == "immediate":
        assert pooled > 5


def test_slopes_that_an_order_makes_harmless():
    rng = np.random.default_rng(2)
    ordered, free = Cone(4, ordered=True), Cone(4)
    found = 0
    for _ in range(300):
        e = rng.integers(-2, 3, 4).astype(float)
        e[-1] -= e.sum() * (rng.random() < 0.8)
        b = np.sort(10 * rng.normal(size=(200, 4)), axis=1)
        assert not ordered.harmless(e, 0.0) or (b @ e >= -1e-12).all()
        assert ordered.harmless(e, 0.0) or (np.vstack([np.triu(np.ones((4, 4))), -np.ones(4)]) @ e < 0).any()
        assert free.harmless(e, 0.0) == (not e.any())
        found += ordered.harmless(e, 0.0)
        c = rng.normal(size=4)
        assert np.cumsum(c) @ e == pytest.approx(c @ ordered.slopes(e))
    assert found > 20


def test_a_fit_with_free_offsets_is_certified_and_knows_no_constant():
    rng = np.random.default_rng(3)
    y = np.r_[0, 1, 2, rng.integers(0, 3, 37)].astype(float)
    X = rng.normal(size=(40, 2)) + np.array([[1.0, 0], [0, 1], [-1, -1]])[y.astype(int)]
    problem = Problem(X, y, Competition(), alpha=0.01)
    solution = solve(problem, "bundle", tol=1e-9)
    assert solution.converged and solution.intercept.shape == (3,)
    moved = solve(Problem(X + np.array([100.0, -30.0]), y, Competition(), alpha=0.01), "bundle", tol=1e-9)
    assert moved.certificate.primal == pytest.approx(solution.certificate.primal, rel=2e-9)


def test_offsets_that_run_away_are_noticed():
    class Falling(Plain):
        def value_and_subgradient(self, scores, b):
            value, u, e = self.risk.value_and_subgradient(scores, b)
            return value - 2.0 * float(b[0] - b[1]), u, e - [2.0, -2.0, 0.0]

    risk = Falling(Competition().bind(np.array([0, 1, 2]), np.ones(3)))
    risk.infimum = -np.inf
    with pytest.raises(UnboundedProblem, match="offsets go to infinity"):
        minimise_offsets(risk, np.zeros(9), np.zeros(3))


def test_a_bracket_with_one_steep_side_is_not_settled():
    """The floor between values of 1 and 1e40 is rounding; to trust it once gave a wrong minimum."""

    class Steep(PointwiseLoss):
        def value_and_slope(self, f, y):
            value = np.exp(-y * np.clip(f, -600, 600))
            return value, -y * value

    rng = np.random.default_rng(0)
    for _ in range(50):
        y = np.where(np.arange(12) % 3 == 0, 1.0, -1.0)
        scores = 4 * rng.normal(size=12)
        risk = Steep().bind(y, np.ones(12))
        best = 0.5 * np.log(np.exp(-scores[y > 0]).sum() / np.exp(scores[y < 0]).sum())
        value, at = minimise_offset(risk, scores, 0.0)
        assert at.b == pytest.approx(best, abs=1e-6)
        assert at.value == pytest.approx(value, rel=1e-13)


@pytest.mark.parametrize("base", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("seed", range(40))
def test_bounds_of_ordered_offsets_contain_every_minimiser(base, seed):
    """Also where parts are flat, so that the interval of one is wide and that of its neighbour is not."""
    rng = np.random.default_rng(seed)
    n, levels = int(rng.integers(4, 12)), int(rng.integers(2, 5))
    y = np.concatenate([np.arange(levels), rng.integers(levels, size=n)])
    centres = np.cumsum(rng.choice([0.5, 2.0, 20.0], size=levels))
    scores = centres[y] + rng.normal(size=len(y)) * rng.choice([0.3, 1.0])
    risk = OrdinalThresholds("immediate", base).bind(y.astype(float), np.ones(len(y)))
    parts, cone = risk.offset_parts(), risk.offsets
    lower, upper = (separate_bounds(parts, scores, cone, upper=upper) for upper in (False, True))
    assert (lower <= upper).all()
    best = minimise_separately(parts, scores, np.zeros(cone.size), ordered=cone.ordered)
    near = 1e-7 * (1 + np.abs(best.b))  # slopes vanish up to rounding, so that b is known up to that
    assert (lower <= best.b + near).all() and (best.b <= upper + near).all()
    for _ in range(200):  # no other ordered offsets are as good and outside
        b = np.sort(best.b + rng.normal(size=cone.size) * 10.0 ** rng.uniform(-3, 1))
        value = risk.value_and_subgradient(scores, b)[0]
        if value <= best.value - 1e-14:
            assert (lower <= b + near).all() and (b <= upper + near).all()
        elif base != "logistic" and value <= best.value:  # flat there
            assert (lower <= b).all() and (b <= upper).all()


class Falling(Risk):
    """max(0, 1 - b) - slope * b, as if a maximum had been taken at the wrong plane."""

    loss, offsets = "falling", Cone(1)

    def __init__(self, slope):
        self.slope = slope

    def value_and_subgradient(self, scores, b):
        u = np.array([-1.0 if b[0] < 1 else -self.slope])
        return max(1.0 - b[0], 0.0) - self.slope * b[0], u, u.copy()


def test_a_slope_whose_sign_is_rounding_is_no_way_to_infinity():
    value, at = minimise_offset(Falling(1e-17), np.zeros(1), 0.0)
    assert value == pytest.approx(0.0, abs=1e-15) and at.e == 0
    with pytest.raises(UnboundedProblem):
        minimise_offset(Falling(1e-6), np.zeros(1), 0.0)
