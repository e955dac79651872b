"""How long one of several solvers goes on: until a rival promises half of what is left.

What is left is at first what the solver has promised. Nobody is judged before that is spent: it was the least
promise of all, so what may be lost is less than what any rival asks for. Then it is what the gap says: its
fall in the second half of all steps so far tells how many more will be needed. That is asked again whenever
steps have doubled. Work is counted, not seconds, so that fits repeat.
"""

from collections.abc import Generator
from functools import partial
from math import inf, log
from typing import Any, NamedTuple

from gapfit.records import storable
from gapfit.solution import Certificate, Iterate
from gapfit.solvers.base import Effort, Steps

HALF = 0.5  # of what is left, promised by a rival, is worth losing what the solver knows
FAR = 8.0  # times the work so far: nobody looks farther ahead
NOTICED = 0.999  # of a gap: if more is left, it has not fallen
STUCK = 100  # steps without a fall are enough: the driver waits for no more than two hundred
LEAST = 1e-12  # a relative gap that is as good as none


@storable
class Watch(NamedTuple):
    """How a solver has done so far, and its last iterate as far as the next one needs it."""

    step: int
    work: float
    best: float  # gap, relative to J
    before: float  # the same, at the last look
    since: float  # work, at the last look
    look_at: float
    fell: int  # the step at which the gap fell last
    estimate: float | None
    last: Any  # w, b, bound


class Progress:
    """Lets a solver run until `rival`, the least total that another promises, is half of what is left."""

    def __init__(self, own: Effort, rival: float, wanted: float, turn: int, watch: Watch | None) -> None:
        self.own, self.rival, self.turn = own, rival, turn
        self.wanted = max(wanted, LEAST)
        half = own.step * max(own.steps, 1.0) / 2
        self.watch = watch or Watch(0, 0.0, inf, inf, 0.0, half, 0, None, None)

    def run(
        self, steps: Steps, state: dict[str, Any]
    ) -> Generator[Iterate, Certificate, tuple[Iterate | None, bool]]:
        """Returns the solver's last iterate, if there is one, and whether it ended by itself."""
        going_on = self.watch.step > 0
        iterate = Iterate(*self.watch.last) if going_on else next(steps, None)
        if iterate is None:
            return None, True
        certificate: Certificate | None = state.get("certificate") if going_on else None
        while True:
            if certificate is None:
                work = self.watch.work + (self.own.step if iterate.work is None else iterate.work)
                self.watch = self.watch._replace(
                    step=self.watch.step + 1, work=work, estimate=iterate.estimate
                )
                certificate = yield iterate._replace(snapshot=partial(self._state, iterate))
            if self._beaten(certificate):
                return iterate, False
            try:
                iterate = next(steps) if going_on else steps.send(certificate)
            except StopIteration:
                return iterate, True
            certificate, going_on = None, False

    def _beaten(self, certificate: Certificate | None) -> bool:
        """Is it a rival's turn? Where nobody looks, nobody is judged."""
        if certificate is None:
            return False
        watch = self.watch
        guess, J = watch.estimate, abs(certificate.primal)
        if guess is None:
            guess = certificate.gap
        guess = max(guess, self.wanted * J)  # where guesses are too good, the gap falls no more
        best = min(watch.best, guess / J if J > 0 else inf)
        fell = watch.step if best < NOTICED * watch.best else watch.fell
        self.watch = watch._replace(best=best, fell=fell)
        if watch.step - fell >= STUCK and self.rival < inf:
            return True
        if watch.work < watch.look_at:
            return False
        left = 0.0 if watch.before == inf else self._left()
        self.watch = self.watch._replace(before=best, since=watch.work, look_at=2 * watch.work)
        return self.rival < HALF * left

    def _left(self) -> float:
        """Work until the gap is as small as wanted, if it goes on falling as since the last look; at most so
        many times what was spent, for a gap that has not fallen says little of what is to come."""
        now, before = self.watch.best, self.watch.before
        if now <= self.wanted:
            return 0.0  # by the solver's own guess
        most = FAR * self.watch.work
        if not now < before:
            return most
        return min((self.watch.work - self.watch.since) * log(now / self.wanted) / log(before / now), most)

    def _state(self, iterate: Iterate) -> dict[str, Any]:
        """The solver's, and how it has done."""
        if not (inner := iterate.snapshot()):
            return {}
        lazy = callable(iterate.w) or callable(iterate.minorant)
        # what is lazy must not be made out of turn; then no state is told of steps that may be the last
        due = self.watch.work >= self.watch.look_at or self.watch.step - self.watch.fell >= STUCK
        if lazy and due:
            return {**inner, "ended": True}
        last = None if lazy else (iterate.w, iterate.b, iterate.minorant)
        return {**inner, "turn": self.turn, "watch": self.watch._replace(last=last or (None, None))}
