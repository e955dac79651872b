"""The projection onto a box with a hyperplane, against the conditions that characterise it."""

import numpy as np
import pytest

from gapfit.projections import project_box_hyperplane


@pytest.mark.parametrize("seed", range(300))
def test_optimality(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    grid = seed % 2 == 0  # ties
    m = rng.integers(-3, 4, n) / 1.0 if grid else rng.normal(size=n)
    width = rng.integers(0, 3, n) / 1.0 if grid else rng.exponential(size=n)
    lower = (rng.integers(-2, 2, n) / 1.0) if grid else rng.normal(size=n)
    upper = lower + width
    if seed % 5 == 0:
        upper[rng.integers(n)], lower[rng.integers(n)] = np.inf, -np.inf
    sigma = rng.choice([-1.0, 1.0], n) * (1.0 if grid else rng.exponential(size=n) + 0.1)
    weights = rng.exponential(size=n) + 0.1
    feasible = np.clip(rng.normal(size=n), lower, upper)
    z = float(sigma @ feasible)
    a = project_box_hyperplane(m, lower, upper, sigma, z, weights)
    assert (a >= lower).all() and (a <= upper).all()
    assert sigma @ a == pytest.approx(z, abs=1e-10 * (1 + np.abs(sigma) @ np.abs(a)))
    for _ in range(20):  # no feasible direction improves
        other = project_box_hyperplane(a + rng.normal(size=n), lower, upper, sigma, z, weights)
        assert (weights * (a - m)) @ (other - a) >= -1e-9 * (1 + np.abs(other).max())


def test_an_infeasible_sum_is_refused():
    with pytest.raises(ValueError, match="ranges over"):
        project_box_hyperplane(np.zeros(2), np.zeros(2), np.ones(2), np.ones(2), 3.0)
