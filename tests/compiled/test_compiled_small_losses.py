"""Answers of rounded losses: the maximiser, by its definition."""

import numpy as np
import pytest

from gapfit.compiled import small_losses
from gapfit.compiled.small_model import Losses
from kernels import entry

response = entry(small_losses.response)


@pytest.mark.parametrize("seed", range(60))
def test_no_dual_variable_does_better(seed):
    rng = np.random.default_rng(seed)
    p, lower, upper = rng.random(1) + 0.1, -rng.random(1), rng.random(1)
    target, kink = rng.normal(size=1), rng.random(1) * (rng.random() < 0.5)
    quad = 10.0 ** rng.uniform(-1, 1, 1) * (rng.random() < 0.7)
    losses = Losses(target, kink, quad, lower, upper, np.zeros(1), p)
    f, centre, c = float(rng.normal()), float(rng.uniform(lower[0], upper[0])), 10.0 ** rng.uniform(-2, 2)
    v, curvature, loss = response(losses, 0, f, centre, c)

    def worth(v, pull):
        here = (target[0] - f) * v - kink[0] * np.abs(v) - 0.5 * quad[0] * v * v
        return here - 0.5 * pull * (v - centre) ** 2

    others, pull = np.linspace(lower[0], upper[0], 2001), 1.0 / (c * p[0])
    assert worth(v, pull) >= worth(others, pull).max() - 1e-12
    assert loss >= worth(others, 0.0).max() - 1e-12  # the loss itself is not rounded off
    inside = lower[0] < v < upper[0] and (kink[0] == 0 or v != 0)
    np.testing.assert_allclose(curvature, 1.0 / (quad[0] + pull) if inside else 0.0, rtol=1e-12)
