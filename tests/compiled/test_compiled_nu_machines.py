"""What proofs of nu machines rest on, against fractions."""

from fractions import Fraction

import numpy as np
import pytest

from gapfit.compiled import blocks, machine_proofs, nu_machines, smo


def sides(seed):
    """Of one machine, with ties, and room to write to."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    y = rng.permutation(np.where(np.arange(n) % 2, 1.0, -1.0))
    p = rng.choice([0.1, 0.3, 1.0], n) * (1 if rng.random() < 0.5 else rng.random(n))
    p /= p.sum()
    half = float(rng.uniform(0.05, 0.95)) * min(p[y > 0].sum(), p[y < 0].sum())
    first = np.array([0, n])
    rest = blocks.Parts(np.arange(n), first, first, np.array([0, 1]))
    return rng, nu_machines.Sides(y, p, half), rest, np.empty((2, n))


@pytest.mark.parametrize("seed", range(20))
def test_the_risk_is_the_largest_sum_over_shares(seed):
    rng, known, rest, room = sides(seed)
    n, (y, p, half) = len(known.y), known
    scores = rng.normal(size=n).round(int(rng.integers(0, 3)))
    *ends, risk, size = nu_machines.above(known, rest, 0, scores, room)
    exact = Fraction(0)
    for sign, end in zip((1, -1), ends, strict=True):
        left = Fraction(half)
        for margin, share in sorted((sign * scores[i], p[i]) for i in range(n) if y[i] == sign):
            taken = min(left, Fraction(share))
            exact -= taken * Fraction(margin)
            left -= taken
        assert left == 0 and end in sign * scores[y == sign]
    assert abs(Fraction(risk) - exact) <= Fraction(1e-16) * (n + 8) * Fraction(size)


@pytest.mark.parametrize("seed", range(20))
def test_shares_can_be_scaled_down_to_what_is_feasible(seed):
    rng, known, rest, room = sides(seed)
    n, (y, p, half) = len(known.y), known
    v = np.empty(n)
    nu_machines.begin(known, rest, np.array([0.3]), v)
    u = -0.3 * v * (1 + rng.choice([0.0, 1e-15, 1e-6]) * rng.normal(size=n))
    u = np.clip(u, np.where(y > 0, -p, 0), np.where(y > 0, 0, p))
    before = u.copy()
    off = nu_machines.below(known, rest, 0, u, room[0])
    assert (np.abs(u) <= p).all() and (u * y <= 0).all()
    assert np.abs(u - before).max() <= 1e-5
    for sign in (1, -1):
        total = sum(Fraction(abs(x)) for x in u[y == sign])
        assert Fraction(half) <= total <= Fraction(half) * (1 + Fraction(off) * (1 + Fraction(1e-14)))


@pytest.mark.parametrize("seed", range(10))
def test_margins_are_those_at_which_the_shares_end(seed):
    rng, known, rest, room = sides(seed)
    n = len(known.y)
    Z, w, margins = rng.normal(size=(n, 3)), rng.normal(size=n), nu_machines.Margins(*np.empty((3, 1)))
    given = machine_proofs.Given(Z @ Z.T, rest, np.array([0.3]), np.linalg.norm(Z, axis=1))
    nu_machines.put_margins(known, given, w, np.empty(n), margins)
    scores = given.K @ w
    right, left, _, _ = nu_machines.above(known, rest, 0, scores, room)
    largest = np.abs(scores).max()
    np.testing.assert_allclose(
        np.ravel(margins), ((left - right) / 2, abs(left + right) / 2, largest), atol=1e-13 * largest
    )


@pytest.mark.parametrize("seed", range(5))
def test_boxes_are_those_of_the_labels(seed):
    _, known, rest, _ = sides(seed)
    y, p, _ = known
    lower, upper, low, high, lengths = np.empty((5, len(y)))
    given = machine_proofs.Given(np.diag(np.arange(len(y)) ** 2.0), rest, np.array([0.5]), lengths)
    limits = smo.Limits(low, high, np.zeros(len(y)), True)
    least = nu_machines.set_up(known, given, lower, upper, limits)
    np.testing.assert_allclose((low, high, lengths), (-2 * upper, -2 * lower, np.arange(len(y))), rtol=1e-14)
    np.testing.assert_array_equal(lower, np.where(y > 0, -p, 0.0))
    np.testing.assert_array_equal(upper, np.where(y > 0, 0.0, p))
    assert least == pytest.approx(min(p[y > 0].sum(), p[y < 0].sum()), rel=1e-14)
