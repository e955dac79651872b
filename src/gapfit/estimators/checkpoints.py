"""The checkpoint of an estimator: one file for all problems that a fit solves."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gapfit.checkpoint import Checkpoint, Identity

# what may change between two calls: limits, and what the result does not depend on
_FREE = ("checkpoint", "max_iter", "max_time", "tol", "n_jobs", "verbose", "warm_start")


@contextmanager
def kept(estimator: Any, data: Callable[[], Any]) -> Iterator[Checkpoint | None]:
    """The checkpoint that the estimator's parameter names, if any; the data that it is for are asked for."""
    path = estimator.checkpoint
    if path is None:
        yield None
        return
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"checkpoint must be None or the path of a file, got {path!r}")
    parameters = {
        name: value for name, value in estimator.get_params(deep=False).items() if name not in _FREE
    }
    things = {"estimator": type(estimator).__name__, **parameters, "data": data()}
    with Checkpoint(path, Identity.of(things)) as checkpoint:
        yield checkpoint
