"""When the driver looks at what a solver has found."""

import numpy as np

from gapfit.driver.best import Best
from gapfit.records import Kept
from gapfit.solution import Iterate


class Schedule(Kept):
    """When to certify: a claim costs nothing to take, anything else a pass or two over the data.

    A solver may guess its gap. Then the driver looks when the guess, corrected by how wrong it was last time,
    is good enough; a guess decides nothing else. Who watches a fit is told at growing intervals all the same.
    Steps are counted, not seconds: a fit must be repeatable.
    """

    KEPT = ("next", "guessed", "correction", "hidden")

    def __init__(self) -> None:
        self.watched = False
        self.next = 1
        self.guessed, self.correction, self.hidden = 1.0, 1.0, 0.0  # at the last look

    def due(self, best: Best, iterate: Iterate) -> bool:
        if iterate.estimate is None:
            return iterate.primal is not None or best.n_iter >= self.next
        overdue = best.n_iter >= (self.next if self.watched else max(64, 4 * self.next))
        guess = self._corrected(iterate.estimate)
        if (overdue and iterate.estimate < np.inf) or best.out_of_patience():
            return True
        return best.suffices(guess, iterate.objective)

    def _corrected(self, estimate: float) -> float:
        """A part of the gap that the solver did not see last time falls more slowly than what it sees."""
        progress = min(max(estimate, 0.0) / self.guessed, 1.0)
        return self.correction * estimate + self.hidden * float(np.sqrt(progress))

    def looked(self, best: Best, iterate: Iterate) -> None:
        self.next = best.n_iter + 1 + best.n_iter // 4
        if iterate.estimate is not None and iterate.estimate > 0:
            ratio = min(max(best.certificate.gap / iterate.estimate, 0.1), 10.0)
            self.guessed, self.correction = iterate.estimate, min(ratio, 1.0)
            self.hidden = (ratio - self.correction) * iterate.estimate
