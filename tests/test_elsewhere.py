"""Vectors that are not NumPy's: what is known of them without loading what they are made of."""

import numpy as np
import pytest

from gapfit.elsewhere import as_floats, fetched, finite, is_still, loops_of, noted


class Away:
    """A vector somewhere else."""

    def __init__(self, values):
        self.values, self.loops = np.asarray(values), print

    def astype(self, dtype, copy=True):
        return Away(self.values.astype(dtype))

    def to_host(self):
        return self.values


def test_arrays_and_lists_are_what_they_are():
    x = np.arange(3.0)
    assert loops_of(x) is None and fetched(x) is x and as_floats(x) is x
    np.testing.assert_array_equal(as_floats([1, 2]), [1.0, 2.0])
    assert fetched(None) is None


def test_vectors_elsewhere_stay_there_until_they_are_fetched():
    x = Away([1, 2])
    assert loops_of(x) is print
    assert isinstance(as_floats(x), Away) and as_floats(x).values.dtype == np.float64
    np.testing.assert_array_equal(fetched(x), [1, 2])


def test_tensors_are_fetched():
    torch = pytest.importorskip("torch", reason="devices need torch: pip install 'gapfit[gpu]'")
    assert isinstance(fetched(torch.ones(3)), np.ndarray)


def test_numbers_that_are_not_finite():
    assert finite(np.array([1.0, -1e308]))
    assert not finite(np.array([1.0, np.nan])) and not finite(np.array([np.inf, 0.0]))


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("shape", [(7,), (3, 4), (0,)])
def test_what_is_finite_is_so_whatever_the_size_and_the_stride_of_numbers(kind, shape):
    rng = np.random.default_rng(0)
    for size in (1e-300, 1.0, 1e30, 1e300):
        with np.errstate(over="ignore", invalid="ignore"):
            x = np.repeat(rng.normal(size=shape) * size, 2, axis=0).astype(kind)[::2]
        assert finite(x) == np.isfinite(x).all()
        for odd in (np.nan, np.inf, -np.inf):
            if kind is not np.int64 and x.size:
                x.flat[rng.integers(x.size)] = odd
                assert not finite(x)


def test_vectors_are_known_again_by_their_numbers():
    x = np.arange(3.0)
    note = noted(x)
    assert is_still(note, x) and is_still(note, x.copy())
    x[1] = 5.0
    assert not is_still(note, x)
