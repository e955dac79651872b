"""Many small machines at once: steps on pairs in each, by one call of compiled code for all of them."""

from typing import Any

import numpy as np

from gapfit._types import Vector
from gapfit.problems import Problems
from gapfit.solvers.pairs.dual import OUTSIDE
from gapfit.solvers.pairs.whole import STEPS


class Machines:
    """v, the coefficients of all machines, and how many steps each has taken."""

    def __init__(self, problems: Problems) -> None:
        self._about(problems)
        self.v, self.G = np.zeros_like(self.target), -self.target
        count = len(problems.sizes)
        self.taken, self.violation = np.zeros(count, np.int64), np.full(count, np.inf)
        self.since, self.sides = np.zeros(len(self.v), np.int64), np.zeros(len(self.v))

    def _about(self, problems: Problems) -> None:
        self.problems, atoms = problems, problems.risk.atoms
        self.target = atoms.sign * atoms.lin
        self.lower, self.upper = (-end / problems.each_alpha for end in (problems.upper, problems.lower))
        self.scale = np.add.reduceat(np.abs(self.target), problems.first[:-1]) / problems.sizes
        self.scale[self.scale == 0] = 1.0

    def only(self, chosen: Any) -> Any:
        """Go on with some of the machines; the places that the samples of these had."""
        places = np.flatnonzero(np.repeat(chosen, self.problems.sizes))
        self._about(self.problems.some(chosen, places))
        self.v, self.G = self.v[places], self.G[places]
        self.since, self.sides = self.since[places], self.sides[places]
        self.taken, self.violation = self.taken[chosen], self.violation[chosen]
        return places

    def ascend(self, enough: float) -> None:
        """Steps in each, until its violation is so small, in units of the targets."""
        from gapfit.compiled.smo import Limits  # compiled code is loaded only when it is to run

        limits = Limits(self.lower, self.upper, self.problems.risk.atoms.kink, False)
        target, problems = enough * self.scale, self.problems
        problems.compiled.ascend(
            problems.K, problems.parts, self.G, self.v, limits, STEPS, target, self.taken, self.violation
        )
        at_bound = (self.v == self.upper) | (self.v == self.lower)
        sides = np.sign(self.v) * (1 + at_bound)
        changed = sides != self.sides
        self.since[changed] = np.repeat(self.taken, problems.sizes)[changed]
        self.sides = sides

    def dual_points(self) -> Vector:
        """Those of v; one that is at its bound goes beyond, so that it is projected right on to it."""
        problems = self.problems
        u = -problems.each_alpha * self.v
        largest = np.maximum.reduceat(np.abs(u), problems.first[:-1])
        beyond = np.repeat(OUTSIDE * largest, problems.sizes)
        u = np.where(self.v >= self.upper, problems.lower - beyond, u)
        return np.where(self.v <= self.lower, problems.upper + beyond, u)
