"""Where the optimal offset is: bounds of b* + <w*, m>, for points m among the rows of A.

A minorant that leans in b, R >= <a', w> + e b + c' with e > 0, cannot be far above the level one (a, c) that
proves the gap, and so b cannot be large:

    b* + <w*, m> <= (gap + c - c') / e,     m = (a' - a) / e,

and the other way round for e < 0. (J(w, b) >= J(w*, b*) >= alpha Omega(w*) + <a', w*> + e b* + c', and
alpha Omega(w*) + <a, w*> + c is at least the dual.) Any convex risk has such minorants: its tangents to both
sides of the best b. If one is too near, a and a' differ by more than e explains, and m is far from all rows.
"""

from typing import NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.losses.forms import Curvature
from gapfit.minorant import Minorant
from gapfit.offset import best_offsets
from gapfit.offset.single import resolution_of
from gapfit.problem import Problem
from gapfit.rounding import EPS, SUM, gamma

_RISE = 1.0, 6.0  # times the gap the risk has risen where a tangent is taken
_ASTRAY = 1.5  # in terms of e, the slopes in the scores have changed by no more there
_LOOKS = 40
_FACTOR = 16.0  # by which a look may be farther away than the last, or nearer


class Level(NamedTuple):
    """A bound of b* + <w*, mean>."""

    mean: Slope
    value: float


class Known(NamedTuple):
    """What is proved so far: the gap by a level minorant, and norm(w* - centre) <= radius."""

    minorant: Minorant
    gap: float
    centre: Slope
    scores: Vector  # A centre + offset
    reach: float  # a bound on the length of w*


class Lean(NamedTuple):
    """Planes that lean in b to both sides, taken at some scores; they bound b wherever the gap is known."""

    planes: tuple[Minorant | None, Minorant | None]
    scores: Vector

    def bounds(self, problem: Problem, known: Known) -> tuple[Level, Level]:
        """From below and from above, by what is known: the minorant that the planes were found with."""
        exact = _affine(problem, known.reach)
        if exact is not None:
            return exact
        below, above = (
            _bound(problem, known, plane, side) for plane, side in zip(self.planes, (-1.0, 1.0), strict=True)
        )
        return below, above


def lean(problem: Problem, known: Known, guess: Vector) -> Lean:
    """Planes that bound the offset well if this is known."""
    if not np.isfinite(known.gap) or problem.risk.affine_offset() is not None:
        return Lean((None, None), known.scores)
    value, b = best_offsets(problem.risk, known.scores, guess)
    search = _Search(problem, known, value, b)
    return Lean((search.leaning(-1.0), search.leaning(1.0)), known.scores)


def levels(problem: Problem, known: Known, guess: Vector) -> tuple[Level, Level]:
    """From below and from above, for a problem of one offset."""
    return lean(problem, known, guess).bounds(problem, known)


def _affine(problem: Problem, reach: float) -> tuple[Level, Level] | None:
    """Where all losses are parabolas: then b* + <w*, m> is known, for the mean m by their curvatures."""
    found = problem.risk.affine_offset()
    if found is None:
        return None
    shares, whole = found
    mean, offset = problem.design.adjoint(shares), problem.offset
    value, error = whole.value - float(shares @ offset), whole.error
    error += reach * (problem.design.spread(shares) + gamma(4 * SUM) * problem.design.reach(shares))
    error += gamma(4 * SUM) * (abs(value) + float(shares @ np.abs(offset)))
    return Level(mean, value - error), Level(mean, value + error)


def _bound(problem: Problem, known: Known, plane: Minorant | None, side: float) -> Level:
    if plane is None or plane.u is None:
        return _nothing(known, side)
    minorant, design, slope = known.minorant, problem.design, side * float(plane.e[0])
    roundings = 2 * SUM + problem.risk.roundings(known.scores)
    made_of = problem.risk.rise(np.ones_like(known.scores)) or 0.0  # slopes that are differences may vanish
    # of the slope, a sum over the scores
    doubt = gamma(roundings) * (slope + float(np.abs(plane.u).sum()) + made_of)
    if not slope > 2 * doubt:
        return _nothing(known, side)
    mean = (plane.a - minorant.a) / (side * slope)
    heights = known.gap, minorant.c - minorant.noise, plane.noise - plane.c
    excess = sum(heights) + 8 * EPS * sum(map(abs, heights))
    # <w*, .> of what the slopes are off by
    excess += known.reach * (plane.spread + minorant.spread + (doubt + 8 * EPS * slope) * design.length(mean))
    bound = excess / (slope - doubt if excess > 0 else slope + doubt) * (1 + 8 * EPS * np.sign(excess))
    if not (np.isfinite(bound) and np.isfinite(mean).all()):
        return _nothing(known, side)
    return Level(mean, side * bound)


def _nothing(known: Known, side: float) -> Level:
    return Level(np.zeros_like(known.centre), side * np.inf)


class _Search:
    """For offsets at which tangents lean enough; where one was found to one side helps on the other."""

    def __init__(self, problem: Problem, known: Known, value: float, b: Vector) -> None:
        self.problem, self.known, self.value, self.b = problem, known, value, b
        self.least = resolution_of(known.scores, float(b[0]))
        self.step = max(self.least, self._guess())

    def _guess(self) -> float:
        """As if the risk were a parabola in b, by its second derivative where it has one."""
        risk, gap, scores = self.problem.risk, self.known.gap, self.known.scores
        bend = 0.0
        if (curvature := risk.form(Curvature)) is not None:
            bend = float(curvature.at(scores, self.b).sum())
        if bend > 0:
            return float(np.sqrt(2 * gap / bend))
        return float(np.sqrt(gap * max(abs(self.value), gap)))

    def leaning(self, side: float) -> Minorant | None:
        """The tangent to this side of the best offset; None if none leans enough."""
        problem, scores, u = self.problem, self.known.scores, self.known.minorant.u
        least, most = (times * self.known.gap for times in _RISE)
        step, far, held = self.step, False, None
        for _ in range(_LOOKS):
            b = self.b + side * step
            with np.errstate(over="ignore", invalid="ignore"):
                value, at, e = problem.risk.value_and_subgradient(scores, b)
            if not (np.isfinite(value) and np.isfinite(e).all()):
                step /= _FACTOR
                continue
            rise, astray = value - self.value, 0.0 if u is None else float(np.abs(at - u).sum())
            ratio = float(np.sqrt(2 * least / rise)) if rise > 0 else _FACTOR
            if rise >= least and astray <= _ASTRAY * side * float(e[0]):
                held, self.step = (value, at, e, scores, b), step
                if rise <= most or far or step <= self.least:
                    break
                step = max(step * max(ratio, 1 / _FACTOR), self.least)  # one nearer by may do, too
            elif held is not None:
                break
            else:
                far = far or rise >= least  # nearer by the slopes are farther astray
                step *= min(max(ratio, 2.0), _FACTOR)
        return None if held is None else problem.tangent_plane(*held)
