"""Typed errors: what they say, what they are, and that they survive a pickle."""

import pickle

import numpy as np
import pytest

from gapfit import errors
from gapfit.errors import (
    DataError,
    ModelVersionWarning,
    as_choice,
    as_costs,
    as_count,
    as_number,
    as_positive,
)


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ({}, "no number"),
        ({"source": "a.csv"}, "a.csv: no number"),
        ({"source": "a.csv", "line": 3}, "a.csv, line 3: no number"),
        ({"source": "a.csv", "line": 3, "column": "age"}, "a.csv, line 3, column age: no number"),
    ],
)
def test_a_file_is_named_with_line_and_column_where_they_are_known(where, text):
    error = DataError("no number", **where)
    assert str(error) == text
    assert str(pickle.loads(pickle.dumps(error))) == text


def test_every_error_is_also_what_people_catch():
    built_in = (ValueError, TypeError, MemoryError, ArithmeticError, ConnectionError)
    own = [getattr(errors, name) for name in errors.__all__]
    raised = [kind for kind in own if issubclass(kind, errors.GapfitError)]
    exempt = {errors.GapfitError, errors.ContractError}  # a broken part, not a wrong call
    assert {kind for kind in raised if not issubclass(kind, built_in)} == exempt
    assert all(issubclass(kind, errors.GapfitError | UserWarning) for kind in own)


def test_the_warning_of_a_newer_file_names_both_versions():
    assert "2.0" in str(ModelVersionWarning("Ranker", "1.0", "2.0"))
    assert "Ranker" in str(ModelVersionWarning("Ranker", "1.0", "2.0"))


@pytest.mark.parametrize(
    ("check", "bad", "error"),
    [
        (lambda value: as_number("x", value), "1", TypeError),
        (lambda value: as_number("x", value), True, TypeError),
        (lambda value: as_positive("x", value), 0, ValueError),
        (lambda value: as_positive("x", value), np.inf, ValueError),
        (lambda value: as_count("x", value, 1), 0, ValueError),
        (lambda value: as_count("x", value, 1), 1.5, TypeError),
        (lambda value: as_choice("x", value, ("a", "b")), "c", ValueError),
        (lambda value: as_choice("x", value, ("a", "b")), np.array(["a"]), ValueError),
        (lambda value: as_costs("x", value), [[1, 2]], ValueError),
        (lambda value: as_costs("x", value), [[1, -2], [0, 0]], ValueError),
        (lambda value: as_costs("x", value), [["a"]], TypeError),
    ],
)
def test_what_cannot_be_taken_is_named(check, bad, error):
    with pytest.raises(error, match=r"^x must"):
        check(bad)
