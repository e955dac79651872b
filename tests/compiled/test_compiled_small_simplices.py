"""Dual points of losses over classes: on their simplices and balanced, in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from gapfit.compiled import small_simplices
from gapfit.compiled.rows import as_rows
from gapfit.compiled.small_curved import CLASSES, Curved
from gapfit.design.memory import MemoryDesign
from kernels import entry

put_shares = entry(small_simplices.put_shares)


def task_of(rng, y, p, free):
    rows = as_rows(*MemoryDesign(rng.normal(size=(len(y), 2))).rows())
    return Curved(rows, CLASSES, 2, y.astype(float), p / p.sum(), 0.1, free)


@pytest.mark.parametrize("seed", range(100))
def test_dual_points_are_feasible_without_a_doubt(seed):
    rng = np.random.default_rng(seed)
    n, K = int(rng.integers(2, 60)), int(rng.integers(2, 6))
    p = 10.0 ** rng.uniform(-rng.choice([0, 3, 12]), 0, n)
    task = task_of(rng, rng.integers(0, K, n), p, free=rng.random() < 0.7)
    f = rng.normal(size=(n, K)) * 10.0 ** rng.uniform(-2, rng.choice([0, 3]))
    f[np.arange(n), task.y.astype(int)] += rng.choice([0, 30, 300])
    shares = np.exp(f - f.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    dual = np.zeros((n, K))
    found = put_shares(task, shares, dual, np.zeros(K), np.zeros(K))
    exact = [[Fraction(x) for x in row] for row in dual.tolist()]
    assert not any(map(sum, exact))
    for i, row in enumerate(exact):
        row[int(task.y[i])] += Fraction(task.p[i])
        assert min(row) >= 0
    balanced = not any(sum(map(Fraction, column)) for column in dual.T.tolist())
    assert not task.free or found == balanced


@pytest.mark.parametrize("seed", range(60))
def test_shares_that_can_be_balanced_are(seed):
    rng = np.random.default_rng(seed)
    n, K = int(rng.integers(5, 60)), int(rng.integers(2, 6))
    p = 10.0 ** rng.uniform(-rng.choice([0, 3]), 0, n)
    task = task_of(rng, rng.permutation(np.arange(n) % K), p, free=True)
    shares = np.exp(rng.normal(size=(n, K)) * 10.0 ** rng.uniform(-2, 0))
    shares /= shares.sum(axis=1, keepdims=True)
    dual = np.zeros((n, K))
    assert put_shares(task, shares, dual, np.zeros(K), np.zeros(K))
    assert not any(sum(map(Fraction, column)) for column in dual.T.tolist())


def test_those_that_are_balanced_hardly_move():
    rng = np.random.default_rng(0)
    task = task_of(rng, np.repeat([0, 1, 2], 10), np.ones(30), free=True)
    shares, dual = np.full((30, 3), 1 / 3), np.zeros((30, 3))
    assert put_shares(task, shares, dual, np.zeros(3), np.zeros(3))
    dual[np.arange(30), task.y.astype(int)] += task.p
    np.testing.assert_allclose(dual, 1 / 90, rtol=1e-12)
