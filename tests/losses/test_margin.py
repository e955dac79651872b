"""The best intercept of the logistic loss at equal scores: the logarithm of the odds."""

import mpmath
import numpy as np
import pytest

from gapfit import Problem
from gapfit.losses import Logistic


@pytest.mark.parametrize("seed", range(12))
def test_the_odds(seed):
    """Weights of quite different size, scores far from zero."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    y = np.r_[1.0, -1.0, rng.choice([-1.0, 1.0], n - 2)]
    weight = 10.0 ** rng.uniform(-6, 6, n)
    f = float(rng.normal() * 10.0 ** rng.integers(-2, 3))
    risk = Problem(np.ones((n, 1)), y, Logistic(), alpha=1.0, sample_weight=weight).risk
    low, high = risk.best_offset(np.full(n, f))
    odds = mpmath.fsum(weight[y > 0]) / mpmath.fsum(weight[y < 0])
    assert low == high == pytest.approx(float(mpmath.log(odds) - f), rel=1e-13, abs=1e-13 * (1 + abs(f)))


def test_none_where_scores_differ_or_a_class_is_missing():
    risk = Problem(np.ones((3, 1)), [1.0, -1.0, 1.0], Logistic(), alpha=1.0).risk
    assert risk.best_offset(np.array([0.0, 1e-9, 0.0])) is None
    assert Logistic().best_offset(np.zeros(3), np.ones(3), np.full(3, 1 / 3)) is None
