"""Dual points that are feasible without a doubt."""

from fractions import Fraction

import numpy as np
import pytest

from gapfit.compiled import small_feasible
from gapfit.compiled.small_model import Losses, Net
from kernels import entry

feasible = entry(small_feasible.feasible)


def exactly(values):
    return [Fraction(float(value)) for value in values]


def a_box(rng, n):
    """Bounds of dual variables about zero, some at it, of very different sizes; some without an end."""
    sizes = 10.0 ** rng.uniform(-6, 0, (2, n)) * (rng.random((2, n)) < 0.8)
    lower, upper = np.where(rng.random((2, n)) < 0.1, np.inf, sizes)
    return -lower, upper


@pytest.mark.parametrize("seed", range(60))
def test_dual_points_are_in_their_box_and_add_up_to_nothing(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 300))
    lower, upper = a_box(rng, n)
    p, none = np.full(n, 1 / n), np.zeros(n)
    losses = Losses(none, none, none, lower, upper, none, p)
    v = rng.normal(size=n) * 10.0 ** rng.uniform(-8, 2)
    found = feasible(losses, Net(1.0, 1.0, True, 0.0, 0.0, 0.0), v)
    inside = (lower <= v).all() and (v <= upper).all()
    balanced = sum(exactly(v)) == 0
    assert inside
    assert found == balanced
    both = lower.any() and upper.any()
    assert found or not both  # where samples pull both ways, it can be done
