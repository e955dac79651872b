"""Which rows are equal: see `gapfit.compiled.duplicates`."""

import numpy as np
import pytest

from gapfit.compiled.duplicates import sort_by_buckets


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 100, 1023, 1024, 1025])
@pytest.mark.parametrize("kept", [64, 60, 8, 1, 0])
def test_numbers_are_sorted_however_they_are_spread(count, kept):
    """Evenly in their first bits, as hashes are, or in a few or none of these."""
    rng = np.random.default_rng(count + kept)
    numbers = rng.integers(0, 2**64, count, np.uint64)
    numbers = numbers >> np.uint64(64 - kept) if kept else np.zeros(count, np.uint64)
    begins, ordered = np.zeros(max(8, 1 << (count - 1).bit_length()) + 1, np.int64), np.empty_like(numbers)
    sort_by_buckets(numbers, count, begins, ordered)
    np.testing.assert_array_equal(ordered, np.sort(numbers))
