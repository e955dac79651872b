"""Vectors on a device: NumPy's functions mean there what they mean in memory."""

import math

import numpy as np
import pytest
from scipy import special

pytest.importorskip("torch", reason="devices need torch: pip install 'gapfit[gpu]'")

import torch

from gapfit.device.array import DeviceArray
from gapfit.device.functions import UFUNCS
from gapfit.elsewhere import finite, is_still, noted
from gapfit.rounding import SUM, exact_sum, gamma, plain_sum

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def there(x):
    return DeviceArray(torch.tensor(x).to(DEVICE))


def here(x):
    return x.to_host() if isinstance(x, DeviceArray) else x


@pytest.fixture
def vectors():
    rng = np.random.default_rng(0)
    return rng.normal(size=200), rng.uniform(0.1, 2.0, 200)


def domain(function, x, positive):
    """Numbers that the function takes."""
    named = function.__name__
    if named in ("log", "log1p", "sqrt", "xlogy", "xlog1py", "power"):
        return positive, positive
    if named.startswith(("logical", "bitwise", "invert")):
        return x > 0, positive > 1
    return x, positive


@pytest.mark.parametrize("function", UFUNCS, ids=lambda f: f.__name__)
def test_functions_of_entries(function, vectors):
    a, b = domain(function, *vectors)
    given = (a, b)[: function.nin]
    with np.errstate(all="ignore"):
        expected = function(*given)
    found = here(function(*map(there, given)))
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-300)
    if function.nin == 2 and function is not np.matmul:  # numbers, too, on either side
        for mixed in ((a, float(b[0])), (float(b[0]), a)):
            if a.dtype == bool:
                continue
            with np.errstate(all="ignore"):
                wanted = function(*mixed)
            got = function(*(there(x) if np.ndim(x) else x for x in mixed))
            np.testing.assert_allclose(here(got), wanted, rtol=1e-14)


CALLS = {
    "where": lambda x, p: np.where(x > 0, x, 0.0),
    "clip": lambda x, p: np.clip(x, -p, p),
    "concatenate": lambda x, p: np.concatenate([x, p]),
    "flatnonzero": lambda x, p: np.flatnonzero(x > 1),
    "full_like": lambda x, p: np.full_like(x, 3.0),
    "sum": lambda x, p: x.sum(),
    "max": lambda x, p: np.abs(x).max(initial=0.0),
    "min of none": lambda x, p: x[x > 99].min(initial=np.inf),
    "any": lambda x, p: (x > 99).any(),
    "all": lambda x, p: np.isfinite(x).all(),
    "count": lambda x, p: np.count_nonzero(x > 0),
    "cumsum": lambda x, p: np.cumsum(x),
    "sort": lambda x, p: np.sort(x),
    "order": lambda x, p: x[np.argsort(x, kind="stable")],
    "search": lambda x, p: np.searchsorted(np.sort(x), 0.3),
    "append": lambda x, p: np.append(x, 2.0),
    "repeat": lambda x, p: np.repeat(x, 3),
    "ptp": lambda x, p: np.ptp(x),
    "product": lambda x, p: x @ p,
    "slices": lambda x, p: x[3:40:7],
    "mask": lambda x, p: x[x > 0],
    "entry": lambda x, p: x[-1],
    "chain": lambda x, p: np.log1p(np.exp(-np.abs(x))) + special.xlogy(p, p) - 2.0 * x / p,
    "matrix": lambda x, p: x.reshape(-1, 4).sum(axis=1),
}


@pytest.mark.parametrize("call", CALLS)
def test_functions_of_arrays(call, vectors):
    expected = CALLS[call](*vectors)
    np.testing.assert_allclose(here(CALLS[call](*map(there, vectors))), expected, rtol=1e-13)


def test_what_is_written_to_a_slice_is_written_to_the_vector(vectors):
    x = there(vectors[0])
    np.multiply(x[:10], 2.0, out=x[:10])
    x[10:20] = 7.0
    x += 1.0
    expected = vectors[0].copy()
    expected[:10] *= 2
    expected[10:20] = 7.0
    np.testing.assert_array_equal(here(x), expected + 1.0)


def test_nothing_leaves_the_device_unless_it_is_asked_to(vectors):
    x = there(vectors[0])
    with pytest.raises(TypeError, match="to_host"):
        np.asarray(x)
    with pytest.raises(TypeError, match="fft"):
        np.fft.fft(x)
    with pytest.raises(TypeError, match="sinh is not known"):
        np.sinh(x)


@pytest.mark.parametrize("seed", range(20))
def test_exact_sums_are_exact(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 200_000))
    x = rng.normal(size=n) * 10.0 ** rng.uniform(-8, 8, n)
    x = np.concatenate([x, -x, [1.0]])
    rng.shuffle(x)
    found = exact_sum(there(x))
    assert abs(found.value - 1.0) <= found.error < 1e-6
    assert abs(plain_sum(there(x)).value - 1.0) <= plain_sum(there(x)).error


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 4097, 100_003])
def test_sums_round_no_more_often_than_is_counted(n):
    x = np.random.default_rng(n).normal(size=n) * 10.0 ** np.random.default_rng(n).uniform(-6, 6, n)
    room = gamma(SUM) * np.abs(x).sum()
    assert abs(there(x).sum() - math.fsum(x)) <= room
    assert abs(there(x) @ there(np.ones(n)) - math.fsum(x)) <= room


def test_vectors_are_known_again_until_somebody_writes_to_them():
    x = there([0.0, 1.0, 2.0])
    note = noted(x)
    assert is_still(note, x) and not is_still(note, x.copy())
    x[1] = 5.0
    assert not is_still(note, x)
    assert finite(x) and not finite(there([1.0, math.nan]))
    assert not finite(there([1.0, -math.inf]))
