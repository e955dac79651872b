"""The typed errors of gapfit. Bad input is an ordinary ValueError or TypeError that names the argument."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapfit.names import meant

__all__ = ["CheckpointError", "CheckpointWarning", "ClusterLost", "ContractError", "DataError"]
__all__ += ["GapfitError"]
__all__ += ["IncompatibleSolver", "ModelFileError", "ModelVersionWarning", "TooLarge", "UnboundedProblem"]


class GapfitError(Exception):
    """Base of every error that only gapfit raises."""


class ContractError(GapfitError):
    """A loss, penalty or solver broke its promise: a lower bound exceeded an attained value."""


class UnboundedProblem(GapfitError, ValueError):
    """The objective has no minimum: it falls forever, or is approached only at infinity."""


class TooLarge(GapfitError, MemoryError):
    """What was asked for needs more memory than there is; the message says what would do with less."""


class ClusterLost(GapfitError, ConnectionError):
    """The scheduler of a cluster is gone, or its workers have not answered by the deadline of a round."""


class IncompatibleSolver(GapfitError, TypeError):
    """The solver needs something that the loss or the penalty does not offer."""


class DataError(GapfitError, ValueError):
    """A file does not hold what it should; the message names the file, and the line where there is one."""

    def __init__(
        self, reason: str, source: str | None = None, line: int | None = None, column: int | str | None = None
    ) -> None:
        super().__init__(reason, source, line, column)  # all of them, so that it survives a pickle
        self.reason, self.source, self.line, self.column = reason, source, line, column

    def __str__(self) -> str:
        where = [self.source] if self.source else []
        where += [f"line {self.line}"] if self.line else []
        where += [f"column {self.column}"] if self.column else []
        return f"{', '.join(where)}: {self.reason}" if where else self.reason


class ModelFileError(DataError):
    """A model file is damaged, or holds what this version of gapfit does not know."""


class CheckpointError(DataError):
    """A checkpoint is damaged, or belongs to another fit; the message says what differs and the way out."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written. The fit goes on, and an older checkpoint stays as it is."""


class ModelVersionWarning(UserWarning):
    """A newer version of gapfit wrote the model file; like scikit-learn's InconsistentVersionWarning."""

    def __init__(self, estimator_name: str, current_version: str, original_version: str) -> None:
        super().__init__(estimator_name, current_version, original_version)
        self.estimator_name = estimator_name
        self.current_version, self.original_version = current_version, original_version

    def __str__(self) -> str:
        return (
            f"this {self.estimator_name} was stored by gapfit {self.original_version}, which is newer than "
            f"{self.current_version}, the version that loads it; something new in it may be misunderstood"
        )


def as_numbers(name: str, values: Any) -> NDArray[np.float64]:
    """The values as an array of float64."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must hold numbers: {error}") from error


def as_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """The value if it is one of the names; arrays are not, and are not compared with them."""
    if not isinstance(value, str) or value not in choices:
        guess = meant(value, choices) if isinstance(value, str) else ""
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}{guess}")
    return value


def as_count(name: str, value: Any, least: int) -> int | None:
    """None, or the value if it is a whole number, and no less than that."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number or None, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")
    return int(value)


def as_costs(name: str, table: Any) -> tuple[tuple[float, ...], ...]:
    """A square table of finite numbers that are not negative; as tuples, so that losses can be compared."""
    numbers = as_numbers(name, table)
    if numbers.ndim != 2 or numbers.shape[0] != numbers.shape[1]:
        raise ValueError(f"{name} must be a square table, got shape {numbers.shape}")
    if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
        raise ValueError(f"{name} must hold finite numbers that are not negative")
    return tuple(tuple(row) for row in numbers.tolist())


def as_positive(name: str, value: Any) -> float:
    """The value, as it is, if it is a positive and finite number."""
    if not 0 < as_number(name, value) < np.inf:
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
    return value  # type: ignore[no-any-return]


def as_share(name: str, value: Any) -> float:
    """The value, as it is, if it is a number above 0 and at most 1."""
    if not 0 < as_number(name, value) <= 1:
        raise ValueError(f"{name} must lie in (0, 1], got {value!r}")
    return value  # type: ignore[no-any-return]


def as_number(name: str, value: Any) -> float:
    """The value if it is a real number (a bool is none); the caller checks its range."""
    if type(value) is float:  # as is most often so
        return value
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    return float(value)
