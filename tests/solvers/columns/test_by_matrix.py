"""Quadratic models by their matrix: systems with few equations less, by the factor that is known."""

import numpy as np
import pytest

from gapfit.solvers.columns.bend import Bend
from gapfit.solvers.columns.by_matrix import ByMatrix


def model(rng, d):
    A = rng.standard_normal((2 * d, d)) * np.geomspace(1.0, 1e-3, d)
    return ByMatrix(A.T @ A, np.zeros(d), np.zeros(d))


def direct(H, some, l2, b):
    return np.linalg.solve(H[np.ix_(some, some)] + l2 * np.eye(len(some)), b)


@pytest.mark.parametrize("seed", range(8))
def test_fewer_and_fewer_and_others(seed):
    rng = np.random.default_rng(seed)
    d, l2 = 60, 10.0 ** rng.integers(-8, 0)
    form, some = model(rng, d), np.arange(d)
    for lost in (0, 1, 3, 2, 5, 20, 1, 0):
        some = np.sort(rng.permutation(some)[: len(some) - lost])
        b = rng.standard_normal(len(some))
        np.testing.assert_allclose(
            form.solve(some, Bend(l2), b, 0.0, None), direct(form.H, some, l2, b), rtol=1e-6, atol=1e-9
        )
    back = np.sort(rng.permutation(d)[: len(some)])  # some of which were not among the last
    b = rng.standard_normal(len(back))
    np.testing.assert_allclose(
        form.solve(back, Bend(l2), b, 0.0, None), direct(form.H, back, l2, b), rtol=1e-6, atol=1e-9
    )


def test_few_less_need_no_other_factor_and_others_do():
    form = model(np.random.default_rng(3), 40)
    form.solve(np.arange(40), Bend(0.1), np.ones(40), 0.0, None)
    first = form.factor
    form.solve(np.arange(3, 40), Bend(0.1), np.ones(37), 0.0, None)
    assert form.factor is first
    form.solve(np.arange(20, 40), Bend(0.1), np.ones(20), 0.0, None)
    assert form.factor is not first
    second = form.factor
    form.solve(np.arange(19, 39), Bend(0.1), np.ones(20), 0.0, None)
    assert form.factor is not second
