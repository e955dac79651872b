"""What the solutions at some alphas foretell of another one: a start that is often good enough as it is.

Between two alphas the dual solution moves about linearly in alpha, where the loss is made of lines exactly so
as long as no sample changes its piece; under L2, w = -A'u / alpha is then linear in 1 / alpha. Minorants do
not know alpha, so their mixture is a minorant, and proves whatever it proves. Where the loss is smooth, w
bends: a parabola in log alpha through three solutions errs far less, and the tangent there, whose bound errs
by the square of that, proves more than the mixture.
"""

from dataclasses import replace
from math import log
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.losses.forms import Smooth
from gapfit.minorant import mix
from gapfit.problem import Problem
from gapfit.solution import Solution


class Foretold(NamedTuple):
    """For a solver: where the dual solution may lie, and what would else cost a product with the data."""

    u: Vector
    intercept: Any
    slope: Slope  # A'u


class Foresight:
    """Solutions of one problem at several alphas, which were worked for."""

    def __init__(self, problem: Problem) -> None:
        self.known: dict[float, Solution] = {}
        self.problem, self.curved = problem, problem.has(Smooth)

    def add(self, alpha: float, solution: Solution) -> None:
        """Know this solution of the problem as well. A checkpoint may have kept it from an earlier run, whose
        minorants are then to be mixed with those of this one."""
        self.problem.adopt(solution.minorant)
        self.known[alpha] = solution

    def between(self, upper: float, lower: float, alpha: float) -> Solution:
        """A start at this alpha, from the solutions at a larger and a smaller one."""
        first, last = self.known[upper], self.known[lower]
        nearer = first if upper * lower < alpha * alpha else last
        if self.curved and len(self.known) > len((upper, lower)):
            third = min(self.known.keys() - {upper, lower}, key=lambda known: abs(log(known / alpha)))
            shares = _parabola(*(log(known / alpha) for known in (upper, lower, third)))
            w, intercept = self._combined([upper, lower, third], shares)
        else:
            share = (1 / alpha - 1 / upper) / (1 / lower - 1 / upper)
            w, intercept = self._combined([upper, lower], [1 - share, share])
        minorant = mix(first.minorant, last.minorant, (upper - alpha) / (upper - lower))
        state = nearer.state
        if minorant.u is not None:
            state = {**state, "foretold": Foretold(minorant.u, intercept, minorant.a)}
        return replace(nearer, w=w, intercept=intercept, minorant=minorant, state=state)

    def _combined(self, alphas: list[float], shares: list[float]) -> tuple[Any, Any]:
        """The weights and the intercept of these solutions, in these shares."""
        solutions = [self.known[alpha] for alpha in alphas]
        parts = list(zip(shares, solutions, strict=True))
        w = np.sum([share * solution.w.astype(np.float64) for share, solution in parts], axis=0)
        return w, sum(share * solution.intercept for share, solution in parts)


def _parabola(a: float, b: float, c: float) -> list[float]:
    """The shares that values at three places have in that of the parabola through them, at zero."""
    return [b * c / ((a - b) * (a - c)), a * c / ((b - a) * (b - c)), a * b / ((c - a) * (c - b))]
