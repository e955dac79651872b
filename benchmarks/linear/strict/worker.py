"""One solver in a process of its own: it can be killed, and its peak of memory is its own."""

import gc
import multiprocessing
import time
from typing import NamedTuple

from linear.strict.components import FOLDER, load

STARTING = 180.0  # seconds for imports, conversion and compilation, none of which is timed
SLACK = 2.0  # seconds for answers to travel


class Unavailable(Exception):
    """The solver does not do this task; the message says why."""


class TooSlow(Exception):
    """The run was stopped."""


class Run(NamedTuple):
    """One timed call."""

    seconds: float
    cpu: float
    result: dict  # w, b, bound
    megabytes: float | None  # peak above what the process held before, its data included
    certified: bool
    history: list


class Worker:
    """The parent's end. Data and tasks are posed, then runs are asked for."""

    def __init__(self, solver, data):
        self.solver, self.data = solver, data
        self.process = self.posed = None

    def pose(self, objective):
        """Hand over a task (what `get_objective` returns), unless it is the last one again."""
        numbers = {key: value for key, value in objective.items() if key not in ("X", "y")}
        if self.process is None:
            self._start()
        if self.posed != numbers:
            self._ask(("pose", numbers), STARTING)
            self.posed = numbers

    def run(self, stop, limit):
        """A timed call; TooSlow, and the process is gone, if it takes much longer than `limit` seconds."""
        return self._ask(("run", stop), limit + SLACK)

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.connection.close()
        self.process = self.posed = None

    def _start(self):
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, self.solver), daemon=True)
        self.process.start()
        other.close()
        self._ask(("data", self.data), STARTING)

    def _ask(self, question, limit):
        self.connection.send(question)
        if not self.connection.poll(limit):
            self.close()
            raise TooSlow
        try:
            kind, answer = self.connection.recv()
        except EOFError:
            self.close()
            raise Unavailable("its process died") from None
        if kind == "error":
            raise Unavailable(answer)
        return answer


def _serve(connection, wanted):
    """The child's end: answers questions until it is killed."""
    data, solver, warm = None, None, set()
    while True:
        question, argument = connection.recv()
        try:
            if question == "data":
                data, answer = argument, None
                solver = load("Solver", wanted)
            elif question == "pose":
                answer = _pose(solver, data | argument, warm)
            else:
                answer = _timed(solver, argument)
            connection.send(("answer", answer))
        except Unavailable as why:
            connection.send(("error", str(why)))
        except Exception as error:
            what = f"{type(error).__name__}: {error}".splitlines()[0]
            connection.send(("error", what.replace(str(FOLDER), "linear")))  # results name no places


def _pose(solver, objective, warm):
    skip, why = solver.skip(**objective)
    if skip:
        raise Unavailable(why)
    solver.set_objective(**objective)
    kind = (objective["loss"], objective["penalty"], objective["intercept"])
    if kind not in warm:
        solver.warm_up()
        warm.add(kind)
    return solver.sampling_strategy


def _timed(solver, stop):
    gc.collect()
    before = _forget_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    solver.run(stop)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = _memory("VmHWM")
    certified = getattr(solver, "certified", lambda: False)()
    return Run(
        wall,
        cpu,
        solver.get_result(),
        None if peak is None or before is None else (peak - before) / 1024,
        certified,
        solver.history(),
    )


def _forget_peak():
    """Let the peak start again from here (Linux); returns what the process holds now, in kB."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return None
    return _memory("VmRSS")


def _memory(entry):
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(entry))
    except (OSError, StopIteration):
        return None
