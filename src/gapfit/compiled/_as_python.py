"""What is to be compiled, run as Python: the same source, whose functions call each other as such.

A run that takes too long, or trips over what Python does otherwise than compiled code (which divides by
zero), is given up and leaves all arrays as they were.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from dis import get_instructions
from functools import cache, wraps
from time import thread_time
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapfit.compiled._pause import paused

with paused():
    from numba.core import dispatcher, extending

Function = Callable[..., Any]

_COMPILED = dispatcher.Dispatcher, extending._Intrinsic


class GivenUp(Exception):
    """The run has changed nothing."""


class _TooLong(Exception):
    """Time is up in the middle of a run."""


class _Clock(threading.local):
    """Up to when functions may begin, by the time that their thread takes."""

    deadline = np.inf


_clock = _Clock()


def run_as_python(compiled: Any, arguments: tuple[Any, ...], seconds: float) -> Any:
    """What the function returns, as compiled code would; GivenUp after so many seconds of this thread."""
    kept = [(array, array.copy()) for array in arrays_of(arguments) if array.flags.writeable]
    _clock.deadline = thread_time() + seconds
    try:
        with np.errstate(all="ignore"):
            return _plain(_twin(compiled)(*arguments))
    except BaseException as error:
        for array, before in kept:
            array[...] = before
        if not isinstance(error, Exception):  # Ctrl-C, which compiled code would not have heard
            raise
        raise GivenUp from error


def arrays_of(arguments: tuple[Any, ...]) -> Iterator[NDArray[Any]]:
    """Those in records of records, too."""
    for each in arguments:
        if isinstance(each, tuple):
            yield from arrays_of(each)
        elif isinstance(each, np.ndarray):
            yield each


def _plain(result: Any) -> Any:
    """Numbers of Python."""
    if isinstance(result, tuple):
        parts = map(_plain, result)
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    return result.item() if isinstance(result, np.generic) else result


@cache
def _twin(compiled: Any) -> Function:
    """The same function; one with a loop looks at the clock before."""
    if isinstance(compiled, extending._Intrinsic):
        return _nothing
    source = compiled.py_func
    twin = FunctionType(source.__code__, _names(source.__module__), source.__name__, source.__defaults__)
    return _in_time(twin) if any("BACKWARD" in each.opname for each in get_instructions(twin)) else twin


def _nothing(*_: Any) -> None:
    """What processors are told ahead, and Python need not be."""


def _in_time(function: Function) -> Function:
    @wraps(function)
    def begin(*arguments: Any) -> Any:
        if thread_time() > _clock.deadline:
            raise _TooLong
        return function(*arguments)

    return begin


def _names(module: str) -> dict[str, Any]:
    """What functions of a file find by name: twins, where it has compiled functions."""
    if module not in _known:
        _known[module] = names = dict(vars(sys.modules[module]))  # known before twins ask for it
        ours = {name: each for name, each in names.items() if isinstance(each, _COMPILED)}
        names.update({name: _twin(each) for name, each in ours.items()})
    return _known[module]


_known: dict[str, dict[str, Any]] = {}
