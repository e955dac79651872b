"""What ends a fit from outside: the time it may take, and Ctrl-C.

A solver knows no clock, but the work it does can look at one. While a step runs, the deadline of its fit is
known here; products with X, tiles of kernel matrices, epochs of compiled loops and the loops of inner
problems `look` at it, and once it is passed the step is given up by `TimeUp`, which the driver takes for the
end. Between steps the driver looks itself, and a step gets a moment of grace: one that ends in time leaves a
state to go on from. Worker threads are given the deadline along with their parts.

Ctrl-C may break off a step, and nothing else. While the driver evaluates, or computes the last certificate,
it is noted and waits: a second one cannot lose what the first one asked for.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")

_GRACE = 0.3  # seconds after the deadline in which a step may still come to its end

_deadline: ContextVar[float] = ContextVar("deadline", default=float("inf"))  # by `perf_counter`
_began: ContextVar[float | None] = ContextVar("began", default=None)


class TimeUp(BaseException):
    """The deadline has passed. No error: the driver ends the fit, and users never see it."""


@contextmanager
def until(deadline: float, grace: float = _GRACE) -> Iterator[None]:
    """Give up what runs in this block some time after the deadline; an earlier one around it still holds."""
    token = _deadline.set(min(deadline + grace, _deadline.get()))
    try:
        yield
    finally:
        _deadline.reset(token)


def look(ahead: float = 0.0) -> None:
    """Raise `TimeUp` if the deadline has passed, or will have after so many seconds without a look."""
    if perf_counter() + ahead > _deadline.get():
        raise TimeUp


def keeping(work: Callable[[int], Result]) -> Callable[[int], Result]:
    """The work with the deadline that holds here, in whatever thread it runs."""
    deadline = _deadline.get()

    def limited(part: int) -> Result:
        with until(deadline, 0.0):
            return work(part)

    return work if deadline == float("inf") else limited


def left() -> float:
    """Seconds up to the deadline, for those who keep a clock of their own; infinite if there is none."""
    return max(_deadline.get() - perf_counter(), 0.0)


class Started:
    """A block in which a fit begins, before its data are validated."""

    def __enter__(self) -> None:
        self._token = _began.set(perf_counter())

    def __exit__(self, *_: Any) -> None:
        _began.reset(self._token)


def began() -> float | None:
    """When the fit around this call has `Started`; None outside of an estimator's fit."""
    return _began.get()


def remaining(max_time: float) -> float:
    """What is left of the time of the fit that has `Started`."""
    began = _began.get()
    return max_time if began is None else max(max_time - (perf_counter() - began), min(max_time, 0.0))


class Interrupts:
    """Ctrl-C in this block: raised where it may break off work (`allowed`), noted (`pressed`) elsewhere.

    Only the main thread gets signals, and a handler that somebody else has put there is left alone.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._allowed = False
        self._mine = False

    def __enter__(self) -> "Interrupts":
        here = threading.current_thread() is threading.main_thread()
        self._mine = here and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._mine:
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._mine:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Work that may be broken off."""
        self._allowed = True
        try:
            yield
        except SystemError as error:  # which compiled code makes of a Ctrl-C on its way back
            if not self.pressed:
                raise
            raise KeyboardInterrupt from error
        finally:
            self._allowed = False

    def _note(self, signum: int, frame: FrameType | None) -> None:
        self.pressed = True
        if self._allowed:
            self._allowed = False
            raise KeyboardInterrupt
