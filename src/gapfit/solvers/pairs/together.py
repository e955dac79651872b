"""Many small machines at once: steps on pairs in each, by one call of compiled code for all of them."""

from typing import Any

import numpy as np

from gapfit._types import Vector
from gapfit.problems import Problems
from gapfit.solvers.pairs.dual import OUTSIDE

_LOOKS = 12  # at what is claimed on the way, at most


class Machines:
    """v, the coefficients of all machines, and how many steps each has taken."""

    def __init__(self, problems: Problems) -> None:
        self._about(problems)
        self.v = problems.start()
        f = problems.scores(self.v) if self.v.any() else np.zeros_like(self.v)
        self.G = f - self.target
        self.scale = self._mean(np.abs(self.target))
        if not self.scale.all():
            self.scale[self.scale == 0] = np.sqrt(self._mean(np.square(f)))[self.scale == 0]
            self.scale[self.scale == 0] = 1.0
        count = len(problems.sizes)
        self.taken, self.violation = np.zeros(count, np.int64), np.full(count, np.inf)
        self.since, self.sides = np.zeros(len(self.v), np.int64), np.zeros(len(self.v))
        self.ways: list[Any] = [[]] * count  # J and the gap at points that the last steps have passed

    def _about(self, problems: Problems) -> None:
        self.problems, self.target = problems, problems.target
        self.lower, self.upper = (-end / problems.each_alpha for end in (problems.upper, problems.lower))

    def _mean(self, values: Vector) -> Vector:
        """Of each machine."""
        return np.asarray(np.add.reduceat(values, self.problems.first[:-1]) / self.problems.sizes)

    def only(self, chosen: Any) -> Any:
        """Go on with some of the machines; the places that the samples of these had."""
        places = np.flatnonzero(np.repeat(chosen, self.problems.sizes))
        self._about(self.problems.some(chosen, places))
        self.v, self.G = self.v[places], self.G[places]
        self.since, self.sides = self.since[places], self.sides[places]
        self.taken, self.violation, self.scale = (
            self.taken[chosen],
            self.violation[chosen],
            self.scale[chosen],
        )
        return places

    def ascend(self, enough: float, aim: float) -> Any:
        """Steps in each, until its violation is so small, in units of the targets, or its gap in terms of
        its objective; which of them have done with as many steps as are better than exact ones."""
        from gapfit.compiled.smo import Limits  # compiled code is loaded only when it is to run

        limits = Limits(self.lower, self.upper, self.problems.kink, self.problems.apart)
        target, problems = enough * self.scale, self.problems
        count, compiled = len(problems.sizes), problems.compiled
        seen = np.zeros((2, count, _LOOKS))
        way = compiled.Way(self.target, *seen, np.zeros(count, np.int64), np.zeros(count, np.bool_), aim)
        compiled.ascend(
            problems.K, problems.parts, self.G, self.v, limits, problems.steps, target, self.taken,
            self.violation, way,
        )  # fmt: skip
        seen = seen.transpose(1, 2, 0) * problems.alpha[:, None, None]
        self.ways = [part[:looks].tolist() for part, looks in zip(seen, way.looks.tolist(), strict=True)]
        at_bound = (self.v == self.upper) | (self.v == self.lower)
        sides = np.sign(self.v) * (1 + at_bound)
        changed = sides != self.sides
        self.since[changed] = self.taken.repeat(problems.sizes)[changed]
        self.sides = sides
        return way.met | (self.violation <= target)

    def dual_points(self) -> Vector:
        """Those of v; one that is at its bound goes beyond, so that it is projected right on to it."""
        problems = self.problems
        u = -problems.each_alpha * self.v
        largest = np.maximum.reduceat(np.abs(u), problems.first[:-1])
        beyond = (OUTSIDE * largest).repeat(problems.sizes)
        u = np.where(self.v >= self.upper, problems.lower - beyond, u)
        return np.where(self.v <= self.lower, problems.upper + beyond, u)
