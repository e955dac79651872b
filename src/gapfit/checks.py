"""What users pass beside X: targets, weights, queries, known offsets. Errors name the culprit."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite

from gapfit._types import Indices, Vector
from gapfit.elsewhere import extremes, fetched, finite, loops_of
from gapfit.errors import as_number

_HUGE = 1e100
_LEAST = 1e-290  # of a sum of weights: parts of smaller ones lose their digits


def as_groups(groups: Any, n: int) -> NDArray[np.int64]:
    """Queries of any kind, numbered."""
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise ValueError(f"groups must hold one query a sample: shape {groups.shape}, not {(n,)}")
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def as_weights(sample_weight: Any, n: int, like: Any = None) -> Vector:
    """Non-negative weights of n samples, with a finite positive sum; by default ones, where `like` is."""
    if sample_weight is None:
        if loops_of(like) is not None:
            return np.ones_like(like)
        ones = np.empty(n)  # as `np.ones` does, in a third of the time
        ones.fill(1.0)
        return ones
    if isinstance(sample_weight, Real):  # the same for all, as in scikit-learn
        sample_weight = np.full(n, sample_weight)
    weight = as_column("sample_weight", sample_weight, n)
    least, largest = extremes(weight)
    if least < 0:
        raise ValueError("sample_weight must not be negative")
    if largest == 0:
        raise ValueError("sample_weight must not be zero for all samples")
    with np.errstate(over="ignore"):
        total = weight.sum()
    if total == np.inf:
        raise ValueError("sample_weight is too large: its sum overflows")
    if total < _LEAST:
        raise ValueError(
            f"sample_weight is too small: its sum is {total:.3g}. Only ratios count: scale all of it up"
        )
    return weight


def as_offset(offset: Any, n: int, present: Indices, scores: int) -> Vector:
    """The known part of so many scores, given for n samples of which some are present."""
    columns = [as_column("offset", column, n) for column in np.atleast_2d(np.asarray(offset).T)]
    if len(columns) * len(present) != scores:
        raise ValueError(
            f"offset has shape {np.shape(offset)}, and the loss {scores // len(present)} scores a sample"
        )
    return np.stack(columns, axis=1)[present].ravel()


def as_tolerance(tol: Any) -> float:
    """A relative gap to be met."""
    if not 0 <= (number := as_number("tol", tol)) < np.inf:
        raise ValueError(f"tol must be non-negative and finite, got {tol!r}")
    return number


def as_column(name: str, values: Any, n: int) -> Vector:
    """A finite float64 vector of length n."""
    if loops_of(values) is None:
        values = np.asarray(fetched(values))
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must be real")
    if values.dtype.kind not in "biuf":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} must hold numbers, got dtype {values.dtype}") from error
    if values.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {values.shape}")
    if len(values) != n:
        raise ValueError(f"{name} has {len(values)} values but X has {n} rows")
    column: Vector = values.astype(np.float64, copy=False)
    check_finite(name, column)
    return column


def check_finite(name: str, values: Vector) -> None:
    """Refuse what is no number, in the words of scikit-learn, whose own look takes as long as a small fit."""
    if not finite(values):
        assert_all_finite(fetched(values), input_name=name)


def agreed_groups(known: Any, given: Any) -> Any:
    """The groups of a design that knows them: those given must be the same, and need not be given."""
    if known is None or given is None:
        return given if known is None else known
    if not np.array_equal(known[1:] != known[:-1], given[1:] != given[:-1]):
        raise ValueError("groups and the design differ in where sequences begin; leave groups out")
    return given


def check_sizes(**given: Any) -> None:
    """Raise a ValueError if squares of these numbers would overflow."""
    for name, values in given.items():
        size = max(map(abs, extremes(values))) if np.ndim(values) else abs(values)
        if not size <= _HUGE:
            raise ValueError(f"{name} holds {size:.3g}; squares of such numbers overflow: scale {name} down")
