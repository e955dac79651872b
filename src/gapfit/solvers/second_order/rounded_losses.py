"""Losses of lines and parabolas, rounded off near a guess of the dual solution. See `semismooth_newton`."""

from typing import Any

import numpy as np

from gapfit import threads
from gapfit._types import Vector
from gapfit.elsewhere import loops_of
from gapfit.losses.atoms import Atoms
from gapfit.problem import Problem
from gapfit.rowwise import of_each, whole


class RoundedLosses:
    """The losses of all samples, for compiled loops over parts of them."""

    def __init__(self, problem: Problem) -> None:
        from gapfit.compiled import proximal  # compiled code is loaded only when it is to run

        self.compiled, n = proximal, len(problem.weight)
        self.device = loops_of(problem.weight)
        sign, lin, kink, quad, lo, hi, self.total = problem.form(Atoms)
        self.p = whole(problem.shares)
        target = of_each(np.multiply, sign, lin)
        if problem.shifted:  # an offset is the same as a smaller target
            target = target - problem.offset
        self.target: Vector = whole(target)
        below, above = of_each(np.negative, lo), of_each(np.negative, hi)
        lower = of_each(_of_sign, sign, lo, above)  # of v = sign * a
        upper = of_each(_of_sign, sign, hi, below)
        aim, give = np.empty_like(self.p), np.empty_like(self.p)
        kink, quad, lower, upper = whole(_light(kink)), whole(_light(quad)), whole(lower), whole(upper)
        self.record = proximal.Losses(aim, give, self.target, kink, quad, lower, upper)
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
        if self.device is not None:
            found: list[float] = self.device(loop, self.record, *arguments)
            return found
        return [float(total) for total in np.sum(self.each(loop, *arguments), axis=0)]


def _of_sign(sign: Vector, positive: Vector, negative: Vector) -> Vector:
    return np.where(sign > 0, positive, negative)


def _light(x: Vector) -> Vector:
    """Zeros that nobody has written take no memory, and no time to read. On a device what is the same for all
    samples is stored once in any case."""
    return x if loops_of(x) is not None or x.any() else np.zeros_like(x)
