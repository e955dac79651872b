"""One round of work on a cluster: submit, wait, gather; and again, when machines were lost on the way.

A lost worker costs a repetition. Tasks that were on it are computed again by the scheduler, from the source
of the data on; what came from here (weights, slices of vectors) is sent again. A lost scheduler is an error
at once, and so is a round that has not ended by its deadline: nothing waits for ever.
"""

import logging
from asyncio import wait_for
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import Any, TypeVar

from gapfit import limits
from gapfit.errors import ClusterLost

logger = logging.getLogger("gapfit")

PATIENCE = 300.0  # seconds that a round may take, repetitions included
_LOOK = 0.25  # seconds between looks at the clock, at Ctrl-C and at the scheduler
_FIRST_PAUSE = 0.2  # seconds before a repetition; then twice as long each time
_LONGEST_PAUSE = 5.0
_FETCHING = 0.1  # of the patience may pass while results that are there are fetched

Result = TypeVar("Result")


def repeated(
    client: Any, attempt: Callable[[float], Result], anew: Callable[[], None], patience: float
) -> Result:
    """What an attempt returns that is told its deadline; `anew` prepares for another one."""
    deadline, pause = monotonic() + patience, _FIRST_PAUSE
    while True:
        check_scheduler(client)
        try:
            return attempt(deadline)
        except Exception as error:
            check_scheduler(client, error)
            if not _transient(error):
                raise
            if monotonic() + pause >= deadline:
                reason = f"the cluster has not answered within {patience:g} s; the last error was {error!r}"
                raise ClusterLost(reason) from error
            logger.info("cluster: a round is repeated: %s", error)
            sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            anew()


def check_scheduler(client: Any, error: BaseException | None = None) -> None:
    """Raise ClusterLost if there is no scheduler any more."""
    comm = getattr(getattr(client, "scheduler_comm", None), "comm", None)
    if client.status != "running" or comm is None or comm.closed():
        raise ClusterLost(f"the scheduler of {client!r} is gone") from error


def finished(client: Any, futures: Sequence[Any], deadline: float) -> None:
    """Wait for the futures: until one fails, the scheduler is lost, the time is over or Ctrl-C is pressed."""
    from distributed import TimeoutError as Late
    from distributed import wait

    while True:
        limits.look()
        try:
            with client.as_current():  # the user's, which need not be Dask's default
                wait(list(futures), timeout=_LOOK, return_when="ALL_COMPLETED")
            return
        except Late:
            check_scheduler(client)
            if any(future.status in ("error", "cancelled", "lost") for future in futures):
                return  # to gather them says what it is
            if monotonic() >= deadline:
                raise Overdue("tasks have not ended") from None


def gathered(client: Any, futures: Sequence[Any], patience: float) -> list[Any]:
    """Their results. A worker that dies now takes some along, and who asks for them would wait for ever."""

    async def fetch() -> Any:
        return await wait_for(client.gather(list(futures), asynchronous=True), patience * _FETCHING)

    return list(client.sync(fetch))


class Overdue(Exception):
    """The deadline of a round has passed."""


def _transient(error: BaseException) -> bool:
    """Is it a loss on the way, and none of the work itself?"""
    from asyncio import CancelledError
    from concurrent.futures import CancelledError as Cancelled

    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    lost = (KilledWorker, CommClosedError, CancelledError, Cancelled, Overdue, ConnectionError, TimeoutError)
    return isinstance(error, lost) or type(error).__name__.startswith(("FutureCancelled", "FuturesCancelled"))
