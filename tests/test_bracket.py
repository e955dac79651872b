"""Newton's method within a bracket: it arrives wherever the function vanishes, however it bends."""

import math

import numpy as np
import pytest

from gapfit.bracket import Bracket

SHAPES = {
    "line": (lambda t: t, lambda t: 1.0),
    "steep, then flat": (lambda t: math.atan(50 * t), lambda t: 50 / (1 + 2500 * t * t)),
    "flat at the place": (lambda t: t**3, lambda t: 3 * t * t),
    "exponential": (lambda t: math.expm1(min(t, 700.0)), lambda t: math.exp(min(t, 700.0))),
    "no derivative told": (lambda t: math.copysign(math.sqrt(abs(t)), t), lambda t: 0.0),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(5))
def test_arrives(shape, seed):
    value, rate = SHAPES[shape]
    rng = np.random.default_rng(seed)
    place, start = rng.normal(0, 10.0 ** rng.integers(-3, 4), size=2)
    b, bracket = float(start), Bracket()
    for _ in range(2000):
        excess = value(b - place)
        if excess == 0 or (following := bracket.after(b, excess, rate(b - place))) is None:
            break
        b = following
    else:
        pytest.fail("no end")
    assert b == pytest.approx(place, rel=1e-14, abs=1e-300)


def test_a_wrong_derivative_costs_steps_only():
    b, bracket, steps = 100.0, Bracket(), 0
    while b is not None and b != 3.0 and steps < 2000:
        b, steps = bracket.after(b, b - 3.0, 1e-9), steps + 1
    assert steps < 200
