"""What the solutions at some alphas foretell of another one: a start that is often good enough as it is.

Between two alphas the dual solution moves about linearly in alpha, where the loss is made of lines exactly so
as long as no sample changes its piece; under L2, w = -A'u / alpha is then linear in 1 / alpha. Minorants do
not know alpha, so their mixture is a minorant, and proves whatever it proves. Where the loss is smooth, w
bends: a parabola in log alpha through three solutions errs far less. And the conjugate bends: the height of
the mixture's dual point is above that of the mixture.

Scores are linear in w, and slopes A'u in u. So what is foretold takes no product with A: scores are summed up
as weights are, and what both sums have lost is counted.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import log
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.design.forms import Rows
from gapfit.losses.forms import Conjugate, Smooth
from gapfit.minorant import Minorant, mix
from gapfit.problem import Problem
from gapfit.rounding import gamma
from gapfit.solution import Solution

_NEAR, _NEARER = 30.0, 1.5  # times the tolerance, for a loss that bends and for one with kinks


class Foretold(NamedTuple):
    """For a solver: where the dual solution may lie, and what would else cost a product with the data."""

    u: Vector
    intercept: Any
    slope: Slope  # A'u
    scores: Vector | None = None  # of w, where no offsets are known


class Outlook(NamedTuple):
    """What is foretold, as a start."""

    start: Solution
    scores: Vector | None  # with known offsets; None where the data are not at hand
    slack: Vector | None  # by which they may be off
    bends: bool  # does the loss? Then dual points prove more than mixtures

    @property
    def near(self) -> float:
        """How many times the tolerance a gap may be that more tries are likely to close."""
        return _NEAR if self.bends else _NEARER

    def tries(self, problem: Problem, b: Vector) -> Iterator[tuple[Vector, Minorant]]:
        """Offsets and planes that may prove it good enough, one after the other: each costs more than the
        last, the tangent at the end a product."""
        mixture = self.start.minorant
        yield b, mixture
        if self.bends:
            yield b, _higher(problem, mixture)
        if self.scores is not None:
            at = problem.tangent(self.scores, b)
            yield at.b, mixture
            yield at.b, problem.minorant(at, self.scores)


class Foresight:
    """Solutions of one problem at several alphas, which were worked for."""

    def __init__(self, problem: Problem) -> None:
        self.known: dict[float, Solution] = {}
        self.places: dict[float, Problem] = {}  # which know the scores of these solutions, or find them
        self.problem, self.curved = problem, problem.has(Smooth)
        self.scored = problem.has(Rows) and problem.design.cost is None and isinstance(problem.y, np.ndarray)

    def add(self, alpha: float, solution: Solution, at: Problem | None = None) -> None:
        """Know this solution of the problem as well. A checkpoint may have kept it from an earlier run, whose
        minorants are then to be mixed with those of this one. The problem `at` that alpha may know scores."""
        self.problem.adopt(solution.minorant)
        self.known[alpha] = solution
        if self.scored and at is not None:
            self.places[alpha] = at

    def between(self, upper: float, lower: float, alpha: float) -> Solution:
        """A start at this alpha, from the solutions at a larger and a smaller one."""
        return self.outlook(upper, lower, alpha).start

    def outlook(self, upper: float, lower: float, alpha: float) -> Outlook:
        """The same, and what is known of its scores."""
        first, last = self.known[upper], self.known[lower]
        nearer = first if upper * lower < alpha * alpha else last
        line, bent = (upper - alpha) / (upper - lower), log(upper / alpha) / log(upper / lower)
        if self.curved and len(self.known) > len((upper, lower)):
            third = min(self.known.keys() - {upper, lower}, key=lambda known: abs(log(known / alpha)))
            alphas = [upper, lower, third]
            shares = _parabola(*(log(known / alpha) for known in alphas))
        else:
            share = (1 / alpha - 1 / upper) / (1 / lower - 1 / upper)
            alphas, shares = [upper, lower], [1 - share, share]
        w, intercept = self._combined(alphas, shares)
        minorant = mix(first.minorant, last.minorant, 0.5 * (line + bent) if self.curved else line)
        scores, slack = self._scored(alphas, shares)
        state, plain = nearer.state, None if self.problem.shifted else scores
        if minorant.u is not None:
            state = {**state, "foretold": Foretold(minorant.u, intercept, minorant.a, plain)}
        start = replace(nearer, w=w, intercept=intercept, minorant=minorant, state=state)
        return Outlook(start, scores, slack, self.curved)

    def _combined(self, alphas: list[float], shares: list[float]) -> tuple[Any, Any]:
        """The weights and the intercept of these solutions, in these shares."""
        solutions = [self.known[alpha] for alpha in alphas]
        w = _sum(shares, [solution.w for solution in solutions])
        intercept = sum(share * one.intercept for share, one in zip(shares, solutions, strict=True))
        if self.problem.n_offsets > 1:  # a parabola through offsets in order may leave it
            cone = self.problem.risk.offsets
            intercept = cone.offsets(cone.coordinates(np.asarray(intercept, dtype=np.float64)))
        return w, intercept

    def _scored(self, alphas: list[float], shares: list[float]) -> tuple[Vector | None, Vector | None]:
        """The scores of that sum, and by how much they may be off."""
        if not all(alpha in self.places for alpha in alphas):
            return None, None
        design = self.problem.design
        lengths = [design.length(self.known[alpha].w.astype(np.float64, copy=False)) for alpha in alphas]
        scores = _sum(shares, [self.places[alpha].known_scores(self.known[alpha].w) for alpha in alphas])
        slack = design.slack_of_sum(shares, lengths, 0.0)
        return (scores + self.problem.offset if self.problem.shifted else scores), slack


def _sum(shares: list[float], vectors: list[Any]) -> Any:
    """Of the vectors, in these shares, in double precision."""
    total = shares[0] * vectors[0].astype(np.float64, copy=False)
    for share, vector in zip(shares[1:], vectors[1:], strict=True):
        total += share * vector.astype(np.float64, copy=False)
    return total


def _higher(problem: Problem, mixture: Minorant) -> Minorant:
    """The minorant of the mixture's own dual point: its slope is that of the mixture, but for rounding."""
    u = mixture.u
    if u is None or problem.shifted or not problem.risk.has(Conjugate):
        return mixture
    off, error = mixture.spread + gamma(16) * problem.design.reach(u), problem.risk.dual_error(u)
    if error is not None:
        off += problem.design.reach(error)
    return problem.claimed(u, mixture.a, None, off)


def _parabola(a: float, b: float, c: float) -> list[float]:
    """The shares that values at three places have in that of the parabola through them, at zero."""
    return [b * c / ((a - b) * (a - c)), a * c / ((b - a) * (b - c)), a * b / ((c - a) * (c - b))]
