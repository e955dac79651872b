"""A way for Python into functions that are for compiled code alone."""

from collections.abc import Callable
from typing import Any

import numba


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled function that does nothing but call this one."""

    def call(*given: Any) -> Any:
        return function(*given)

    return numba.njit(call)
