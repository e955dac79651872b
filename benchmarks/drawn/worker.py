"""One process that fits, so that whatever hangs, dies or eats all memory can be ended from outside."""

import multiprocessing
import os
import resource
import time
import traceback
import warnings
from pathlib import Path

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
MEMORY = 16 << 30
SHORT, LOOP = 0.02, 0.05  # seconds of a run that is timed in a loop, and of the loop
_AGAIN = 180.0  # seconds for a new process to load its libraries and to find out what the last one knew


class Gone(Exception):
    """The worker did not answer in time, or died."""


class Worker:
    """Asks a process; starts a new one after the last has gone."""

    def __init__(self, folder: Path):
        self.folder, self.process, self.pipe = folder, None, None

    def ask(self, seconds: float, *question):
        """The answer to (verb, ...), or `Gone`."""
        if self.process is None:
            self._start()
            if question[0] not in ("facts", "floor"):  # a new process has all of that before it
                self.ask(_AGAIN, "floor", question[1])
        try:
            self.pipe.send(question)
            if not self.pipe.poll(seconds):
                raise Gone(f"no answer in {seconds:.0f} s")
            answer, error = self.pipe.recv()
        except (EOFError, OSError, Gone) as gone:
            self.end()
            raise Gone(str(gone) or "the process died") from gone
        if error is not None:
            raise RuntimeError(error)
        return answer

    def _start(self):
        os.environ.update(dict.fromkeys(ONE_THREAD, "1"), GAPFIT_COMPILE="at_once")
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, self.folder), daemon=True)
        self.process.start()

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
        self.process = None


def _serve(pipe, folder):
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    from . import ours, peers
    from .task import Task

    task, drawn = None, None
    while True:
        verb, given, *rest = pipe.recv()
        try:
            if given != drawn:
                task, drawn = Task(given, folder), given
            if verb == "facts":
                names = [(peer.name, peer.settings) for peer in peers.peers_of(task)]
                answer = {"peers": names, "solvers": ours.solvers(task), "shape": task.shape}
            elif verb == "floor":
                answer = task.floor
            elif verb == "ours":
                answer = _timed(ours.fit, task, *rest)
            else:
                name, setting = rest
                peer = next(peer for peer in peers.peers_of(task) if peer.name == name)
                answer = _timed(peer.answer, task, setting)
            pipe.send((answer, None))
        except Exception:
            pipe.send((None, traceback.format_exc(limit=-3)))


def _timed(fit, task, *given):
    """CPU seconds of a run, how far its answer is from the optimum, how it says it ended, and seconds of the
    first one. Short runs are timed in a loop, as `timeit` does: one after a pause is about caches as much."""
    began = time.process_time()
    answer, status = fit(task, *given)
    seconds = alone = time.process_time() - began
    if seconds < SHORT:
        times = max(int(LOOP / max(seconds, 1e-6)), 1)
        began = time.process_time()
        for _ in range(times):
            fit(task, *given)
        seconds = (time.process_time() - began) / times
    return seconds, float(task.error(answer)), status, alone
