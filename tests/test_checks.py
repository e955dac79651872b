"""What users pass beside X: errors name the culprit."""

import numpy as np
import pytest

from gapfit.checks import as_column, as_groups, as_tolerance, as_weights


@pytest.mark.parametrize(
    ("weight", "match"),
    [
        ([1.0, -1.0], "must not be negative"),
        ([0.0, 0.0], "must not be zero for all"),
        ([1e308, 1e308], "its sum overflows"),
        ([1e-300, 1e-300], "too small"),
        ([1.0], "sample_weight has 1 values but X has 2 rows"),
        ([[1.0, 1.0]], "one-dimensional"),
        ([1.0, np.nan], "sample_weight contains NaN"),
        ([1.0, 1j], "Complex data not supported"),
    ],
)
def test_weights_that_are_none(weight, match):
    with pytest.raises(ValueError, match=match):
        as_weights(weight, 2)


def test_weights_that_are_some():
    np.testing.assert_array_equal(as_weights(None, 3), np.ones(3))
    weight = as_weights([0, 2], 2)
    assert weight.dtype == np.float64 and weight.tolist() == [0.0, 2.0]
    assert as_weights(["1", "2"], 2).tolist() == [1.0, 2.0]  # words that are numbers, as scikit-learn has it


def test_words_are_no_numbers():
    with pytest.raises(TypeError, match="y must hold numbers"):
        as_column("y", ["a", "b"], 2)


def test_queries_of_any_kind_are_numbered_in_order():
    assert as_groups(["b", "a", "b"], 3).tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="one query a sample"):
        as_groups([1, 2], 3)


@pytest.mark.parametrize("tol", [-1e-9, np.inf, np.nan])
def test_tolerances_that_are_none(tol):
    with pytest.raises(ValueError, match="tol must be non-negative and finite"):
        as_tolerance(tol)
    assert as_tolerance(0) == 0.0
