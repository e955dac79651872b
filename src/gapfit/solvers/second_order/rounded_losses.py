"""Losses of lines and parabolas, rounded off near a guess of the dual solution. See `semismooth_newton`."""

from typing import Any

import numpy as np

from gapfit import threads
from gapfit._types import Vector
from gapfit.elsewhere import loops_of
from gapfit.losses.atoms import Atoms
from gapfit.problem import Problem
from gapfit.rowwise import whole


class RoundedLosses:
    """The losses of all samples, for compiled loops over parts of them."""

    def __init__(self, problem: Problem) -> None:
        from gapfit.compiled import proximal  # compiled code is loaded only when it is to run

        self.compiled, n = proximal, len(problem.weight)
        self.device = loops_of(problem.weight)
        sign, lin, kink, quad, lo, hi, self.total = problem.form(Atoms)
        self.p = whole(problem.shares)
        self.target: Vector = sign * lin - problem.offset  # an offset is the same as a smaller target
        lower, upper = np.where(sign > 0, lo, -hi), np.where(sign > 0, hi, -lo)  # of v = sign * a
        aim, give = np.empty_like(self.p), np.empty_like(self.p)
        self.record = proximal.Losses(aim, give, self.target, _light(kink), _light(quad), lower, upper)
        self.parts = threads.parts(n, 8 * n)

    def round_off(self, centre: Vector, c: float) -> None:
        """From now on about this centre, and so sharply."""
        self.each(self.compiled.round_off, centre, self.p, c)

    def each(self, loop: Any, *arguments: Any) -> Any:
        """What a compiled loop answers, part by part of the samples."""
        if self.device is not None:
            return [self.device(loop, self.record, *arguments)]
        return threads.each(lambda rows: loop(self.record, *arguments, rows.start, rows.stop), self.parts)

    def sums(self, loop: Any, *arguments: Any) -> list[float]:
        """What a compiled loop adds up over all samples."""
        return [float(total) for total in np.sum(self.each(loop, *arguments), axis=0)]


def _light(x: Vector) -> Vector:
    """Zeros that nobody has written take no memory, and no time to read."""
    return whole(x if x.any() else np.zeros_like(x))
