"""What the solutions at some alphas foretell of another one: a start that is often good enough as it is.

Between two alphas the dual solution moves about linearly in alpha, where the loss is made of lines exactly so
as long as no sample changes its piece; under L2, w = -A'u / alpha is then linear in 1 / alpha. Minorants do
not know alpha, so their mixture is a minorant, and proves whatever it proves. Where the loss is smooth, both
bend: parabolas through three solutions err far less, for w in log alpha and for u in a root of alpha. And the
conjugate bends: the height of a mixture's dual point is above that of the mixture.

Scores are linear in w, and slopes A'u in u. So what is foretold takes no product with A: scores are summed up
as weights are, and what both sums have lost is counted.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
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

_ROOT = 0.25  # the power of alpha in which dual points that bend lie on parabolas
_LITTLE = 1e-6  # of a slope: so far a point may be brought back to where dual points are
_NEAR, _NEARER = 30.0, 1.5  # times the tolerance, for a loss that bends and for one with kinks


class Foretold(NamedTuple):
    """For a solver: where the dual solution may lie, and what would else cost a product with the data."""

    u: Vector
    intercept: Any
    slope: Slope  # A'u
    scores: Vector | None = None  # of w, where no offsets are known


class Bent(NamedTuple):
    """A dual point on a parabola through others, as it comes."""

    u: Vector
    slope: Slope  # A'u,
    off: float  # by at most so much, in length


class Outlook(NamedTuple):
    """What is foretold, as a start."""

    start: Solution
    scores: Vector | None  # with known offsets; None where the data are not at hand
    slack: Vector | None  # by which they may be off
    bends: bool  # does the loss? Then dual points prove more than mixtures
    bent: Callable[[], Bent | None]  # one that proves more still, where three solutions are known

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
            yield b, self._highest(problem)
        if self.scores is not None:
            at = problem.tangent(self.scores, b)
            yield at.b, mixture
            yield at.b, problem.minorant(at, self.scores)

    def _highest(self, problem: Problem) -> Minorant:
        """The minorant of the dual point on the parabola. Where there is none, or where it is not one, of the
        mixture's own: to bring the other back costs more than it is worth."""
        mixture = self.start.minorant
        if mixture.u is None or problem.shifted or not problem.risk.has(Conjugate):
            return mixture
        if (bent := self.bent()) is not None:
            u = problem.form(Conjugate).project(bent.u, balanced=False)
            moved = problem.design.reach(u - bent.u)
            if moved <= _LITTLE * mixture.size:
                return _of_point(problem, u, bent.slope, bent.off + moved)
        reach = problem.design.reach(mixture.u)
        return _of_point(problem, mixture.u, mixture.a, mixture.spread + gamma(16) * reach)


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
        line, curve = (upper - alpha) / (upper - lower), log(upper / alpha) / log(upper / lower)
        bent: Callable[[], Bent | None] = _none
        if self.curved and len(self.known) > len((upper, lower)):
            third = min(self.known.keys() - {upper, lower}, key=lambda known: abs(log(known / alpha)))
            alphas = [upper, lower, third]
            shares = _parabola(*(log(known / alpha) for known in alphas))
            roots = _parabola(*((known / alpha) ** _ROOT - 1.0 for known in alphas))
            bent = partial(self._bent, alphas, roots)
        else:
            share = (1 / alpha - 1 / upper) / (1 / lower - 1 / upper)
            alphas, shares = [upper, lower], [1 - share, share]
        w, intercept = self._combined(alphas, shares)
        minorant = mix(first.minorant, last.minorant, 0.5 * (line + curve) if self.curved else line)
        scores, slack = self._scored(alphas, shares)
        state, plain = nearer.state, None if self.problem.shifted else scores
        if minorant.u is not None:
            state = {**state, "foretold": Foretold(minorant.u, intercept, minorant.a, plain)}
        start = replace(nearer, w=w, intercept=intercept, minorant=minorant, state=state)
        return Outlook(start, scores, slack, self.curved, bent)

    def _bent(self, alphas: list[float], shares: list[float]) -> Bent | None:
        """The sum of the dual points of these solutions, in these shares, if there are such points."""
        planes = [self.known[alpha].minorant for alpha in alphas]
        if self.problem.shifted or any(plane.u is None for plane in planes):
            return None
        reaches = [plane.size + self.problem.design.reach(plane.u) for plane in planes]  # type: ignore[arg-type]
        off = sum(
            abs(share) * (plane.spread + gamma(16) * reach)
            for share, plane, reach in zip(shares, planes, reaches, strict=True)
        )
        u, slope = (_sum(shares, [getattr(plane, name) for plane in planes]) for name in ("u", "a"))
        return Bent(u, slope, off)

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


def _none() -> None:
    """Of what there is not."""


def _sum(shares: list[float], vectors: list[Any]) -> Any:
    """Of the vectors, in these shares, in double precision."""
    total = shares[0] * vectors[0].astype(np.float64, copy=False)
    for share, vector in zip(shares[1:], vectors[1:], strict=True):
        total += share * vector.astype(np.float64, copy=False)
    return total


def _of_point(problem: Problem, u: Vector, slope: Slope, off: float) -> Minorant:
    """The minorant of a dual point whose slope is known but for rounding."""
    error = problem.risk.dual_error(u)
    if error is not None:
        off += problem.design.reach(error)
    return problem.claimed(u, slope, None, off)


def _parabola(a: float, b: float, c: float) -> list[float]:
    """The shares that values at three places have in that of the parabola through them, at zero."""
    return [b * c / ((a - b) * (a - c)), a * c / ((b - a) * (b - c)), a * b / ((c - a) * (c - b))]
