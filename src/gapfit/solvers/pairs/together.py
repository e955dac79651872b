"""Many small machines at once: steps on pairs in each, by one call of compiled code for all of them."""

from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Vector
from gapfit.problems import Problems

_LOOKS = 12  # at what is claimed on the way, at most


class Machines:
    """v, the coefficients of all machines, and how many steps each has taken."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        v, count = problems.start(), len(problems.sizes)
        rest, since = np.zeros((3, len(v))), np.zeros(len(v), np.int64)
        violation, self.scale = np.full(count, np.inf), np.empty(count)
        self.at = problems.compiled.Ascent(v, *rest, since, np.zeros(count, np.int64), violation)
        problems.compiled.begin(problems.K, problems.parts, problems.target, self.at, self.scale)

    def only(self, chosen: Any) -> Any:
        """Go on with some of the machines; the places that the samples of these had."""
        places = np.flatnonzero(np.repeat(chosen, self.problems.sizes))
        self.problems = self.problems.some(chosen, places)
        *of_samples, taken, violation = self.at
        some = [values[places] for values in of_samples]
        self.at = self.problems.compiled.Ascent(*some, taken[chosen], violation[chosen])
        self.scale = self.scale[chosen]
        return places

    def ascend(self, enough: float, aim: float) -> Any:
        """Steps in each, until its violation is so small, in units of the targets, or its gap in terms of
        its objective; which of them have done with as many steps as are better than exact ones."""
        target, problems = enough * self.scale, self.problems
        count, compiled = len(problems.sizes), problems.compiled
        seen, looks = np.zeros((2, count, _LOOKS)), np.zeros(count, np.int64)
        way = compiled.Way(problems.target, *seen, looks, np.zeros(count, np.bool_), aim)
        known = problems.K, problems.parts, problems.alpha
        compiled.ascend(*known, self.at, problems.limits, problems.steps, target, way)
        self.passed = Passed(seen, looks, problems.alpha)
        return way.met | (self.at.violation <= target)


class Passed(NamedTuple):
    """J and the gap at points that the last steps have passed, over alpha; how many were seen of each
    machine."""

    seen: Any
    looks: Any
    alpha: Vector

    def by(self, k: int) -> list[list[float]]:
        """The k-th machine."""
        way: list[list[float]] = (self.seen[:, k, : self.looks[k]].T * self.alpha[k]).tolist()
        return way
