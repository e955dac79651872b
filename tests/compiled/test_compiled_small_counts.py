"""What is proved of counts, against sixty digits."""

import numpy as np
import pytest

from gapfit.compiled import small_counts, small_proof
from gapfit.compiled.rows import as_rows
from gapfit.compiled.small_model import Losses, Net
from gapfit.design.memory import MemoryDesign
from kernels import entry

prove, of_count = entry(small_proof.prove), entry(small_counts.of_count)


@pytest.mark.parametrize("y", [0.0, 1.0, 7.0, 1e9])
def test_answers_to_a_score(y):
    """y - mu, its derivative and the loss, weighted."""
    p, none = np.array([0.3]), np.zeros(1)
    losses = Losses(np.log([y or 1.0]), none, none, none - np.inf, p * y, -p, p)
    for f in (-40.0, -1.0, 0.0, 3.0, 20.0):
        v, curvature, loss = of_count(losses, 0, losses.target[0] - f)
        mean = np.exp(f)
        np.testing.assert_allclose(v, 0.3 * (y - mean), rtol=1e-12)
        np.testing.assert_allclose(curvature, 0.3 * mean, rtol=1e-12, atol=1e-16 * y)
        own = y * np.log(y) - y if y else 0.0
        np.testing.assert_allclose(loss, 0.3 * (mean - y * f + own), rtol=1e-9)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("largest", [3.0, 1e6])
def test_counts_have_the_digits_that_are_counted(seed, largest):
    """Against the logarithms of the counts themselves, not of their rounded ones."""
    from mpmath import mp

    rng = np.random.default_rng([seed, int(largest)])
    n, d, p = int(rng.integers(2, 30)), 3, rng.random(30) + 0.1
    p, none = p[:n] / p[:n].sum(), np.zeros(n)
    y = np.floor(largest ** rng.random(n)) * (rng.random(n) < 0.8)
    X = rng.normal(size=(n, d)) + rng.choice([0.0, 1e3])
    losses = Losses(np.log(np.where(y > 0, y, 1.0)), none, none, np.full(n, -np.inf), p * y, -p, p)
    w, b = rng.normal(size=d) * 10.0 ** rng.uniform(-6, -2), float(np.log(y.mean() + 0.5) + rng.normal())
    near = 10.0 ** rng.uniform(-17, 0, n) * rng.choice([-1.0, 1.0], n)  # to the end of the box, or to zero
    v = np.where(rng.random(n) < 0.5, losses.upper * (1 - abs(near)), near * p)
    rows, (z, spread), room = as_rows(*MemoryDesign(X).rows()), np.zeros((2, d)), np.zeros((2, 2 * n))
    found = prove(rows, losses, Net(0.0, 1.0, False, 0.0, 0.0, 0.0), w, b, v, z, spread, room)
    with mp.workdps(60):
        risk = height = mp.mpf(0)
        for i in range(n):
            score = sum((mp.mpf(x) * mp.mpf(a) for x, a in zip(X[i], w, strict=True)), mp.mpf(b))
            count, share = mp.mpf(y[i]), mp.mpf(p[i])
            own = count * mp.log(count) - count if count else mp.mpf(0)
            risk += share * (mp.exp(score) - count * score + own)
            u = -mp.mpf(v[i]) / share
            mean = max(u + count, 0)  # v is no larger than the rounded p y
            height -= share * ((mean * mp.log(mean) if mean else 0) - u - (own + count))
        assert abs(risk - found.risk) <= found.risk_error
        assert abs(height - found.height) <= found.height_error
        assert found.risk_error <= 1e-9 * (1 + found.risk) * max(1.0, abs(X).max() ** 2)
        assert found.height_error <= 1e-9 * (1 + abs(found.height) + (p * y).sum())
