"""Compiled losses, sorts and sums over labellings, against all candidates one by one."""

from itertools import pairwise, permutations, product
from math import fsum

import numpy as np
import pytest

from gapfit.compiled import atoms, average_precision, contingency, marginals, order, quantile, rank
from gapfit.losses.atoms import Atoms

N = 40
UNIT = 2.0**-53
close = np.testing.assert_allclose


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def some_atoms(rng):
    """Of all kinds: with a kink or none, parabolas or none, bounds of zero and without."""
    quad = np.where(rng.random(N) < 0.5, 0.0, rng.random(N))
    lo, hi = (np.where(rng.random(N) < 0.3, 0.0, rng.random(N)) for _ in range(2))
    hi = np.where((quad > 0) & (rng.random(N) < 0.5), np.inf, hi)
    kink = np.where(rng.random(N) < 0.5, 0.0, rng.random(N))
    return Atoms(rng.choice([-1.0, 1.0], N), rng.normal(size=N), kink, quad, -lo, hi, 0.0)


def maximum(pieces, f):
    """Among the bounds, zero and the tops of both parabolas: the value, and a maximiser."""
    sign, lin, kink, quad, lo, hi, _ = pieces
    z = lin - sign * f
    tops = [(z + side * kink) / np.where(quad > 0, quad, 1.0) for side in (-1.0, 1.0)]
    high = np.where(np.isfinite(hi), hi, 0.0)
    candidates = [np.clip(a, lo, hi) for a in (np.zeros(N), lo, high, *tops)]
    values = np.array([z * a - kink * np.abs(a) - 0.5 * quad * a * a for a in candidates])
    best = values.argmax(axis=0)
    return values.max(axis=0), np.array(candidates)[best, np.arange(N)]


def test_the_maximum_of_atoms(rng):
    pieces, f = some_atoms(rng), 2 * rng.normal(size=N)
    value, u = np.empty(N), np.empty(N)
    atoms.maximise(pieces, (f, 0.0), 0, N, value, u)
    expected, a = maximum(pieces, f)
    close(value, expected, atol=1e-14)
    close(u, -pieces.sign * a, atol=1e-14)


def test_atoms_rise_by_no_more_than_is_said(rng):
    pieces, f, low, slack = some_atoms(rng), rng.normal(size=N), 1e-17 * rng.normal(size=N), rng.random(N)
    value, size, rise = atoms.sums_around(pieces, (f, low, 0.3, slack, UNIT), 3, N)
    here = maximum(pieces, f + 0.3)[0]
    close((value, size), (here[3:].sum(), np.abs(here[3:]).sum()), atol=1e-13)
    highest = np.maximum(*(maximum(pieces, f + 0.3 + side * slack)[0] for side in (-1.0, 1.0)))
    close(rise, np.maximum(highest - here, 0.0)[3:].sum(), atol=1e-12)


def test_what_is_certain_of_atoms_is_so_everywhere_between(rng):
    pieces, f, width = some_atoms(rng), rng.normal(size=N), 0.2 * rng.random(N)
    zero, bound, support = np.empty((3, N), bool)
    atoms.classify(pieces, (f - width, f + width, UNIT), 0, N, zero, bound, support)
    assert zero.any() and bound.any() and support.any() and not (zero & support).any()
    for share in np.linspace(-1, 1, 11):
        a = maximum(pieces, f + share * width)[1]
        assert not a[zero].any() and a[support].all()
        assert ((a == pieces.lo) | (a == pieces.hi))[bound].all()


def test_the_conjugate_of_atoms(rng):
    pieces, f = some_atoms(rng), rng.normal(size=N)
    value, a = maximum(pieces, f)
    u = -pieces.sign * a
    conjugate, size = atoms.conjugate_sums(pieces, u, 5, N)
    close(value[5:].sum() + conjugate, u[5:] @ f[5:], atol=1e-13)  # Fenchel and Young
    assert size >= abs(conjugate)


def test_sums_in_blocks_are_off_by_no_more_than_a_few_roundings(rng):
    size = 1000
    lin = 10.0 ** rng.uniform(-8, 8, size) * rng.choice([-1.0, 1.0], size)
    zero, one = np.zeros(size), np.ones(size)
    value, absolute = atoms.conjugate_sums(Atoms(one, lin, zero, zero, -one, one, 0.0), one, 0, size)
    assert abs(value - fsum(lin)) <= 40 * UNIT * absolute
    close(absolute, np.abs(lin).sum())


def test_the_worst_ranking_is_the_worst_of_all(rng):
    scores = [np.sort(rng.normal(size=size))[::-1] for size in (2, 3, 0, 2, 3, 1)]
    values, starts = np.concatenate(scores), np.cumsum([0, *map(len, scores)])
    u, total = np.empty(len(values)), 0.0
    constant = average_precision.worst_rankings(values, starts, u)
    for relevant, others in zip(scores[::2], scores[1::2], strict=True):
        if len(relevant) and len(others):
            total += max(ranking_value(relevant, others, way) for way in rankings(relevant, others))
    assert constant + u @ values == pytest.approx(total)


def rankings(relevant, others):
    return permutations(range(len(relevant) + len(others)))


def ranking_value(relevant, others, way):
    """1 - AP, and what the pairs the wrong way round add."""
    P, scores = len(relevant), np.concatenate([relevant, others])
    good = np.array([k < P for k in way])
    precision = np.cumsum(good) / np.arange(1, len(way) + 1)
    place = np.argsort(way)
    wrong = sum(scores[j] - scores[i] for i in range(P) for j in range(P, len(scores)) if place[j] < place[i])
    return 1 - precision[good].mean() + 2 / (P * len(others)) * wrong


def test_positives_below_negatives(rng):
    y, weight, scores = rng.choice([-1.0, 1.0], 12), rng.random(12), rng.normal(size=12)
    ranks, u = np.argsort(-scores).astype(np.uint32), np.zeros(12)
    total = rank.positives_below_negatives(ranks, y * weight, np.inf, u)
    pairs = [(i, j) for i in range(12) for j in range(12) if y[i] > y[j] and scores[j] > scores[i]]
    assert total == pytest.approx(sum(weight[i] * weight[j] for i, j in pairs))
    expected = np.zeros(12)
    for i, j in pairs:
        expected[i] -= weight[i] * weight[j]
        expected[j] += weight[i] * weight[j]
    close(u, expected, atol=1e-14)
    top = ranks[y[ranks] < 0][0]  # the highest negative, in part
    half = np.zeros(12)
    rank.positives_below_negatives(ranks, y * weight, 0.5 * weight[top], half)
    close(half[y < 0], np.where(np.arange(12) == top, 0.5 * expected, 0.0)[y < 0], atol=1e-14)


@pytest.mark.parametrize("costs", [False, True])
def test_pairs_that_are_not_far_enough_apart(rng, costs):
    runs = [7] if costs else [4, 1, 6]
    starts, n = np.cumsum([0, *runs]), sum(runs)
    scores = np.concatenate([np.sort(rng.normal(size=size))[::-1] for size in runs])
    level, weight, price = rng.integers(0, 3, n), rng.random(n), rng.random(n)
    table, u, expected, total = rng.random((3, 3)), np.empty(n), np.zeros(n), 0.0
    for a, b in pairwise(starts):
        for i, j in product(range(a, b), repeat=2):
            if level[i] < level[j] and scores[j] - scores[i] < 1:
                worth = weight[i] * (weight[j] * table[level[i], level[j]] if costs else price[j])
                total += worth
                expected[[i, j]] += worth, -worth
    if costs:
        found = rank.pairs_with_costs(scores, level, weight, table, u)
    else:
        found = rank.pairs_within_runs(scores, starts, level, weight, price, u)
    assert found == pytest.approx(total)
    close(u, expected, atol=1e-13)


def sums(values, weights):
    return np.concatenate([[0.0], np.cumsum(weights)]), np.concatenate([[0.0], np.cumsum(weights * values)])


@pytest.mark.parametrize("seed", range(5))
def test_the_best_table_of_a_ratio(seed):
    rng = np.random.default_rng(seed)
    positive, negative = (np.sort(rng.normal(size=size))[::-1] for size in (5, 6))
    c, x, d, shift, scale = 2.0, 1.0, 5.0, 0.2, (0.3, 0.2)
    found = contingency.linear_fractional(
        sums(positive, np.ones(5)), sums(negative, np.ones(6)), negative, shift, scale, c, x, d, True
    )

    def value(t, p):
        gain = scale[0] * (positive[:t] + shift).sum() + scale[1] * (negative[:p] + shift).sum()
        return -c * t / (x * t + p + d) + gain

    assert value(int(found[0]), int(found[1])) == max(value(t, p) for t in range(6) for p in range(7))


@pytest.mark.parametrize("seed", range(5))
def test_the_best_table_on_diagonals(seed):
    rng = np.random.default_rng(seed)
    positive, negative = (np.sort(rng.normal(size=size))[::-1] for size in (4, 6))
    high, slope = rng.normal(size=11), np.sort(rng.normal(size=11))
    t, p = contingency.linear_on_diagonals(high, slope, positive, negative)

    def value(t, p):
        return high[t + p] - slope[t + p] * t + positive[:t].sum() + negative[:p].sum()

    assert value(t, p) == pytest.approx(max(value(t, p) for t in range(5) for p in range(7)))


def test_sums_over_all_labellings(rng):
    thetas, height = (rng.normal(size=3), rng.normal(size=4)), rng.normal(size=(4, 5))
    height[1, 2] = -np.inf
    tables, shares = np.empty((4, 5)), [np.empty(3), np.empty(4)]
    log_z = marginals.marginals(*thetas, height, tables, *shares)
    total, expected, labelled = 0.0, np.zeros((4, 5)), np.zeros(7)
    for ybar in product((0, 1), repeat=7):
        t, p = sum(ybar[:3]), sum(ybar[3:])
        weight = np.exp(height[t, p] + np.concatenate(thetas) @ ybar)
        total, expected[t, p] = total + weight, expected[t, p] + weight
        labelled += weight * np.array(ybar)
    assert log_z == pytest.approx(np.log(total))
    close(tables, expected / total)
    close(np.concatenate(shares), labelled / total)
    counts = [
        sum(np.exp(thetas[1] @ ybar) for ybar in product((0, 1), repeat=4) if sum(ybar) == t)
        for t in range(5)
    ]
    close(np.exp(marginals.log_counts(thetas[1])), counts)


@pytest.mark.parametrize("kind", ["normal", "ties", "clusters", "outlier", "wide"])
def test_scores_are_sorted_stably(rng, kind):
    scores = {
        "normal": rng.normal(size=200),
        "ties": rng.integers(0, 5, 200).astype(float),
        "clusters": rng.integers(0, 3, 200) + 1e-9 * rng.normal(size=200),
        "outlier": np.append(rng.normal(size=199), 1e18),
        "wide": rng.choice([-1e308, 1e308, 0.0, 1.0], 200),  # the range overflows
    }[kind]
    starts, n = np.array([0, 30, 30, 200]), 200
    ranks, kept = np.empty((2, n), np.uint32)
    words, spare, values = np.empty(n, np.uint64), np.empty(n, np.uint64), np.empty(n)
    with np.errstate(over="ignore", divide="ignore"):
        order.descending(scores, starts, ranks, values, kept, words, spare)
    expected = np.concatenate([
        a + np.argsort(-scores[a:b], kind="stable") for a, b in pairwise(starts)
    ])  # fmt: skip
    assert (ranks == expected).all() and (values == scores[expected]).all()


def test_prefix_sums_keep_what_is_lost():
    values, weights, ranks = np.array([1e16, 1.0, -1e16]), np.array([1.0, 3.0, 1.0]), np.array([2, 1, 0])
    mass, moment = np.empty((2, 4))
    order.prefix_sums(values, weights, ranks, mass, moment)
    assert mass.tolist() == [0, 1, 4, 5] and moment.tolist() == [0, 1e16, 1e16 + 4, 3.0]


def test_a_window_of_positions(rng):
    positions, masses = rng.normal(size=30), rng.random(30)
    kept = np.empty(30), np.empty(30)
    count, less, inside = quantile.narrow(positions, masses, -0.5, 0.5, 5, 30, *kept)
    there = (positions >= -0.5) & (positions <= 0.5)
    there[:5] = False
    assert count == there.sum() and (kept[0][5 : 5 + count] == positions[there]).all()
    assert less == pytest.approx(masses[5:][positions[5:] < -0.5].sum())
    assert inside == pytest.approx(masses[there].sum())


@pytest.mark.parametrize("ties", [False, True])
def test_where_the_mass_reaches_a_target(rng, ties):
    for _ in range(50):
        n = int(rng.integers(1, 30))
        positions = rng.integers(-3, 4, n) / 1.0 if ties else rng.normal(size=n)
        masses, passed = rng.integers(1, 5, n) / 1.0, float(rng.integers(0, 3))
        target = passed + rng.integers(1, int(masses.sum()) + 1)
        first, mass, above = quantile.first_reaching(positions.copy(), masses.copy(), passed, target)
        reached = {x: passed + masses[positions <= x].sum() for x in positions}
        assert first == min(x for x in reached if reached[x] >= target) and mass == reached[first]
        assert above == min((x for x in reached if x > first), default=np.inf)


def test_the_best_offset_of_lines_is_where_the_sum_is_least(rng):
    for _ in range(30):
        pieces, f = some_atoms(rng)._replace(quad=np.zeros(N)), rng.normal(size=N)
        pieces = pieces._replace(hi=np.where(np.isinf(pieces.hi), 1.0, pieces.hi), total=float(rng.normal()))
        lo, hi = quantile.best_offset(pieces, f, 4, N, np.empty((2, 2 * N)))
        ends = np.where(pieces.sign > 0, [-pieces.hi, -pieces.lo], [pieces.lo, pieces.hi])[:, 4:]
        least, most = ends.sum(axis=1) + pieces.total  # the slopes far out
        if not least < 0 < most:
            assert np.isinf(lo) and np.isinf(hi)
            continue
        kinks = np.concatenate([pieces.sign * (pieces.lin + s * pieces.kink) - f for s in (-1, 1)])

        def total(b, pieces=pieces, f=f):
            return maximum(pieces, f + b)[0][4:].sum() + pieces.total * b

        smallest = min(map(total, kinks))
        close([total(lo), total(hi)], smallest, atol=1e-12)
