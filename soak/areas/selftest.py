"""What the watch must notice, for the soak's own tests: cases that hang, die, eat memory, raise or fail."""

import os
import time
from collections.abc import Callable

from soak.job import Job
from soak.outcome import Outcome

CASES = 6
LIMIT = 2.0
WARM = 10.0
FIGURE = "nothing"


def run(job: Job) -> Outcome:
    """One of them, by number."""
    return _TROUBLES[job.case]()


def _hang() -> Outcome:
    while True:
        time.sleep(1.0)


def _die() -> Outcome:
    os._exit(3)


def _eat() -> Outcome:
    bytearray(2**40)
    return Outcome(1)


def _raise() -> Outcome:
    raise RuntimeError("not caught")


def _fail() -> Outcome:
    outcome = Outcome()
    outcome.expect(False, "told", "a rule that does not hold")
    return outcome


def _work() -> Outcome:
    return Outcome(1)


_TROUBLES: tuple[Callable[[], Outcome], ...] = (_work, _hang, _die, _eat, _raise, _fail)
