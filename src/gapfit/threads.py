"""Several cores for one fit, and the same bytes from any number of them.

Work is cut into parts by its size alone, never by the number of threads, and partial sums are added up in
the order of the parts. Threads only decide which core computes which part. Compiled loops, NumPy and SciPy
give up the interpreter lock while they run, so plain threads do.
"""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, Token
from functools import cache
from itertools import pairwise
from numbers import Integral
from typing import Any, TypeVar

import threadpoolctl
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

from gapfit import limits
from gapfit._types import Vector

Result = TypeVar("Result")

PAYS = 200_000  # multiplications in a part below which handing it to another thread costs more than it saves
FEW_PARTS = 8  # of work for which two threads or four are usual
GRAIN = 16 * PAYS  # multiplications in a part, if there are more parts than that
MOST_PARTS = 64


class _Team:
    """The threads of one fit, which has them in a block; the first part always stays with the caller's."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.pool: ThreadPoolExecutor | None = None  # started when first needed

    def submit(self, function: Callable[..., Result], *arguments: Any) -> "Future[Result]":
        if self.pool is None:
            self.pool = ThreadPoolExecutor(self.size - 1, thread_name_prefix="gapfit")
        return self.pool.submit(function, *arguments)

    def __enter__(self) -> None:
        _one_blas_thread.__enter__()
        self.token: Token[_Team] = _team.set(self)

    def __exit__(self, *_: Any) -> None:
        try:
            _one_blas_thread.__exit__()
        finally:
            _team.reset(self.token)
            if self.pool is not None:
                self.pool.shutdown(wait=True, cancel_futures=True)


_team: ContextVar[_Team] = ContextVar("team")


@cache
def _blas() -> list[Any]:
    """The libraries: to find them takes longer than a fit."""
    return [one for one in ThreadpoolController().lib_controllers if one.user_api == "blas"]


def _let_go_of_blas() -> None:
    """To threadpoolctl only the thread that has set a limit may set another, until it lets others."""
    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:  # earlier versions let everyone
        clear()


class _OneBlasThread:
    """BLAS with one thread in the whole process, from the first block that asks for it to the last one's end.

    The number of threads belongs to the process. Fits in several threads overlap, and one that put back what
    it had found would put back what another one had set.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.holders: list[int] = []  # threads, once for each block
        self.found: list[tuple[Any, int]] = []  # libraries, and their number of threads before
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._alone)

    def __enter__(self) -> None:
        with self.lock:
            if not self.holders:
                self.found = [(one, number) for one in _blas() if (number := one.num_threads) != 1]
                self._limit([(library, 1) for library, _ in self.found])
            self.holders.append(threading.get_ident())

    def __exit__(self, *_: Any) -> None:
        with self.lock:
            self.holders.remove(threading.get_ident())
            self._restore_if_free()

    def _alone(self) -> None:
        """In the child of a fork only the thread that forked lives on."""
        self.lock = threading.Lock()
        held, self.holders = self.holders, [one for one in self.holders if one == threading.get_ident()]
        if held:
            self._restore_if_free()

    def _restore_if_free(self) -> None:
        if not self.holders:
            self._limit(self.found)

    def _limit(self, numbers: list[tuple[Any, int]]) -> None:
        for library, number in numbers:
            library.set_num_threads(number)
        if numbers:
            _let_go_of_blas()


_one_blas_thread = _OneBlasThread()


def using(n_jobs: int | None) -> AbstractContextManager[None]:
    """Let the work inside use `n_jobs` threads: None for every core that is free to use, -1 for all.

    BLAS gets one: its sums would depend on the number, and to wake threads for short vectors costs more than
    they save. Inside a block for as many threads nothing is started anew.
    """
    size, outer = effective(n_jobs), _team.get(None)
    return nullcontext() if outer is not None and outer.size == size else _Team(size)


def effective(n_jobs: int | None) -> int:
    """The number of threads that `n_jobs` asks for."""
    if n_jobs is None:
        # set by users, and by joblib in its workers so that nested parallelism does not multiply
        limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
        asked = int(limit) if limit.isdigit() else 0
        if asked == 1:  # however many there are
            return 1
        return min(asked, _cores()) if asked else _cores()
    whole = type(n_jobs) is int or (isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool))
    if not whole or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or an integer other than zero, got {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else max(1, _cores() + 1 + int(n_jobs))


def _cores() -> int:
    """The cores that this process may use."""
    affinity = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    return _counted(os.environ.get("LOKY_MAX_CPU_COUNT"), affinity)


@cache
def _counted(*_what_it_depends_on: Any) -> int:
    """Control groups as well, which are files: reading them takes longer than a small fit."""
    return int(cpu_count())


def parts(rows: int, work: float, summed: float = 0.0) -> list[slice]:
    """Rows cut into as many equal parts as the work (multiplications in all) is worth.

    `summed` is what it costs to add the result of one part to the others, if there is something to add: up to
    eight parts it may be half of a part's work, and little of it if there are more.
    """
    if work < PAYS:  # as is most often so
        return [slice(0, rows)]
    few = min(work // max(PAYS, 2 * summed), FEW_PARTS)
    many = min(work // max(GRAIN, 128 * summed), MOST_PARTS)
    count = int(min(max(few, many, 1), max(rows, 1)))
    if count == 1:
        return [slice(0, rows)]
    edges = [rows * k // count for k in range(count + 1)]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def at_hand() -> int:
    """The number of threads of this fit."""
    team = _team.get(None)
    return 1 if team is None else team.size


def each(function: Callable[[Any], Result], items: Sequence[Any]) -> list[Result]:
    """function(item) for each item, on the threads of this fit; results in the order of the items."""
    limits.look()
    team = _team.get(None)
    if team is None or team.size == 1 or len(items) < 2:
        return [function(item) for item in items]
    share = min(team.size, len(items))

    def some(first: int) -> list[Result]:
        return [function(item) for item in items[first::share]]

    theirs = limits.keeping(some)
    others = [team.submit(theirs, first) for first in range(1, share)]
    token = _team.set(_Team(1))  # the others are busy: nobody is to wait for them inside
    try:
        mine = some(0)
    finally:
        _team.reset(token)
    columns = [mine, *(other.result() for other in others)]
    return [columns[k % share][k // share] for k in range(len(items))]


def total(function: Callable[[Any], Vector], items: Sequence[Any]) -> Vector:
    """The sum of function(item), always added up in the order of the items."""
    first, *others = each(function, items)
    for other in others:
        first += other
    return first
