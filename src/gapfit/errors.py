"""The typed errors of gapfit. Bad input is an ordinary ValueError or TypeError that names the argument."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray


class GapfitError(Exception):
    """Base of every error that only gapfit raises."""


class ContractError(GapfitError):
    """A loss, penalty or solver broke its promise: a lower bound exceeded an attained value."""


class UnboundedProblem(GapfitError, ValueError):
    """The objective has no minimum: it falls forever, or is approached only at infinity."""


class IncompatibleSolver(GapfitError, TypeError):
    """The solver needs something that the loss or the penalty does not offer."""


def as_numbers(name: str, values: Any) -> NDArray[np.float64]:
    """The values as an array of float64."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must hold numbers: {error}") from error


def as_number(name: str, value: Any) -> float:
    """The value if it is a real number (a bool is none); the caller checks its range."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    return float(value)
