"""What is proved of many machines in one kernel matrix, against the same in NumPy, machine by machine."""

import numpy as np
import pytest

from gapfit import proofs
from gapfit.compiled import blocks, bounds, machine_proofs, smo
from gapfit.losses.atoms import Atoms
from gapfit.rounding import Estimate
from kernels import entry

N, FIRST = 14, np.array([0, 5, 12, 26])
ROWS = np.array([0, 1, 2, 7, 8, 1, 3, 4, 5, 9, 12, 13, *range(N)])
RUN = np.array([0, 3, 5, 6, 9, 10, 12, 26])
PARTS = blocks.Parts(ROWS, FIRST, RUN, np.array([0, 2, 6, 7]))
PIECES = [slice(0, 5), slice(5, 12), slice(12, 26)]
SIZE = int(FIRST[-1])
NOISE = 1e-14
ARITHMETIC = {
    name: entry(getattr(bounds, name))
    for name in ("attained", "bounded", "square", "near_square", "left_over")
}
close = np.testing.assert_allclose


@pytest.fixture(params=range(5))
def rng(request):
    return np.random.default_rng(request.param)


@pytest.fixture
def given(rng):
    Z = rng.normal(size=(N, 20))
    K = Z @ Z.T / 20
    return machine_proofs.Given(K, PARTS, np.array([0.1, 2.0, 0.5]), np.sqrt(K.diagonal()[ROWS]))


@pytest.fixture
def hinges(rng):
    sign, zero = rng.choice([-1.0, 1.0], SIZE), np.zeros(SIZE)
    sign[FIRST[:-1]], sign[FIRST[:-1] + 1] = -1.0, 1.0
    return Atoms(sign, np.ones(SIZE), zero, zero, zero, 0.1 + rng.random(SIZE), 0.0)


def boxes(atoms):
    return np.where(atoms.sign > 0, -atoms.hi, 0.0), np.where(atoms.sign > 0, 0.0, atoms.hi)


def ends(given, atoms):
    made, zero = machine_proofs.Ends(*np.empty((3, 3))), np.zeros(SIZE)
    limits = smo.Limits(*np.empty((2, SIZE)), zero, False)
    return made, machine_proofs.set_up(given, atoms, *np.empty((2, SIZE)), limits, made)


def proved(given, atoms, w, u):
    found = machine_proofs.Found(*np.full((5, 3), np.nan), np.zeros(3, bool))
    machine_proofs.prove(given, atoms, ends(given, atoms)[0], NOISE, w, u, found)
    return found


def test_boxes_of_dual_points_and_of_coefficients(rng, given, hinges):
    lower, upper, low, high = np.empty((4, SIZE))
    hinges = hinges._replace(lo=-rng.random(SIZE))
    given.lengths[:] = np.nan
    made, limits = machine_proofs.Ends(*np.empty((3, 3))), smo.Limits(low, high, hinges.kink, False)
    machine_proofs.set_up(given, hinges, lower, upper, limits, made)
    turned = hinges.sign > 0
    np.testing.assert_array_equal(lower, np.where(turned, -hinges.hi, hinges.lo))
    np.testing.assert_array_equal(upper, np.where(turned, -hinges.lo, hinges.hi))
    alpha = given.alpha.repeat(np.diff(FIRST))
    close((low, high), (-upper / alpha, -lower / alpha), rtol=0)
    close(given.lengths, np.sqrt(given.K.diagonal()[ROWS]), rtol=1e-14)


def test_planes_at_the_ends_of_the_boxes(given, hinges):
    lower, upper = boxes(hinges)
    made, lean = ends(given, hinges)
    assert lean
    for k, here in enumerate(PIECES):
        down, up = lower[here].sum(), upper[here].sum()
        heights = [(hinges.sign * end)[here].sum() for end in (lower, upper)]
        assert made.price[k] == pytest.approx(1.01 / min(up, -down), rel=1e-13)
        assert made.highest[k] == pytest.approx(np.abs(heights).max(), rel=1e-13)
        assert made.reach[k] == pytest.approx((upper - lower)[here] @ given.lengths[here], rel=1e-13)


def test_planes_that_lean_one_way_only(given, hinges):
    one_class = hinges.sign.copy()
    one_class[PIECES[1]] = 1.0
    assert not ends(given, hinges._replace(sign=one_class))[1]
    endless = hinges.hi.copy()
    endless[3] = np.inf
    assert not ends(given, hinges._replace(hi=endless))[1]


def test_objectives_at_the_best_offset_of_each_machine(rng, given, hinges):
    w = rng.normal(size=SIZE)
    w[::3] = 0.0
    found = proved(given, hinges, w, np.zeros(SIZE))
    for k, here in enumerate(PIECES):
        scores = given.K[np.ix_(ROWS[here], ROWS[here])] @ w[here]
        sign, hi = hinges.sign[here], hinges.hi[here]

        def total(b, scores=scores, sign=sign, hi=hi):
            return (hi * np.maximum(0.0, 1 - sign * (scores + b))).sum()

        assert total(found.b[k]) == pytest.approx(min(map(total, sign - scores)))
        wanted = given.alpha[k] * w[here] @ scores / 2 + total(found.b[k])
        assert abs(found.upper[k] - wanted) <= found.upper_error[k] <= 1e-11 * abs(wanted)


def test_lower_bounds_of_balanced_dual_points(rng, given, hinges):
    """Where their minimisers are the points, no square is taken twice."""
    lower, upper = boxes(hinges)
    u = 0.5 * rng.random(SIZE) * (lower + upper)
    for here in PIECES:
        up = here.start + np.flatnonzero(u[here] > 0)
        down = here.start + np.flatnonzero(u[here] < 0)
        total = min(u[up].sum(), -u[down].sum())
        u[up], u[down] = u[up] / u[up].sum() * total, u[down] / -u[down].sum() * total
    mu = u / -given.alpha.repeat(np.diff(FIRST))
    for w, squared in ((mu, False), (rng.normal(size=SIZE), True)):
        found = proved(given, hinges, w, u)
        assert found.squared.tolist() == [squared] * 3
        for k, here in enumerate(PIECES):
            square = mu[here] @ given.K[np.ix_(ROWS[here], ROWS[here])] @ mu[here] / 2
            wanted = -(hinges.sign * u)[here].sum() - given.alpha[k] * square
            assert abs(found.lower[k] - wanted) <= found.lower_error[k] <= 1e-11 * (1 + abs(wanted))


def test_what_is_not_balanced_costs_its_share(given, hinges):
    """The further from it, the wider the error: it counts that planes at the ends are mixed in."""
    lower, upper = boxes(hinges)
    errors = [proved(given, hinges, np.zeros(SIZE), size * (lower + upper)).lower_error for size in (0, 0.1)]
    for k, here in enumerate(PIECES):
        e = abs(0.1 * (lower + upper)[here].sum())
        made, _ = ends(given, hinges)
        assert errors[1][k] - errors[0][k] >= 0.9 * made.price[k] * e * 2 * made.highest[k]


def test_its_arithmetic_is_that_of_proofs(rng):
    alpha, x, y = np.exp(rng.normal(size=3)), rng.normal(size=3), rng.normal(size=3)
    dx, dy, n = 1e-12 * rng.random(3), 1e-12 * rng.random(3), int(rng.integers(1, 1000))
    known = zip(alpha.tolist(), x.tolist(), dx.tolist(), y.tolist(), dy.tolist(), strict=True)
    for a, p, dp, q, dq in known:
        wanted = {
            "attained": ((a, p, dp, q, dq), proofs.attained(a, Estimate(p, dp), Estimate(q, dq))),
            "bounded": ((a, p, dp, q, dq), proofs.bounded(a, Estimate(p, dp), Estimate(q, dq))),
            "square": ((p, abs(p), dp, n), proofs.square(p, abs(p), dp, n)),
            "near_square": ((p, dp, a, dq), proofs.near_square(Estimate(p, dp), a, dq)),
            "left_over": ((p, dp), proofs.left_over(p, p, dp)),
        }
        for name, (arguments, result) in wanted.items():
            close(ARITHMETIC[name](*arguments), result, rtol=1e-14)
