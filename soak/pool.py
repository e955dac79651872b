"""Cases in processes of their own: one that hangs, dies or eats all memory is a failure of that case.

Each process does one case at a time and says so; the parent holds the watch. A process that is over its time
is killed, a new one takes its place, and the run goes on.
"""

import faulthandler
import multiprocessing
import os
import resource
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np

from soak.job import Job
from soak.outcome import Outcome
from soak.rules import Failure

MEMORY = 8 * 2**30  # bytes of addresses that a process may have
_WARM = 120.0


@dataclass
class Done:
    """A case that came to its end, or to an end."""

    job: Job
    outcome: Outcome
    seconds: float


def limit_of(area: str) -> float:
    """Seconds after which a case of this area hangs."""
    return float(import_module(f"soak.areas.{area}").LIMIT)


def warm_of(area: str) -> float:
    """Seconds more for the first case of an area in a process: code is loaded and compiled."""
    return float(getattr(import_module(f"soak.areas.{area}"), "WARM", _WARM))


def work(job: Job) -> Outcome:
    """Run one case here. What an area does not catch is a failure too."""
    area = import_module(f"soak.areas.{job.area}")
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            outcome: Outcome = area.run(job)
        return outcome
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"
        return Outcome(1, [Failure(f"uncaught {type(error).__name__}", text)])


def _serve(pipe: Connection, last_words: str) -> None:
    faulthandler.register(signal.SIGUSR1, open(last_words, "w"), all_threads=False)  # noqa: SIM115
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    while True:
        job = pipe.recv()
        if job is None:
            return
        began = time.perf_counter()
        pipe.send(Done(job, work(job), time.perf_counter() - began))


class _Worker:
    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        handle, self.last_words = tempfile.mkstemp(prefix="gapfit-soak-")
        os.close(handle)
        self.process: Any = context.Process(target=_serve, args=(theirs, self.last_words), daemon=False)
        self.process.start()
        theirs.close()
        self.job: Job | None = None
        self.known: set[str] = set()
        self.deadline = np.inf

    def give(self, job: Job) -> None:
        extra = 0.0 if job.area in self.known else warm_of(job.area)
        self.known.add(job.area)
        self.job, self.deadline = job, time.monotonic() + limit_of(job.area) + extra
        self.pipe.send(job)

    def place(self) -> str:
        """Where a process that hangs is, by its own account."""
        os.kill(self.process.pid, signal.SIGUSR1)
        time.sleep(1.0)
        said = Path(self.last_words).read_text().splitlines()
        ours = [line for line in said if "/gapfit/" in line]
        return (ours or said[1:] or ["an unknown place"])[0].strip()

    def end(self, *, kill: bool = False) -> None:
        if kill:
            self.process.kill()
        else:
            self.pipe.send(None)
        self.process.join(10)
        if self.process.is_alive():  # something in it goes on, and nobody waits for that
            self.process.kill()
        self.pipe.close()
        Path(self.last_words).unlink()


def run(jobs: Iterable[Job], processes: int) -> Iterator[Done]:
    """The outcomes of all jobs as they come."""
    waiting = iter(jobs)
    workers: list[_Worker] = []
    try:
        workers += [worker for worker in (_next(None, waiting) for _ in range(processes)) if worker]
        while workers:
            soonest = min(worker.deadline for worker in workers)
            ready = wait([worker.pipe for worker in workers], max(0.0, soonest - time.monotonic()))
            for worker in list(workers):
                done = _done(worker, worker.pipe in ready)
                if done is None:
                    continue
                yield done
                alive = worker if worker.process.is_alive() and worker.job is None else None
                workers.remove(worker)
                following = _next(alive, waiting)
                workers += [following] if following else []
    finally:
        for worker in workers:
            worker.end(kill=True)


def _next(worker: _Worker | None, waiting: Iterator[Job]) -> _Worker | None:
    job = next(waiting, None)
    if job is None:
        if worker is not None:
            worker.end()
        return None
    worker = worker or _Worker()
    worker.give(job)
    return worker


def _done(worker: _Worker, ready: bool) -> Done | None:
    """What a process has to say, or what is to be said of it."""
    job = worker.job
    assert job is not None
    if ready:
        try:
            done: Done = worker.pipe.recv()
            worker.job = None
            return done
        except (EOFError, ConnectionResetError):
            worker.end(kill=True)
            code = worker.process.exitcode
            return Done(job, Outcome(1, [Failure("crash", f"the process died, exit code {code}")]), 0.0)
    if time.monotonic() < worker.deadline:
        return None
    place = worker.place()
    worker.end(kill=True)
    text = f"not back after {limit_of(job.area):.0f} s: killed in {place}"
    return Done(job, Outcome(1, [Failure("hang", text)]), limit_of(job.area))
