"""Exponentials and logarithms of many numbers at a time, against those of the library."""

import numpy as np
import pytest
from mpmath import mp

from gapfit.compiled import exponentials
from kernels import entry

put_exponentials, put_logarithms = entry(exponentials.put_exponentials), entry(exponentials.put_logarithms)
exponentiate = entry(exponentials.exponentiate)


@pytest.mark.parametrize("seed", range(20))
def test_thirteen_digits_are_right(seed):
    rng = np.random.default_rng(seed)
    n, t = int(rng.integers(1, 300)), float(rng.random())
    target, f, along = rng.normal(size=(3, n)) * 10.0 ** rng.uniform(-9, 1.5, n)
    found, logarithms = np.empty((2, n))
    put_exponentials(target, f, along, t, found)
    exact = np.exp(np.maximum(-np.abs(target - (f + t * along)), exponentials.NEGLIGIBLE))
    np.testing.assert_allclose(found, exact, rtol=1e-13)
    put_logarithms(found, logarithms)
    np.testing.assert_allclose(logarithms, np.log1p(found), rtol=1e-14)


def test_ends():
    found = np.empty(3)
    put_exponentials(np.array([0.0, 1e300, -np.inf]), np.zeros(3), np.zeros(3), 0.0, found)
    np.testing.assert_allclose(found, [1.0, np.exp(-45.0), np.exp(-45.0)], rtol=1e-13)
    put_logarithms(np.array([0.0, 1.0, 1e-300]), found)
    np.testing.assert_allclose(found, [0.0, np.log(2.0), 1e-300], rtol=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_an_exponential_is_as_near_as_proofs_count(seed):
    """Its roundings are counted with forty times as many as are made as a rule."""
    rng = np.random.default_rng([81, seed])
    x = -(10.0 ** rng.uniform(-18, 1.6, 500))
    x[:4] = 0.0, -np.inf, -45.0, -1e-300
    found = x.copy()
    exponentiate(found)
    assert found[0] == 1.0
    for value, near in zip(x, found, strict=True):
        exact = mp.exp(max(value, exponentials.NEGLIGIBLE))
        assert abs(near - exact) <= 0.25 * exponentials.ROUNDINGS * 2.0**-53 * exact
