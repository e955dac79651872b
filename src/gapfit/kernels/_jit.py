"""The one decorator of compiled functions.

``@jit`` compiles strictly: the sums that the source says, in the order it says.
``@jit(fast=True)`` is for solver kernels, whose results are certified elsewhere: the compiler may
fuse ``a * b + c``, ignore the sign of zero and multiply by reciprocals; ``reorder=True`` also lets
it sum in several lanes. Infinities and NaN keep their meaning throughout.

Compiled code is kept on disk. ``GAPFIT_CACHE=0`` in the environment turns that off.
"""

import os
from collections.abc import Callable
from typing import Any

import numba

Function = Callable[..., Any]


def jit(function: Function | None = None, *, fast: bool = False, reorder: bool = False) -> Function:
    """Compile at the first call, run without the interpreter lock, keep on disk where possible."""
    flags = ({"contract", "nsz", "arcp"} if fast else set()) | ({"reassoc"} if reorder else set())
    options: dict[str, Any] = {"nogil": True, "fastmath": flags or False}

    def decorate(function: Function) -> Function:
        if os.environ.get("GAPFIT_CACHE", "1") == "0":
            return numba.njit(**options)(function)
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:  # neither beside the package nor in the user's cache can numba write
            return numba.njit(**options)(function)

    return decorate if function is None else decorate(function)
