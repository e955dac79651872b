"""Many machines in one kernel matrix, against the same sums in NumPy, machine by machine."""

import numpy as np
import pytest

from gapfit.compiled import blocks, machines, slopes, smo
from kernels import entry

N, FIRST = 14, np.array([0, 5, 12, 26])
ROWS = np.array([0, 1, 2, 7, 8, 1, 3, 4, 5, 9, 12, 13, *range(N)])
RUN = np.array([0, 3, 5, 6, 9, 10, 12, 26])
PARTS = blocks.Parts(ROWS, FIRST, RUN, np.array([0, 2, 6, 7]))
PIECES = [slice(0, 5), slice(5, 12), slice(12, 26)]
ALPHA = np.array([0.1, 2.0, 0.5])
put_dual_point = entry(machines.put_dual_point)
close = np.testing.assert_allclose


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def K(rng):
    Z = rng.normal(size=(N, 20))
    return Z @ Z.T / 20


def ascent(v, G, count=3):
    """Machines that begin there."""
    rest = *np.zeros((2, len(v))), np.zeros(len(v), np.int64)
    return machines.Ascent(v, G, *rest, np.zeros(count, np.int64), np.full(count, np.inf))


def test_machines_begin_with_their_slopes_and_units(rng, K):
    target, v, scale = rng.normal(size=FIRST[-1]), rng.normal(size=FIRST[-1]), np.empty(3)
    target[PIECES[1]] = 0.0
    target[PIECES[2]] = v[PIECES[2]] = 0.0
    at = ascent(v, np.empty_like(v))
    machines.begin(K, PARTS, target, at, scale)
    f = [K[np.ix_(ROWS[here], ROWS[here])] @ v[here] for here in PIECES]
    close(at.G, np.concatenate(f) - target, atol=1e-13)
    close(scale, (np.abs(target[PIECES[0]]).mean(), np.sqrt(np.square(f[1]).mean()), 1.0))


def test_dual_points_of_coefficients_at_bounds_are_beyond_theirs(rng):
    v = np.concatenate([[1.0, -1.0], rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], 20)])
    limits, u = smo.Limits(*np.ones((2, len(v))) * [[-1.0], [1.0]], np.zeros_like(v), False), np.empty_like(v)
    put_dual_point(0.3, v, limits, u)
    close(u, -0.3 * v * np.where(np.abs(v) == 1.0, 1 + 1e-6, 1.0), rtol=1e-12, atol=0)
    v[3] = np.inf  # after an overflow
    put_dual_point(0.3, v, limits, u)
    assert u[3] == 0.0 and np.isfinite(u).all()


def test_dual_points_are_balanced_machine_by_machine(rng):
    size = FIRST[-1]
    u, p, upper, out = rng.normal(size=size), np.ones(size), rng.random(size), np.empty(size)
    lower, k = -rng.random(size), -1
    while (k := machines.project(PARTS, k + 1, u, p, lower, upper, (0.0, 1e-15), out)) < 3:
        out[PIECES[k]] = 0.0  # it takes a longer search
    for here in PIECES:
        assert abs(out[here].sum()) <= 1e-14 and (out >= lower).all() and (out <= upper).all()


def test_each_machine_ascends_to_its_own_target(rng, K):
    y = rng.choice([-1.0, 1.0], FIRST[-1])
    y[FIRST[:-1]], y[FIRST[:-1] + 1] = 1.0, -1.0
    limits = smo.Limits(np.minimum(y, 0.0), np.maximum(y, 0.0), np.zeros_like(y), False)
    at = ascent(np.zeros_like(y), -y)
    v, G, u, sides, since, taken, violation = at
    way = machines.Way(y, *np.zeros((2, 3, 12)), np.zeros(3, np.int64), np.zeros(3, bool), 0.0)
    machines.ascend(K, PARTS, ALPHA, at, limits, (2000, 0), np.array([1e-6, np.inf, 1e-6]), way)
    assert ((since > 0) == (v != 0)).all() and (since <= taken.repeat(np.diff(FIRST))).all()
    close(sides, np.sign(v) * (1 + (np.abs(v) == 1)))
    close(u, -ALPHA.repeat(np.diff(FIRST)) * v, atol=1.01e-6)
    assert taken[1] == 0 and taken[0] > 0 and taken[2] > 0 and (violation[[0, 2]] <= 1e-6).all()
    for k, here in ((0, PIECES[0]), (2, PIECES[2])):
        slopes = K[np.ix_(ROWS[here], ROWS[here])] @ v[here] - y[here]
        close(G[here], slopes, atol=1e-12)
        assert abs(v[here].sum()) <= 1e-12
        rising, falling = v[here] < limits.upper[here], v[here] > limits.lower[here]
        assert slopes[falling].max() - slopes[rising].min() <= 2e-6
        assert violation[k] >= 0 or not falling.any()


def test_a_machine_ends_where_its_gap_is_small_enough(rng, K):
    """J at the middle of the slopes less the dual objective, with many digits."""
    y = rng.choice([-1.0, 1.0], FIRST[-1])
    y[FIRST[:-1]], y[FIRST[:-1] + 1] = 1.0, -1.0
    limits = smo.Limits(np.minimum(5 * y, 0.0), np.maximum(5 * y, 0.0), np.zeros_like(y), False)
    steps = []
    for aim in (0.5, 0.05, 0.0):
        at = ascent(np.zeros_like(y), -y)
        v = at.v
        way = machines.Way(y, *np.zeros((2, 3, 12)), np.zeros(3, np.int64), np.zeros(3, bool), aim)
        machines.ascend(K, PARTS, ALPHA, at, limits, (2000, 0), np.full(3, 1e-12), way)
        steps.append(at.taken)
        for k, here in enumerate(PIECES):
            Q, mine, target = K[np.ix_(ROWS[here], ROWS[here])], v[here], y[here]
            f = Q @ mine
            low = mine @ target - mine @ f / 2
            kinks = np.append(target - f, 0.0)
            J = min(mine @ f / 2 + 5 * np.maximum(0, 1 - target * (f + b)).sum() for b in kinks)
            assert way.met[k] == (aim > 0)
            assert J - low <= aim * J + 1e-9
    assert (steps[0] <= steps[1]).all() and (steps[1] < steps[2]).all()


def test_where_the_sides_stay_apart_the_gap_is_that_at_two_middles(rng, K):
    """Least costs of moving what either side has to where its slopes are lowest."""
    y = rng.choice([-1.0, 1.0], FIRST[-1])
    y[FIRST[:-1]], y[FIRST[:-1] + 1] = 1.0, -1.0
    limits = smo.Limits(np.minimum(y, 0.0), np.maximum(y, 0.0), np.zeros_like(y), True)
    v = 0.4 * y
    G = np.concatenate([K[np.ix_(ROWS[here], ROWS[here])] @ v[here] for here in PIECES])
    sums = [[v[here][y[here] == sign].sum() for sign in (1, -1)] for here in PIECES]
    at = ascent(v, G)
    violation = at.violation
    way = machines.Way(0 * y, *np.zeros((2, 3, 12)), np.zeros(3, np.int64), np.zeros(3, bool), 1e-3)
    machines.ascend(K, PARTS, ALPHA, at, limits, (2000, 0), np.full(3, 1e-13), way)
    assert (v * y >= 0).all() and (np.abs(v) <= 1).all()
    for k, here in enumerate(PIECES):
        gap, size = v[here] @ G[here], 0.5 * v[here] @ G[here]
        for sign, total in zip((1, -1), sums[k], strict=True):
            mine = y[here] == sign
            assert v[here][mine].sum() == pytest.approx(total)
            slopes, left = np.sort(sign * G[here][mine]), abs(total)
            for slope in slopes:
                gap -= slope * min(left, 1.0)
                left -= min(left, 1.0)
        assert way.met[k] or violation[k] <= 1e-13
        assert gap <= 1e-3 * size * 1.01 + 1e-12


def test_rows_are_copied_when_they_are_asked_for(K):
    """Each once, and no others; of a whole matrix none is."""
    k, here = 1, PIECES[1]
    own, there = np.full((7, 7), np.nan), np.zeros(7, bool)
    block = blocks.Block(own, there, np.zeros(7), K, PARTS, k)
    row = getattr(blocks.row_of, "py_func", blocks.row_of)
    copy = getattr(blocks.copy_row, "py_func", blocks.copy_row)
    blocks_of = K[np.ix_(ROWS[here], ROWS[here])]
    copy(K, PARTS, k, 3, own[3])
    close(own[3], blocks_of[3], rtol=0)
    assert np.isnan(own[[0, 1, 2, 4, 5, 6]]).all() and blocks.alone(K).there.size == 0
    assert row(blocks.alone(K), 4) is not None and not there.any()
    assert block.K is own


def test_slopes_of_all_variables(rng):
    """By NumPy, word by word."""
    n = 60
    f, quad, target, kink = rng.normal(size=n), rng.random(n), rng.normal(size=n), rng.random(n)
    lower, upper = -rng.integers(0, 2, n).astype(float), rng.integers(1, 3, n).astype(float)
    v, fixed = np.clip(rng.integers(-1, 3, n).astype(float), lower, upper), rng.random(n) < 0.2
    v[:8] = 0.3
    kink[::2] = 0.0
    up, down = np.full((2, n), np.nan)
    highest, lowest = slopes.slopes(v, f, quad, target, kink, lower, upper, fixed, up, down)
    G = f + quad * v - target
    wanted_up = np.where((v < upper) & ~fixed, G + np.where(v >= 0, kink, -kink), np.inf)
    wanted_down = np.where((v > lower) & ~fixed, G + np.where(v > 0, kink, -kink), -np.inf)
    np.testing.assert_array_equal(up, wanted_up)
    np.testing.assert_array_equal(down, wanted_down)
    assert (highest, lowest) == (wanted_down.max(), wanted_up.min())


@pytest.mark.parametrize("apart", [False, True])
def test_which_variables_are_free(rng, apart):
    v, kink = np.array([0.0, 0.0, 1.0, -1.0, 0.5, -0.5]), np.array([0.0, 1.0, 0.0, 0.0, 1.0, 0.0])
    out = np.empty(6, dtype=bool)
    slopes.free(v, -np.ones(6), np.ones(6), kink, apart, out)
    assert out.tolist() == [not apart, False, False, False, True, True]


def test_since_when_variables_are_on_their_sides():
    lower, upper, sides, since = -np.ones(5), np.ones(5), np.zeros(5), np.zeros(5, dtype=np.int64)
    slopes.note_sides(np.array([0.0, 0.5, 1.0, -1.0, -0.2]), lower, upper, 3, sides, since)
    assert sides.tolist() == [0, 1, 2, -2, -1] and since.tolist() == [0, 3, 3, 3, 3]
    slopes.note_sides(np.array([0.0, 0.7, 0.9, -1.0, 0.2]), lower, upper, 8, sides, since)
    assert sides.tolist() == [0, 1, 1, -2, 1] and since.tolist() == [0, 3, 8, 3, 8]
