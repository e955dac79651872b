"""Arrays are counted where they are made, and nowhere else. What Python calls is not what others contain."""

import gc
import sys
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from gapfit.compiled._jit import jit

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


class Pair(NamedTuple):
    x: Any
    y: Any


@jit
def window(x, start):
    return x[start:]


@jit
def dot(pair, start):
    """Of parts of both, which are records and views of what it is given."""
    other, total = Pair(pair.y, pair.x), 0.0
    for row in range(start, len(other.x)):
        part = other.x[row : row + 1]
        total += part[0] * other.y[row]
    return total


@jit
def ahead(pair, start):
    """By a part that returns a view."""
    later = window(pair.x, start)
    return later.sum() + dot(pair, start)


@jit
def made(x):
    room = np.empty(len(x) + 1)
    room[:] = 0.0
    for k in range(len(x)):
        room[k] = x[k]
    return room[:-1] + x


def counted(function, *arguments):
    function(*arguments)
    (code,) = function.inspect_llvm().values()
    return "NRT_incref" in code or "NRT_decref" in code or "NRT_MemInfo" in code


def test_who_makes_no_array_counts_none():
    x = np.arange(5.0)
    assert not counted(dot, Pair(x, x), 1)
    assert counted(made, x)


def test_arrays_live_as_long_as_somebody_holds_them():
    x, y = np.arange(6.0), np.ones(6)
    pair = Pair(x, y)
    assert ahead(pair, 2) == 28.0 and dot(pair, 2) == 14.0
    before = sys.getrefcount(x), sys.getrefcount(y)
    for _ in range(100):
        ahead(pair, 2), dot(pair, 1), made(x), window(y, 1)
    assert (sys.getrefcount(x), sys.getrefcount(y)) == before
    view, twice = window(x, 4), made(x)
    del x, pair
    gc.collect()
    np.empty(6), np.empty(6)  # where the first one was, if nobody held it
    assert view.tolist() == [4.0, 5.0] and twice.tolist() == [0, 2, 4, 6, 8, 10]


def test_what_others_contain_python_calls_as_well():
    """In either order."""
    x = np.arange(4.0)

    @jit
    def inside(x):
        return x.sum()

    @jit
    def outside(x):
        return 2 * inside(x)

    assert outside(x) == 12 and inside(x) == 6 and outside(x.astype(np.float32)) == 12
    assert inside(x.astype(np.float32)) == 6


def test_operators_on_arrays_are_those_of_numpy():
    @jit
    def mixed(x, y):
        z = 2.0 * x - y
        z += -y
        return z

    x, y = np.random.default_rng(0).normal(size=(2, 9))
    np.testing.assert_array_equal(mixed(x, y), 2.0 * x - y - y)
