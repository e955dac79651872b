"""The arithmetic of proofs: what is exact lies within what is said, for numbers and for arrays alike."""

from fractions import Fraction

import numpy as np
import pytest

from gapfit import proofs
from gapfit.rounding import UNIT, Estimate


def drawn(rng, size=None):
    return rng.normal(size=size) * 10.0 ** rng.integers(-8, 8, size)


@pytest.mark.parametrize("seed", range(20))
def test_sums_of_what_is_known_up_to_an_error_are_known_up_to_theirs(seed):
    """Wherever the exact parts lie within their errors, by fractions."""
    rng = np.random.default_rng(seed)
    alpha, omega, risk = abs(drawn(rng)), drawn(rng), drawn(rng)
    errors = [abs(drawn(rng)) * 1e-12 for _ in range(2)]
    shares = rng.choice([-1, 0, 1], 2)
    exact = [
        Fraction(v) + int(s) * Fraction(e) for v, s, e in zip((omega, risk), shares, errors, strict=True)
    ]
    made = proofs.attained(alpha, Estimate(omega, errors[0]), Estimate(risk, errors[1]))
    J = Fraction(alpha) * exact[0] + exact[1]
    assert abs(J - Fraction(made.value)) <= Fraction(made.error)
    below = proofs.bounded(alpha, Estimate(risk, errors[1]), Estimate(omega, errors[0]))
    D = exact[1] - Fraction(alpha) * exact[0]
    assert abs(D - Fraction(below.value)) <= Fraction(below.error)


def test_arrays_are_many_numbers():
    rng = np.random.default_rng(0)
    alpha, value, error = np.abs(drawn(rng, 6)), drawn(rng, 6), np.abs(drawn(rng, 6))
    for make in (proofs.attained, proofs.bounded):
        together = make(alpha, Estimate(value, error), Estimate(error, value**2))
        for k in range(6):
            one = make(alpha[k], Estimate(value[k], error[k]), Estimate(error[k], value[k] ** 2))
            assert one == (together.value[k], together.error[k])


@pytest.mark.parametrize("n", [1, 7, 60])
def test_a_square_that_rounding_has_moved_is_within_its_error(n):
    rng = np.random.default_rng(n)
    w = drawn(rng, n)
    x = [Fraction(float(part)) for part in w]
    exact = sum(part * part for part in x) / 2
    slack = 4 * UNIT * n * float(np.abs(w) @ np.abs(w))
    made = proofs.square(float(w @ w), float(np.abs(w) @ np.abs(w)), slack, n)
    assert abs(exact - Fraction(made.value)) <= Fraction(made.error)


def test_a_vector_that_may_have_moved_has_a_square_that_may_have_moved_with_it():
    rng = np.random.default_rng(1)
    for _ in range(50):
        mu, move = rng.normal(size=4), rng.normal(size=4) * 10.0 ** rng.integers(-9, 1)
        here = Estimate(0.5 * float(mu @ mu), 1e-15 * float(mu @ mu))
        length = float(np.linalg.norm(mu))
        near = proofs.near_square(here, length, float(np.linalg.norm(move)))
        assert abs(0.5 * float((mu + move) @ (mu + move)) - near.value) <= near.error


def test_what_is_left_of_a_slope_is_paid_for_in_proportion():
    assert proofs.left_over(0.0, 0.0, 0.0) == 0.0
    assert proofs.left_over(1e-9, 1.0, 1e-12) >= 1e-9 + 1e-12
    height, spread = proofs.taken_away(0.25, -2.0, 3.0, 4.0, 5.0)
    assert (height, spread) == (0.25 * 8.0, 0.25 * 9.0)
    assert proofs.balanced(1.0, -1.0, 2.0) == 32 * UNIT
