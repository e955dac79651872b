"""The only loop: run a solver, look at what it yields when that is due, and decide when to stop."""

import logging
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from gapfit import limits
from gapfit.checkpoint import Part
from gapfit.driver.best import Best
from gapfit.driver.known import Known
from gapfit.driver.schedule import Schedule
from gapfit.problem import Problem
from gapfit.solution import Certificate, Iterate, Progress, Record, Status, as_intercept
from gapfit.solvers.base import OVERFLOWS

logger = logging.getLogger("gapfit")

Callback = Callable[[Progress], Any]


class Loop:
    """The solver and what is known of its progress: all that a checkpoint has to hold."""

    def __init__(
        self,
        problem: Problem,
        method: Any,
        known: Known,
        part: Part | None,
        best: Best,
        interrupts: limits.Interrupts,
    ) -> None:
        self.problem, self.part, self.best, self.interrupts = problem, part, best, interrupts
        self.schedule = Schedule()
        state = known.state
        if part is not None and part.state is not None:
            with part.restoring():
                self.best.restore(part.state["best"])
                self.schedule.restore(part.state["schedule"])
                problem.design.restore(part.state["design"])
                self.best.snapshot = part.state["solver"].copy  # should the fit end before another step
                state = {**part.state["solver"], "same": True, "certificate": self.best.certificate}
        told = {**state, "wanted": best.tol}
        self.steps: Generator[Iterate, Certificate, None] = method(problem, state=told)

    def _first(self) -> Iterate:
        """The first step, with which a solver takes its state in."""
        if self.part is None or self.part.state is None:
            return next(self.steps)
        with self.part.restoring():
            return next(self.steps)

    def save(self, iterate: Iterate) -> None:
        """Write a checkpoint, if there is to be one, and if the solver can go on from this iterate."""
        if self.part is None or not (solver := iterate.snapshot()) or solver.get("ended"):
            return
        states = {"best": self.best.state(), "schedule": self.schedule.state()}
        self.part.save({**states, "design": self.problem.design.state(), "solver": solver})

    def run(self, max_iter: int, max_time: float, callbacks: tuple[Callback, ...]) -> Status:
        """Run the solver until something ends it, and say what."""
        best = self.best
        try:
            return self._run(max_iter, max_time, callbacks)
        except OVERFLOWS as error:
            logger.info("a step overflowed: %s", error)
            best.tear()
            return best.ended(Status.STALLED)
        except (limits.TimeUp, KeyboardInterrupt) as cut:
            best.tear()
            return best.ended(Status.TIME_LIMIT if isinstance(cut, limits.TimeUp) else Status.INTERRUPTED)

    def _run(self, max_iter: int, max_time: float, callbacks: tuple[Callback, ...]) -> Status:
        best, schedule, steps, interrupts = self.best, self.schedule, self.steps, self.interrupts
        schedule.watched = bool(callbacks)
        certificate = None
        over = best.limit(max_iter, max_time)
        while True:
            if best.proved():
                return Status.CERTIFIED
            if best.hopeless() or not np.isfinite(best.primal):  # no way down can be seen from there
                return Status.STALLED
            if over or interrupts.pressed:
                return best.ended(Status.INTERRUPTED if interrupts.pressed else over or Status.MAX_ITER)
            try:
                with limits.until(best.deadline), interrupts.allowed():
                    iterate = self._first() if certificate is None else steps.send(certificate)
            except StopIteration:
                return Status.STALLED
            best.n_iter += 1
            best.latest = best.unseen = iterate
            over, due, stop = best.limit(max_iter, max_time), schedule.due(best, iterate), False
            best.hear(iterate, due=due)
            if over and not due:
                self.save(iterate)  # before a look out of turn, without which the fit would have gone on
            if over or due:
                record = best.take(iterate)
                schedule.looked(best, iterate)
                self.log(record)
                stop = self.tell(callbacks, Progress(*record[:5], best.w, as_intercept(best.b)), iterate)
                over = over or best.limit(max_iter, max_time)
            if (due and (stop or over)) or (self.part is not None and not over and self.part.due()):
                self.save(iterate)
            if stop:
                return Status.CERTIFIED if best.proved() else Status.STOPPED
            certificate = best.certificate

    def log(self, record: Record) -> None:
        """A line of the log; where rows are elsewhere, each costs a pass or more, and says how many."""
        logger.debug("step %d: primal %.10g, dual %.10g, gap %.3g", record.n_iter, *record[2:5])
        if (cost := self.problem.design.cost) is not None:
            told = (*record[:5], cost.passes, cost.bytes / 1e6)
            line = "step=%d seconds=%.2f primal=%.10g dual=%.10g gap=%.3g passes=%d megabytes=%.1f"
            logger.info(line, *told)

    def tell(self, callbacks: tuple[Callback, ...], progress: Progress, iterate: Iterate) -> bool:
        """Call every callback, also after one has asked to stop; does any? One that fails ends the fit."""
        try:
            with self.interrupts.allowed():
                answers = [callback(progress) for callback in callbacks]
            return any(answers)
        except BaseException:
            self.save(iterate)
            raise
