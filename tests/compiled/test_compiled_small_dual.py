"""The parts of a fit by sweeps in one call: the best intercept, when it is given up, what b does."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from gapfit.compiled import small_dual
from gapfit.compiled.small_model import Losses
from gapfit.losses.atoms import Atoms
from kernels import entry


def losses_of(rng, n, kind):
    """Lines, parabolas with ends, or entropies."""
    p, none = rng.random(n) + 0.1, np.zeros(n)
    p /= p.sum()
    if kind == "entropies":
        up = rng.random(n) < 0.5
        up[:2] = True, False
        return Losses(none, none, none, np.where(up, 0.0, -p), np.where(up, p, 0.0), p, p)
    kink = np.full(n, 0.2 * (rng.random() < 0.5))
    return Losses(rng.normal(size=n), kink, none if kind == "lines" else 1 / p, -p, 0.6 * p, none, p)


def risk(losses, f, b):
    margin = losses.target - f - b
    if losses.entropy.any():
        return float((losses.p * np.logaddexp(0, np.where(losses.upper > 0, margin, -margin))).sum())
    atoms = Atoms(np.ones(len(f)), losses.target, losses.kink, losses.quad, losses.lower, losses.upper, 0.0)
    return float(atoms.maximise(f, b)[0].sum())


@pytest.mark.parametrize("kind", ["lines", "parabolas", "entropies"])
@pytest.mark.parametrize("seed", range(20))
def test_the_best_intercept(kind, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    losses, f = losses_of(rng, n, kind), rng.normal(size=n)
    b = entry(small_dual._best_b)(losses, f.copy(), float(rng.normal()), np.empty((2, 2 * n)))
    least = minimize_scalar(
        lambda x: risk(losses, f, x), bounds=(-20, 20), method="bounded", options={"xatol": 1e-10}
    )
    assert risk(losses, f, b) <= least.fun + 1e-12


def test_the_intercept_moves_with_what_losses_need():
    rng = np.random.default_rng(0)
    for kind in ("lines", "parabolas", "entropies"):
        assert 0 < entry(small_dual._offset_per_imbalance)(losses_of(rng, 30, kind)) < np.inf
    losses = losses_of(rng, 30, "parabolas")._replace(lower=np.full(30, -np.inf), upper=np.full(30, np.inf))
    np.testing.assert_allclose(entry(small_dual._offset_per_imbalance)(losses), 8.0)  # curvatures add up to 1


def test_progress_is_judged_by_its_rate():
    slow = entry(small_dual._is_slow)
    turns = np.arange(10)
    assert not slow(0.1**turns, 6, 1e-9, 16.0)
    assert slow(0.9**turns, 6, 1e-9, 16.0)
    assert not slow(0.9**turns, 6, 1e-9, 300.0)
    assert slow(np.ones(10), 6, 1e-9, 300.0)
