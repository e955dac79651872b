"""What the fits of one problem at some alphas say of its optima at all alphas."""

import numpy as np

from gapfit._types import Vector
from gapfit.minorant import mix
from gapfit.problem import Problem
from gapfit.solution import Solution
from gapfit.whereabouts import balls, newton
from gapfit.whereabouts.answers import Answer, Nowhere, Overlap
from gapfit.whereabouts.balls import Balls
from gapfit.whereabouts.newton import NewtonCertificate


class Optima:
    """Fits of one problem, and where its optima are by them."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.known: dict[float, Solution] = {}
        self._newton: dict[float, NewtonCertificate] = {}
        self._by_newton, self._by_balls = newton.qualifies(problem), balls.qualifies(problem)

    @property
    def possible(self) -> bool:
        """Can anything be said of alphas that were not fitted?"""
        return self._by_newton or self._by_balls

    def add(self, alpha: float, solution: Solution) -> None:
        """Know this solution as well, found at this alpha."""
        self.problem.adopt(solution.minorant)
        self.known[float(alpha)] = solution

    def at(self, alpha: float) -> Answer:
        """Where the optima are at this alpha."""
        return self.between(alpha, alpha)

    def between(self, least: float, most: float) -> Answer:
        """Where the optima are, at all alphas from least to most."""
        near = self._around(float(np.sqrt(least * most)))
        if self._by_newton:
            found = [self._certificate(alpha).between(least, most) for alpha in near]
            found = [answer for answer in found if not isinstance(answer, Nowhere)]
            if found:
                return Overlap(found)
        if not self._by_balls or not near or (self._by_newton and least < most):
            return Nowhere()  # a range too wide for a Newton certificate is too wide for balls
        return self._pair(near, float(np.sqrt(least * most))).between(least, most)

    def _around(self, alpha: float) -> list[float]:
        """The nearest known alphas, to both sides; one if it is this one."""
        below = max((known for known in self.known if known <= alpha), default=None)
        above = min((known for known in self.known if known >= alpha), default=None)
        return list(dict.fromkeys(known for known in (below, above) if known is not None))

    def _certificate(self, alpha: float) -> NewtonCertificate:
        if alpha not in self._newton:
            solution = self.known[alpha]
            self._newton[alpha] = NewtonCertificate(
                self.problem, solution.w, _offsets(solution, self.problem)
            )
        return self._newton[alpha]

    def _pair(self, near: list[float], alpha: float) -> Balls:
        """The pair of one fit; between two of them a mixture: w linear in 1 / alpha, the plane in alpha."""
        first = self.known[near[0]]
        w, b, minorant = first.w, _offsets(first, self.problem), first.minorant
        if len(near) > 1:
            least, most = near
            last = self.known[most]
            share = (1 / least - 1 / alpha) / (1 / least - 1 / most)
            w, b = (1 - share) * w + share * last.w, (1 - share) * b + share * _offsets(last, self.problem)
            minorant = mix(minorant, last.minorant, (alpha - least) / (most - least))
        return Balls(self.problem, w, b, minorant)


def _offsets(solution: Solution, problem: Problem) -> Vector:
    return np.atleast_1d(np.asarray(solution.intercept, float))[: problem.n_offsets]
