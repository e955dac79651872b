"""Errors about X name the columns that are to blame, where these have names."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gapfit.estimators.targets import naming

_SHOWN = 5


@contextmanager
def naming_columns(X: Any, known: Any = None) -> Iterator[None]:
    """Of a data frame, those that hold something else than finite numbers; of an array that has another
    number of columns than the model knows by name, those names."""
    try:
        with naming("X"):
            yield
    except (TypeError, ValueError) as error:
        if (told := _told(X, known)) is None:
            raise
        raise type(error)(f"{error}\n{told}") from error


def _told(X: Any, known: Any) -> str | None:
    if hasattr(X, "columns"):
        wrong = [name for name in X.columns if not _is_numbers(X[name])]
        told = f"Columns of X that do not hold finite numbers: {_listed(wrong)}"
        return f"{told}. gapfit.TableEncoder makes numbers of words and fills gaps" if wrong else None
    shape: Any = getattr(X, "shape", ())
    if known is not None and len(shape) == 2 and shape[1] != len(known):
        return f"The features that the model was fitted to are {_listed(known)}"
    return None


def _is_numbers(column: Any) -> bool:
    try:
        if np.asarray(column).dtype.kind in "mM":  # times
            return False
        return bool(np.isfinite(np.asarray(column, dtype=np.float64)).all())
    except (TypeError, ValueError):
        return False


def _listed(names: Any) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown
