"""Compiled steps along many alphas, called directly."""

import numpy as np
import pytest

from gapfit.compiled import lasso_path


@pytest.mark.parametrize("seed", range(4))
def test_least_squares_under_l1_at_falling_alphas(seed):
    """No derivative exceeds alpha, and those of weights in use are alpha times their signs."""
    rng = np.random.default_rng(seed)
    n, d = 30, [3, 12, 25, 40][seed]
    X = rng.normal(size=(n, d)) + rng.normal(size=(n, 1))
    X[:, 1] = X[:, 0] if seed == 1 else 0.0
    gram, cross = X.T @ X / n, X.T @ rng.normal(size=n) / n
    alphas = np.abs(cross).max() * np.array([1.1, 0.6, 0.5, 0.1])
    W, room = np.zeros((4, d)), np.zeros((8, d))
    fines, inside, active = np.full(4, 1e-6), np.zeros(d), np.zeros(d, np.int64)
    lasso_path.descend_alphas(gram, cross, alphas, fines, 500, inside, active, room, np.empty((d, d)), W)
    assert not W[0].any() and W[3].any()
    for alpha, w in zip(alphas, W, strict=True):
        slopes = gram @ w - cross
        assert np.abs(slopes).max() <= 1.0001 * alpha
        assert slopes[w != 0] == pytest.approx(-alpha * np.sign(w[w != 0]), rel=1e-3)


def test_sweeps_are_no_more_than_asked_for():
    gram, cross = np.array([[1.0, 0.999], [0.999, 1.0]]), np.array([1.0, 0.98])
    W, room, two = np.zeros((1, 2)), np.zeros((8, 2)), np.zeros(2)
    args = (np.array([1e-3]), np.array([1e-12]), 1, two, np.zeros(2, np.int64), room, np.empty((2, 2)), W)
    lasso_path.descend_alphas(gram, cross, *args)
    assert W[0, 0] == pytest.approx(0.999) or not W.any()
