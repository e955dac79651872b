"""How long one of several solvers may try: while its gap falls."""

from collections.abc import Generator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gapfit.records import storable
from gapfit.solution import Certificate, Iterate
from gapfit.solvers.base import Steps

PATIENCE = 64  # steps before the first look at the gap
SLOW = 0.5  # of a gap: if more is left of it at the next look, that is too slow
QUICK = 0.25  # the same, in haste


@storable
class Watch(NamedTuple):
    """How a solver has done so far, and its last iterate as far as the next one needs it."""

    step: int
    best: float
    before: float
    look_at: int
    estimate: float | None
    last: Any  # w, b, bound


class Patience:
    """Lets a solver run while the gap halves with every doubling of its steps; to a quarter, if in haste."""

    def __init__(self, haste: int, limit: int, turn: int, watch: Watch | None) -> None:
        self.haste, self.limit, self.turn = haste, limit, turn
        look_at, self.fall = (haste, QUICK) if haste else (PATIENCE, SLOW)
        self.watch = watch or Watch(0, np.inf, np.inf, look_at, None, None)

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
                self.watch = self.watch._replace(step=self.watch.step + 1, estimate=iterate.estimate)
                certificate = yield iterate._replace(snapshot=partial(self._state, iterate))
            if self._lost(certificate):
                return iterate, False
            try:
                iterate = next(steps) if going_on else steps.send(certificate)
            except StopIteration:
                return iterate, True
            certificate, going_on = None, False

    def _lost(self, certificate: Certificate) -> bool:
        """Is it the next one's turn?"""
        watch = self.watch
        best = min(watch.best, certificate.gap if watch.estimate is None else watch.estimate)
        before = best if watch.step == 1 and self.haste else watch.before
        self.watch = watch._replace(best=best, before=before)
        if watch.step == self.limit:
            return True
        if watch.step == watch.look_at:
            if best > self.fall * before:
                return True
            self.watch = self.watch._replace(before=best, look_at=2 * watch.look_at)
        return False

    def _state(self, iterate: Iterate) -> dict[str, Any]:
        """The solver's, and how it has done."""
        if not (inner := iterate.snapshot()):
            return {}
        lazy = callable(iterate.w) or callable(iterate.minorant)
        # what is lazy must not be made out of turn; then no state is told of steps that may be the last
        if lazy and self.watch.step in (self.limit, self.watch.look_at):
            return {**inner, "ended": True}
        last = None if lazy else (iterate.w, iterate.b, iterate.minorant)
        return {**inner, "turn": self.turn, "watch": self.watch._replace(last=last or (None, None))}
