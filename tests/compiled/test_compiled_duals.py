"""Compiled steps among dual points: what they keep, what they minimise, and that they do."""

import math
from math import fsum

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import xlogy

from gapfit.compiled import (
    blocks,
    dual,
    dual_coordinate,
    dual_prox,
    dual_steps,
    dual_sweeps,
    multiclass,
    pairs,
    pegasos,
    precise,
    projection,
    proximal,
    rows,
    simplex_prox,
    simplices,
    smo,
)
from kernels import entry

# Random numbers are scrambled counters, which overflow; interpreted, NumPy says so.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar:RuntimeWarning")

N, D, K, ALPHA = 30, 4, 3, 3.0
close = np.testing.assert_allclose
piecewise_minimiser = entry(dual_coordinate.piecewise_minimiser)
entropic_minimiser = entry(dual_coordinate.entropic_minimiser)
sweep = entry(dual_sweeps.sweep)
entropic_gap = entry(dual_coordinate.entropic_gap)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def as_rows(X, *, dense=False):
    if dense:
        return rows.as_rows(X.ravel(), np.empty(0, np.int32), np.arange(len(X) + 1) * X.shape[1])
    S = sparse.csr_array(X)
    return rows.as_rows(S.data, S.indices, S.indptr)


def nearest_in_simplex(m):
    """By sorting."""
    high = np.sort(m)[::-1]
    levels = (np.cumsum(high) - 1) / np.arange(1, len(m) + 1)
    return np.maximum(m - levels[high > levels][-1], 0.0)


# -- projections


@pytest.mark.parametrize("far", [0.1, 100.0])
def test_the_multiplier_of_a_box_and_a_plane(rng, far):
    m, lower = far * rng.normal(size=N), -rng.random(N)
    upper, sigma, step = lower + rng.random(N), rng.choice([-1.0, 0.0, 2.0], N), rng.random(N)
    step *= sigma

    def total(t):
        return sigma @ np.clip(m + t * step, lower, upper)

    z = 0.3 * total(-1e9) + 0.7 * total(1e9)
    t = projection.multiplier((m, step, sigma, lower, upper), z, 1e-15)
    assert total(t) == pytest.approx(z, abs=1e-12)


def test_balanced_boxes(rng):
    size, taken = 40, 0
    for balance in (0.0, 1.0, -2.0):
        lower, upper, step = -rng.random(size), rng.random(size), 0.1 + rng.random(size)
        m, found = rng.normal(size=size), np.empty(size)
        if projection.onto_balanced_box(m, step, lower, upper, balance, 1e-15, found):
            taken += 1
            assert abs(fsum([*found, -balance])) <= 1e-18
            assert ((found >= lower) & (found <= upper)).all()
            t = ((found - m) / step)[(found > lower + 1e-9) & (found < upper - 1e-9)]
            np.testing.assert_allclose(t, t[0], atol=1e-12)  # one multiplier for all that are free
    assert taken
    assert not projection.onto_balanced_box(m, step, lower, upper, 1e3, 1e-15, found)
    assert not projection.onto_balanced_box(m * np.inf, step, lower, upper, 0.0, 1e-15, found)


def test_sums_with_all_that_is_lost(rng):
    x = 10.0 ** rng.uniform(-12, 12, 60) * rng.choice([-1.0, 1.0], 60)
    total, lost, size = precise.exact_total(x, 7, 50, 3.0)
    assert total + lost == pytest.approx(fsum([3.0, *x[7:50]]), rel=1e-15) and size >= abs(lost)


def test_the_nearest_point_of_the_simplex(rng):
    A = rng.normal(size=(20, 5)) * np.logspace(-3, 3, 20)[:, None]
    found = A.copy()
    simplices.project_rows(found, 1, 20)
    assert (found[0] == A[0]).all()
    close(found[1:], [nearest_in_simplex(m) for m in A[1:]], atol=1e-12)


# -- one coordinate


def test_the_minimum_in_one_coordinate(rng):
    for drive, kink, curvature, lower, upper in rng.normal(size=(50, 5)):
        kink, curvature, lower, upper = abs(kink), abs(curvature), -abs(lower), abs(upper)
        v = piecewise_minimiser(drive, kink, curvature, lower, upper)
        grid = np.linspace(lower, upper, 2001)
        values = kink * np.abs(grid) + 0.5 * curvature * grid**2 - drive * grid
        assert lower <= v <= upper
        assert kink * abs(v) + 0.5 * curvature * v * v - drive * v <= values.min() + 1e-12


def test_the_minimum_in_one_entropic_coordinate(rng):
    def share(odds):
        return 1.0 / (1.0 + math.exp(-odds))

    for odds, slope, curvature in rng.normal(size=(50, 3)) * [3.0, 3.0, 5.0]:
        curvature, scale = abs(curvature), 0.7

        def rest(x, odds=odds, slope=slope, bend=curvature * scale):
            return slope + (x - odds) + bend * (share(x) - share(odds))

        new, a = entropic_minimiser(odds, slope, curvature, scale)
        assert new == pytest.approx(brentq(rest, odds - abs(slope) - 1, odds + abs(slope) + 1), abs=1e-5)
        assert a == pytest.approx(share(new))
        gap = entropic_gap(odds, slope, scale)
        exact = np.logaddexp(0, odds - slope) - np.logaddexp(0, odds) + share(odds) * slope
        assert gap == pytest.approx(scale * exact, rel=0.1, abs=1e-12)


def some_table(rng, entropic=False):
    table = np.zeros(N, rows.SAMPLE)
    table["target"], table["lower"], table["upper"] = rng.normal(size=N), -rng.random(N), rng.random(N)
    table["quad"] = np.where(rng.random(N) < 0.5, 0.0, rng.random(N))
    table["kink"] = np.where(rng.random(N) < 0.5, 0.0, 0.3 * rng.random(N))
    share = rng.uniform(0.2, 0.8, N)
    if entropic:
        table["kink"] = np.log(share / (1 - share))
        table["v"] = table["lower"] + share * (table["upper"] - table["lower"])
    return table


def psi(table, entropic):
    """The sum of psi_i(v_i) - target_i v_i."""
    v, lower, upper = table["v"], table["lower"], table["upper"]
    plain = 0.5 * table["quad"] * v * v - table["target"] * v
    if entropic:
        a = (v - lower) / (upper - lower)
        return float((plain + (upper - lower) * (xlogy(a, a) + xlogy(1 - a, 1 - a))).sum())
    return float((plain + table["kink"] * np.abs(v)).sum())


class Case:
    """A dual with an intercept, at v."""

    def __init__(self, rng, entropic=False, dense=False):
        self.X, self.table, self.entropic = rng.normal(size=(N, D)), some_table(rng, entropic), entropic
        self.mean, self.rho = self.X.mean(axis=0), 3.0
        self.table["along"] = self.X @ self.mean
        self.table["curvature"] = ((self.X - self.mean) ** 2).sum(axis=1) / ALPHA
        mean_sq = float(self.mean @ self.mean)
        self.dual = dual.Dual(
            as_rows(self.X, dense=dense), self.table, entropic, 1 / ALPHA, mean_sq, self.rho
        )
        self.b, self.total = 0.2, 0.7

    def place(self):
        z = self.X.T @ self.table["v"]
        return dual.Place(z, self.b, float(self.total - self.table["v"].sum()), float(z @ self.mean))

    def value(self, b):
        """F at this b."""
        z, _, s, _ = self.place()
        square = float(((z + s * self.mean) ** 2).sum())
        return psi(self.table, self.entropic) + square / (2 * ALPHA) - b * s + 0.5 * self.rho * s * s

    def holds(self, place):
        """Does the place belong to v?"""
        z, _, s, c = place
        mine = self.place()
        close(z, mine.z, atol=1e-10)
        close([s, c], [mine.s, mine.c], atol=1e-10)


cases = pytest.mark.parametrize(("entropic", "dense"), [(False, False), (False, True), (True, False)])


@cases
def test_sweeps_go_down_and_keep_what_follows_from_v(rng, entropic, dense):
    case = Case(rng, entropic, dense)
    order, state, place = np.arange(N), 1, case.place()
    before = case.value(case.b)
    assert dual_coordinate.costs(case.table, entropic) == pytest.approx(psi(case.table, entropic))
    for _ in range(5):
        order, state, _, gap, s, c = sweep(case.dual, place, order, np.uint64(state), math.inf)
        place = dual.Place(place.z, case.b, s, c)
        case.holds(place)
        assert gap >= 0 and len(order) == N
        assert case.value(case.b) <= before + 1e-12
        before = case.value(case.b)
    assert ((case.table["v"] >= case.table["lower"]) & (case.table["v"] <= case.table["upper"])).all()


def test_a_look_moves_nothing_and_sees_what_rests(rng):
    case, firmness = Case(rng), np.empty(N)
    place = case.place()
    for _ in range(30):
        *_, s, c = sweep(case.dual, place, np.arange(N), np.uint64(1), math.inf)
        place = dual.Place(place.z, case.b, s, c)
    v = case.table["v"].copy()
    pulls, active, gap = dual_sweeps.survey(case.dual, place, 0.0, np.arange(N), 0, N, firmness)
    assert (case.table["v"] == v).all() and active == (firmness < 0).sum() and gap >= 0 and pulls >= 0
    rests = firmness >= 0
    at_the_end = (
        (v == case.table["lower"]) | (v == case.table["upper"]) | ((v == 0) & (case.table["kink"] > 0))
    )
    assert rests.any() and at_the_end[rests].all()
    found = dual_sweeps.sort_out(case.table, np.arange(N), firmness, 0.1, 0.01)
    far = np.maximum(firmness, 0.0) ** 2 > 0.01**2 * case.table["curvature"]
    for rows_found, expected in zip(found, (firmness < 0, firmness <= 0.1, ~far), strict=True):
        assert rows_found.tolist() == np.flatnonzero(expected).tolist()


@pytest.mark.parametrize("entropic", [False, True])
def test_responses_maximise_each_by_itself(rng, entropic):
    case, best = Case(rng, entropic), np.empty(N)
    dual_sweeps.responses(case.dual, case.place(), 0, N, best)
    z, b, s, c = case.place()
    scores = (case.X @ z - c + s * (case.table["along"] - case.dual.mean_sq)) / ALPHA + b - case.rho * s
    other = case.table.copy()
    for share in np.linspace(0.001, 0.999, 50):
        other["v"] = other["lower"] + share * (other["upper"] - other["lower"])
        for i in range(N):
            mine, theirs = case.table[[i]].copy(), other[[i]]
            mine["v"] = best[i]
            assert (
                psi(mine, entropic) + scores[i] * best[i]
                <= psi(theirs, entropic) + scores[i] * theirs["v"][0] + 1e-5
            )


@cases
def test_epochs_of_sweeps_and_steps_beyond(rng, entropic, dense):
    case = Case(rng, entropic, dense)
    V, Z, spare_z, spare_v = np.zeros((3, N)), np.zeros((3, D)), np.empty(D), np.empty(N)
    place, latest = case.place(), 0
    epoch = dual.Epoch(np.arange(N), np.uint64(7), math.inf, math.inf, math.inf, 0, 0)
    ends = dual.Ends(0.0, 10**6, 10**6, 10**6, 0.0, -1.0)
    gaps = []
    for _ in range(40):
        before, b = case.value(place.b), place.b
        ways = dual_steps.Ways(V, Z, latest, spare_z, spare_v)
        place, (latest, spare_z), epoch, (_, _, _, estimate) = dual.descend(
            case.dual, place, ways, epoch, ends
        )
        place, epoch = dual.Place(*place), dual.Epoch(*epoch)
        epoch = epoch._replace(
            order=np.arange(N), state=np.uint64(epoch.state), threshold=math.inf, full_gap=math.inf
        )
        case.holds(place)
        close(Z, V @ case.X, atol=1e-9)
        assert case.value(b) <= before + 1e-10
        ways = dual_steps.Ways(V, Z, latest, spare_z, spare_v)
        before, b = case.value(place.b), place.b
        place, (latest, spare_z) = dual.step_on(case.dual, place, ways, epoch)
        place = dual.Place(*place)
        case.holds(place)
        assert case.value(b) <= before + 1e-10
        gaps.append(estimate)
    assert min(gaps) < 1e-6 * gaps[0] and abs(place.s) < 1e-3  # b balances


def test_subgradient_steps(rng):
    X, table, picks = rng.normal(size=(N, D)), some_table(rng), rng.integers(0, N, 12)
    table["along"] = 0.1 + rng.random(N)
    z, lag, t, b, gain, total = rng.normal(size=D), np.zeros(D), 5.0, 0.3, 0.2, 0.4
    expected, summed, b_now = z.copy(), np.zeros(D), b
    for k, i in enumerate(picks):
        sample = table[i]
        f = X[i] @ expected / ALPHA / (t + k) + b_now
        v = piecewise_minimiser(
            sample["target"] - f,
            sample["kink"],
            max(sample["quad"], 1e-300),
            sample["lower"],
            sample["upper"],
        )
        expected = expected + v / sample["along"] * X[i]
        summed += expected
        b_now -= gain * (total - v / sample["along"]) / (t + k + 1)
    pegasos.pegasos_epoch(as_rows(X), table, picks, z, lag, t, 1 / ALPHA, b, gain, total)
    close(z, expected, atol=1e-12)
    close(len(picks) * z + lag, summed, atol=1e-11)


# -- all samples at once


def some_losses(rng):
    table = some_table(rng)
    names = ("target", "kink", "quad", "lower", "upper")
    return proximal.Losses(np.empty(N), np.empty(N), *(table[name].copy() for name in names))


def rounded(losses, f, centre, weight):
    """The maximisers of the rounded losses, on a fine grid."""
    grid = np.linspace(losses.lower, losses.upper, 4001)
    values = (losses.target - f) * grid - losses.kink * np.abs(grid) - 0.5 * losses.quad * grid**2
    values -= (grid - centre) ** 2 / (2 * weight)
    return np.take_along_axis(grid, values.argmax(axis=0)[None], axis=0)[0]


def test_rounded_losses_respond_to_all_scores(rng):
    losses, f, p, c = some_losses(rng), rng.normal(size=N), rng.random(N), 2.0
    centre = 0.5 * (losses.lower + losses.upper)
    proximal.round_off(losses, centre, p, c, 0, N)
    v, moved, known, weight, change = np.zeros(N), *np.zeros((4, N))
    found = proximal.respond(losses, f, c, v, moved, known, weight, change, 0, N)
    close(v, rounded(losses, f, centre, c * p), atol=1e-3)
    assert (moved == v).all() and (change == weight).all()
    loss, bound, total, bend, curved, changed = found
    assert total == pytest.approx(v.sum()) and bend == pytest.approx(c * weight.sum())
    assert curved == changed == np.count_nonzero(weight)
    dual_value = losses.target @ v - losses.kink @ np.abs(v) - 0.5 * losses.quad @ v**2
    assert bound == pytest.approx(dual_value)
    exact = rounded(losses, f, centre, np.inf)
    primal = (losses.target - f) @ exact - losses.kink @ np.abs(exact) - 0.5 * losses.quad @ exact**2
    assert loss == pytest.approx(primal, abs=1e-2)
    first, second = proximal.spread(losses, f, p, 0, N)
    assert first == pytest.approx(p @ np.abs(losses.target - f))
    assert second == pytest.approx(p @ (losses.target - f) ** 2)
    most = np.minimum(losses.upper - losses.lower, 0.1 / np.maximum(losses.quad, 1e-300)).sum()
    assert proximal.reach(losses, 0.1, 0, N) == (pytest.approx(most),)


def test_rounded_losses_along_a_line(rng):
    losses, f, df, p, db, t = (
        some_losses(rng),
        rng.normal(size=N),
        rng.normal(size=N),
        rng.random(N),
        0.3,
        0.7,
    )
    proximal.round_off(losses, np.zeros(N), p, 1.0, 0, N)
    first, _ = proximal.slope_along(losses, f, df, db, t, 0, N)
    there = f.copy()
    proximal.advance(losses, there, df, db, t, 0, N)
    close(there, f + t * (df + db))
    assert first == pytest.approx(-rounded(losses, there, 0.0, p) @ (df + db), abs=1e-2)
    step = 1e-6
    ends = [proximal.slope_along(losses, f, df, db, t + side * step, 0, N) for side in (-1, 1)]
    assert proximal.slope_along(losses, f, df, db, t, 0, N)[1] == pytest.approx(
        (ends[1][0] - ends[0][0]) / (2 * step), rel=1e-4
    )
    v, middle = np.empty(N), np.where(losses.kink == 0, 0.5 * (losses.lower + losses.upper), 0.0)
    proximal.guess(losses, f, p, 1.0, v, 0, N)
    close(v, rounded(losses, f, middle, p), atol=1e-3)


def some_pieces(rng):
    losses = some_losses(rng)
    sign = rng.choice([-1.0, 1.0], N)  # u = -sign a
    numbers = losses.target, losses.kink, losses.quad, losses.lower, losses.upper
    return dual_prox.Pieces(sign, *numbers, 0.5 + rng.random(N))


def test_proximal_steps_in_a_box(rng):
    pieces, centre, f, along = some_pieces(rng), 0.1 * rng.normal(size=N), *rng.normal(size=(2, N))
    lengths, step, t, b = dual_prox.Lengths(np.empty(N), np.empty(N)), 0.8, 0.4, -0.2
    dual_prox.scales(pieces, step, lengths)
    line, u = dual_prox.Line(centre, f, along), np.empty(N)
    total, slope, size, work, cross = dual_prox.respond(pieces, lengths, line, t, b, 0, N, u)
    grid = np.linspace(pieces.lo, pieces.hi, 4001)
    scores = f + t * along + b
    values = (
        (pieces.lin - pieces.sign * scores) * grid - pieces.kink * np.abs(grid) - 0.5 * pieces.quad * grid**2
    )
    values -= (-pieces.sign * grid - centre) ** 2 / (2 * step * pieces.p)
    best = np.take_along_axis(grid, values.argmax(axis=0)[None], axis=0)[0]
    close(u, -pieces.sign * best, atol=1e-3)
    close([total, size, work], [u.sum(), np.abs(u).sum(), u @ along])
    other, h = np.empty(N), 1e-6
    more = dual_prox.respond(pieces, lengths, line, t, b + h, 0, N, other)[0]
    assert slope == pytest.approx((more - total) / h, rel=1e-4)
    more = dual_prox.respond(pieces, lengths, line, t + h, b, 0, N, other)[0]
    assert cross == pytest.approx((more - total) / h, rel=1e-4, abs=1e-4)


def test_dual_points_in_a_box(rng):
    pieces, f, b = some_pieces(rng), rng.normal(size=N), 0.1
    a = 0.3 * pieces.lo + 0.7 * pieces.hi
    u, out = -pieces.sign * a, np.empty(N)
    loss, conjugate = dual_prox.values(pieces, f, b, u, 0, N)
    grid = np.linspace(pieces.lo, pieces.hi, 4001)
    heights = (
        (pieces.lin - pieces.sign * (f + b)) * grid - pieces.kink * np.abs(grid) - 0.5 * pieces.quad * grid**2
    )
    assert loss == pytest.approx(heights.max(axis=0).sum(), abs=1e-2)
    assert conjugate == pytest.approx(
        (pieces.kink * np.abs(a) + 0.5 * pieces.quad * a * a - pieces.lin * a).sum()
    )
    dual_prox.blend(u, np.zeros(N), 0.25, 0, N, out)
    close(out, 0.75 * u)
    assert dual_prox.distance(pieces.p, u, out, 0, N) == pytest.approx(((u - out) ** 2 / pieces.p).sum())
    before = u.sum()
    assert dual_prox.nudge(pieces, np.ones(N), 1e-3, 0, N, u) == pytest.approx(u.sum())
    assert u.sum() > before
    before = u.sum()
    dual_prox.absorb(pieces, 1.0, u)
    inside = (-pieces.sign * u >= pieces.lo - 1e-15) & (-pieces.sign * u <= pieces.hi + 1e-15)
    assert u.sum() == pytest.approx(before - 1.0) and inside.all()


def some_simplices(rng):
    return rng.random(N), rng.integers(0, K, N), rng.random((N, K)), np.arange(N), False


def test_proximal_steps_on_simplices(rng):
    data, step, t, b = some_simplices(rng), 0.7, 0.3, rng.normal(size=K)
    p, truth, costs, _, _ = data
    centre = np.array([nearest_in_simplex(m) for m in rng.normal(size=(N, K))])
    line = simplex_prox.Line(centre, *rng.normal(size=(2, N, K)))
    A = np.empty((N, K))
    mass, slopes, cross, work = simplex_prox.look(data, line, t, step, b, 0, N, A)
    wanted = centre + step * (line.F + t * line.along + b + costs)
    close(A, [nearest_in_simplex(m) for m in wanted], atol=1e-12)
    close(mass, p @ A)
    chosen = np.arange(N), truth
    assert work == pytest.approx(p @ ((A * line.along).sum(axis=1) - line.along[chosen]))
    other, h = np.empty((N, K)), 1e-7
    for k in range(K):
        more = simplex_prox.look(data, line, t, step, b + h * np.eye(K)[k], 0, N, other)[0]
        close((more - mass) / h, slopes[k], atol=1e-5)
    close((simplex_prox.look(data, line, t + h, step, b, 0, N, other)[0] - mass) / h, cross, atol=1e-5)
    loss, conjugate = simplex_prox.values(data, line.F, b, A, 0, N)
    heights = (line.F + b + costs).max(axis=1) - (line.F + b)[chosen]
    assert loss == pytest.approx(p @ heights) and conjugate == pytest.approx(-p @ (A * costs).sum(axis=1))
    assert simplex_prox.distance(p, A, centre, 0, N) == pytest.approx(p @ ((A - centre) ** 2).sum(axis=1))
    u = np.empty(N * K)
    simplex_prox.slope(p, truth, A, 0, N, u)
    close(u.reshape(N, K), p[:, None] * (A - np.eye(K)[truth]), atol=1e-15)
    before = p @ A
    change = simplex_prox.nudge(p, A, 1e-3 * np.array([1.0, 0.0, -1.0]), 0, N)
    close(p @ A - before, change, atol=1e-14)
    close(A.sum(axis=1), 1.0)


@pytest.mark.parametrize("entropic", [False, True])
def test_sweeps_over_simplices(rng, entropic):
    X, p, truth = rng.normal(size=(N, D)), np.full(N, 1.0 / N), rng.integers(0, K, N)
    wide = -(-K // multiclass.LANES) * multiclass.LANES
    A = np.full((N, K), 1.0 / K)
    B = p[:, None] * (np.eye(K)[truth] - A)
    W, table = np.zeros((D, wide)), np.zeros(N, multiclass.SAMPLE)
    W[:, :K] = X.T @ B / ALPHA
    table["p"], table["curvature"] = p, p * (X * X).sum(axis=1) / ALPHA
    losses = multiclass.Losses(1.0 - np.eye(K), truth, np.zeros((1, K)), entropic)
    point = multiclass.Point(A, np.full(N, -np.log(K)), W, B.sum(axis=0), np.zeros(K))
    live = multiclass.Live(np.tile(np.arange(K, dtype=np.uint8), (N, 1)), np.full(N, K, np.uint8))
    gaps = []
    for _ in range(60):
        live.number[:], live.classes[:] = K, np.arange(K, dtype=np.uint8)
        terms = multiclass.Terms(1 / ALPHA, 0.0, 0.0)
        gap, _ = multiclass.sweep(as_rows(X), losses, table, point, terms, live, rng.permutation(N), 0.1)
        gaps.append(gap)
        # no intercept: what sweeps do to h for one is taken back
        point.h[:] = 0.0
    close(A.sum(axis=1), 1.0)
    close(W[:, :K], X.T @ (p[:, None] * (np.eye(K)[truth] - A)) / ALPHA, atol=1e-10)
    assert gaps[-1] < 1e-3 * gaps[0]
    if not entropic:
        assert (live.number < K).any()  # some classes were dropped, and are let in again
        dropped = int(np.flatnonzero(live.number < K)[0])
        A[dropped] = 1.0 / K
        multiclass.readmit(np.array([dropped]), A, live)
        assert live.number[dropped] == K and sorted(live.classes[dropped].tolist()) == list(range(K))


# -- pairs of variables


@pytest.mark.parametrize("apart", [False, True])
def test_steps_on_pairs_reach_the_optimum(rng, apart):
    A = rng.normal(size=(N, 8))
    Q, p = (A @ A.T + 0.1 * np.eye(N)).astype(np.float32), rng.normal(size=N)
    v = np.where(np.arange(N) % 2, 0.5, -0.5)
    limits = smo.Limits(np.full(N, -1.0), np.full(N, 1.0), np.full(N, 0.0 if apart else 0.2), apart)
    G, sums = Q.astype(float) @ v + p, (v[v > 0].sum(), v[v < 0].sum())
    block, known = blocks.alone(Q), np.full(2, np.nan)
    steps, violation = smo.second_order(block, G, v, limits, 10**4, 1e-6, 1e-12, known, smo.unseen())
    assert 0 < steps < 10**4 and violation <= 1e-6
    close(G, Q.astype(float) @ v + p, atol=1e-4)
    if apart:
        close((v[v > 0].sum(), v[v < 0].sum()), sums, atol=1e-9)
    assert v.sum() == pytest.approx(sum(sums), abs=1e-9) and (np.abs(v) <= 1).all()

    def value(v):
        return 0.5 * v @ Q.astype(float) @ v + p @ v + limits.kink @ np.abs(v)

    for _ in range(200):
        i, j = rng.choice(N, 2, replace=False)
        other = v.copy()
        other[i] += 1e-2
        other[j] -= 1e-2
        if np.abs(other).max() <= 1 and (not apart or np.isclose(other[other > 0].sum(), sums[0])):
            assert value(other) >= value(v) - 1e-7


@pytest.mark.parametrize("rule", [pairs.RANDOM, pairs.GREEDY, pairs.VIOLATION, pairs.SECOND_ORDER])
@pytest.mark.parametrize("bound", [0.0, 50.0])
def test_every_rule_for_pairs_goes_down(rng, rule, bound):
    n = 8
    A, p, y = rng.normal(size=(n, n)), rng.normal(size=n), rng.choice([-1.0, 1.0], n)
    Q, x = A @ A.T, np.full(n, 0.5)
    g, kept, before = Q @ x + p, y @ x, 0.5 * x @ Q @ x + p @ x
    first = 0.5 * x @ Q @ x + p @ x
    for draws in rng.random((60, 5, 2)):
        done = pairs.pair_steps(Q, g, y, x, np.zeros(n), np.ones(n), rule, bound, draws, 1e-12)
        now = 0.5 * x @ Q @ x + p @ x
        assert now <= before + 1e-12 and ((x >= 0) & (x <= 1)).all() and 0 <= done <= 5
        before = now
    close(g, Q @ x + p, atol=1e-10)
    assert y @ x == pytest.approx(kept) and before < first
