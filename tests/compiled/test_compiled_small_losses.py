"""Losses that are rounded off, against a search among the dual variables."""

import numpy as np
import pytest
from scipy.special import entr

from gapfit.compiled import small_losses
from gapfit.compiled.small import Losses, Place
from kernels import entry

respond, rounded_part = entry(small_losses.respond), entry(small_losses.rounded_part)
P = 0.25


def response(losses, f, centre, c):
    """v, the curvature and the loss of one sample."""
    none, numbers = np.zeros(1), np.zeros((15, 1))
    place = Place(*numbers)._replace(f=none + f, centre=none + centre, hessian=np.zeros((0, 0)))
    place = place._replace(rows=np.zeros(1, np.int64), passed=np.zeros(1, np.int64))
    respond(losses, place, c, 0.0)
    return place.v[0], place.curvature[0], place.loss[0]


def losses_of(rng, kind):
    """One sample: lines, parabolas or an entropy, with ends."""
    lower, upper = (-P, 0.0) if rng.random() < 0.5 else (0.0, P)
    kink, quad, entropy, target = 0.0, 0.0, 0.0, float(rng.normal())
    if kind == "entropy":
        entropy = P
    else:
        lower, upper = sorted(rng.normal(size=2)) if rng.random() < 0.5 else (lower, upper)
        kink, quad = (
            float(rng.random() < 0.5) * rng.random(),
            float(kind == "parabola") * (0.1 + rng.random()),
        )
        lower, upper = min(lower, 0.0), max(upper, 0.0)
    return Losses(*(np.array([x]) for x in (target, kink, quad, lower, upper, entropy, P)))


def best(losses, f, rounding):
    """The largest of what is maximised, on a fine grid."""
    target, kink, quad, lower, upper, entropy, _ = (float(x[0]) for x in losses)
    v = np.append(np.linspace(lower, upper, 200_001), 0.0)
    value = (target - f) * v - kink * np.abs(v) - 0.5 * quad * v * v - rounding(v)
    if entropy:
        a = (v - lower) / entropy
        value += entropy * (entr(a) + entr(1 - a))
    return v[value.argmax()], value.max()


@pytest.mark.parametrize("kind", ["lines", "parabola", "entropy"])
@pytest.mark.parametrize("seed", range(20))
def test_responses_maximise(seed, kind):
    rng = np.random.default_rng(seed)
    losses, f, centre = losses_of(rng, kind), float(rng.normal()), float(rng.normal())
    c = np.inf if kind == "entropy" else 10 ** rng.uniform(-1, 1)
    v, curvature, loss = response(losses, f, centre, c)
    pull = (lambda v: 0.0) if c == np.inf else (lambda v: (v - centre) ** 2 / (2 * c * P))
    width = float(losses.upper[0] - losses.lower[0])
    found, value = best(losses, f, pull)
    assert abs(v - found) <= 1e-5 * max(width, 1e-3) + 2e-5
    exact = best(losses, f, lambda v: 0.0)[1]
    np.testing.assert_allclose(loss, exact, atol=1e-8)
    # the rounded loss is the plane of v, above which the true one is by its rounded part
    if kind != "entropy":
        np.testing.assert_allclose(loss - rounded_part(losses, 0, f, v, loss) - pull(v), value, atol=1e-8)
    # and its curvature is how v follows the score
    h = 1e-6
    below, above = (response(losses, f + t, centre, c)[0] for t in (-h, h))
    np.testing.assert_allclose((below - above) / (2 * h), curvature, atol=1e-4 * max(curvature, 1.0))
