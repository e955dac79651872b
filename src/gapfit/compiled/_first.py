"""The first fit does not wait for compilation.

To compile what a fit runs takes seconds; as Python, a fit to small data takes hundredths of one. So what the
first fit of a process needs is run as Python, unless its machine code is on disk. When nothing has run so for
a second, it is compiled beside, at the latest when the process ends. A second fit that comes earlier waits
for that, as first fits did.

Both run what the source says, and a proof counts the roundings of sums in any order; but compiled loops may
fuse ``a * b + c``, so that digits of which nothing is proved may differ. ``GAPFIT_COMPILE=at_once`` in the
environment compiles at the first call.
"""

import atexit
import os
import threading
from contextlib import suppress
from functools import partial
from time import perf_counter, sleep, thread_time
from typing import Any

import numpy as np

from gapfit import limits
from gapfit.compiled._as_python import GivenUp, arrays_of, run_as_python
from gapfit.compiled._pause import paused
from gapfit.compiled._store import Store
from gapfit.compiled._watch import BESIDE, watch

with paused():
    from numba.core import dispatcher
    from numba.core.typing.typeof import Purpose, typeof

SMALL = 700_000  # numbers in the arrays of a call, at most: they are passed as Python in tenths of a second
PATIENCE = 4.0  # CPU seconds of a fit as Python, at most: to compile takes half as long again
NEVER = -1.0  # when the fit began that may still run as Python what this one could not
QUIET = 1.0  # seconds after which nobody seems to wait any more


class _Fits:
    """Which fit may run as Python, and how long it has."""

    def __init__(self) -> None:
        self.first: dict[Any, float] = {}  # when the fit began that was the first to need a function
        self.spent: dict[float | None, float] = {}  # CPU seconds as Python, by when a fit began
        self.ended = 0.0
        self.running: set[int] = set()  # threads

    def left(self, needed: Any) -> float:
        """CPU seconds that the fit around this call has to run as Python what it needs."""
        began = limits.began()
        if began is None or self.first.setdefault(needed, began) != began:
            return 0.0
        return max(PATIENCE - self.spent.get(began, 0.0), 0.0)

    def run(self, compiled: Any, arguments: tuple[Any, ...], seconds: float) -> Any:
        fit, before, here = limits.began(), thread_time(), threading.get_ident()
        self.running.add(here)
        try:
            return run_as_python(compiled, arguments, seconds)
        finally:
            self.running.discard(here)
            self.ended = perf_counter()
            self.spent[fit] = self.spent.get(fit, 0.0) + thread_time() - before


class _Beside:
    """A thread that compiles when it is quiet."""

    def __init__(self) -> None:
        self.pending: list[tuple[Any, Any]] = []
        self.thread: threading.Thread | None = None
        self.compiling = threading.Lock()
        atexit.register(self.leave)
        if hasattr(os, "register_at_fork"):  # a child must not find the thread, which it has not, at work
            let_go = self.compiling.release
            os.register_at_fork(
                before=self.compiling.acquire, after_in_parent=let_go, after_in_child=self._alone
            )

    def add(self, compiled: Any, types: Any) -> None:
        if (compiled, types) not in self.pending:
            self.pending.append((compiled, types))
        if self.thread is None or not self.thread.is_alive():
            self.thread = threading.Thread(target=self._wait, name=BESIDE, daemon=True)
            self.thread.start()

    def compile(self) -> None:
        """All there is."""
        with self.compiling, suppress(KeyboardInterrupt):
            while self.pending:
                compiled, types = self.pending.pop()
                with suppress(Exception):  # who calls it will be told
                    compiled.compile(types)

    def leave(self) -> None:
        """What the next process may find."""
        self.pending = [each for each in self.pending if isinstance(each[0]._cache, Store)]
        self.compile()

    def _wait(self) -> None:
        while fits.running or perf_counter() < fits.ended + QUIET:
            sleep(QUIET / 4)
        self.compile()

    def _alone(self) -> None:
        self.thread = None
        self.pending.clear()  # which the parent compiles
        self.compiling.release()


fits, beside = _Fits(), _Beside()


def first_as_python(compiled: Any) -> None:
    """Let a function of small arrays run as Python, while the first fit runs that needs it."""
    compile_for = compiled._compile_for_args

    def choose(*arguments: Any) -> Any:
        given = tuple(each.value if isinstance(each, dispatcher.OmittedArg) else each for each in arguments)
        if limits.began() is None or os.environ.get("GAPFIT_COMPILE") == "at_once" or not _is_small(given):
            return compile_for(*arguments)
        types = tuple(typeof(each, Purpose.argument) for each in given)
        seconds = fits.left((compiled, types))
        if not seconds or _is_stored(compiled, types):
            if beside.compiling.locked():
                watch.tell()
            return compile_for(*arguments)
        return partial(_run, compiled, types, given, seconds)

    compiled._compile_for_args = choose


def _run(compiled: Any, types: Any, given: tuple[Any, ...], seconds: float, *_: Any) -> Any:
    """In the place of machine code for these arguments."""
    try:
        result = fits.run(compiled, given, seconds)
    except GivenUp:
        fits.first[compiled, types] = NEVER
        return compiled(*given)
    beside.add(compiled, types)
    return result


def _is_small(arguments: tuple[Any, ...]) -> bool:
    """In double precision: of shorter numbers Python makes shorter results, as compiled code does not."""
    arrays = list(arrays_of(arguments))
    types = {array.dtype for array in arrays}
    types |= {each.dtype for each in arguments if isinstance(each, np.generic)}
    if any(each.kind == "f" and each.itemsize < 8 for each in types):
        return False
    return sum(array.size for array in arrays) <= SMALL


def _is_stored(compiled: Any, types: Any) -> bool:
    """Is there machine code on disk?"""
    store = compiled._cache
    return isinstance(store, Store) and store.has(types, compiled.targetctx)
