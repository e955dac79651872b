"""Where the optimal offset is: bounds of b* + <w*, m>, for points m among the rows of A.

A minorant that leans in b, R >= <a', w> + e b + c' with e > 0, cannot be far above the level one (a, c) that
proves the gap, and so b cannot be large:

    b* + <w*, m> <= (gap + c - c') / e,     m = (a' - a) / e,

and the other way round for e < 0. (J(w, b) >= J(w*, b*) >= alpha Omega(w*) + <a', w*> + e b* + c', and
alpha Omega(w*) + <a, w*> + c is at least the dual.) Any convex risk has such minorants: its tangents to both
sides of the best b. If one is too near, a and a' differ by more than e explains, and m is far from all rows.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.minorant import Minorant
from gapfit.offset import best_offsets
from gapfit.offset.single import resolution_of
from gapfit.problem import Problem
from gapfit.rounding import EPS, SUM, gamma

_RISE = 1.0  # times the gap the risk has risen where a tangent is taken,
_ASTRAY = 1.5  # and the slopes in the scores have changed by no more than this, in terms of e
_STEPS = 60
_FACTOR = 4.0  # by which each step is longer than the last,
_HALVINGS = 2  # and how often what is between a step too short and one long enough is halved


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


def levels(problem: Problem, known: Known, guess: Vector) -> tuple[Level, Level]:
    """From below and from above, for a problem of one offset."""
    exact = _affine(problem, known.reach)
    if exact is not None:
        return exact
    below, above = (_bound(problem, known, guess, side) for side in (-1.0, 1.0))
    return below, above


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


def _bound(problem: Problem, known: Known, guess: Vector, side: float) -> Level:
    nothing = Level(np.zeros_like(known.centre), side * np.inf)
    b = _leaning(problem, known, guess, side) if np.isfinite(known.gap) else None
    if b is None:
        return nothing
    plane, minorant, design = problem.tangent_plane(known.scores, b), known.minorant, problem.design
    assert plane.u is not None
    slope = side * float(plane.e[0])
    roundings = 2 * SUM + problem.risk.roundings(known.scores)
    doubt = gamma(roundings) * (slope + float(np.abs(plane.u).sum()))  # of the slope, a sum over the scores
    if not slope > 2 * doubt:
        return nothing
    mean = (plane.a - minorant.a) / (side * slope)
    heights = known.gap, minorant.c + minorant.noise, plane.noise - plane.c
    excess = sum(heights) + 8 * EPS * sum(map(abs, heights))
    # <w*, .> of what the slopes are off by
    excess += known.reach * (plane.spread + minorant.spread + (doubt + 8 * EPS * slope) * design.length(mean))
    bound = excess / (slope - doubt if excess > 0 else slope + doubt) * (1 + 8 * EPS * np.sign(excess))
    return Level(mean, side * bound) if np.isfinite(bound) and np.isfinite(mean).all() else nothing


def _leaning(problem: Problem, known: Known, guess: Vector, side: float) -> Vector | None:
    """An offset to this side of the best at which the tangent leans enough; None if there is none."""
    risk, scores = problem.risk, known.scores
    value, b = best_offsets(risk, scores, guess)
    u = known.minorant.u

    def enough(step: float) -> bool | None:
        with np.errstate(over="ignore", invalid="ignore"):
            there, at, e = risk.value_and_subgradient(scores, b + side * step)
        if not (np.isfinite(there) and np.isfinite(e).all()):
            return None
        astray = 0.0 if u is None else float(np.abs(at - u).sum())
        return bool(there - value >= _RISE * known.gap and astray <= _ASTRAY * side * float(e[0]))

    size = float(np.abs(risk.value_and_subgradient(scores, b)[1]).sum())
    step = max(resolution_of(scores, float(b[0])), known.gap / size if size > 0 else 0.0)
    for _ in range(_STEPS):
        if (leans := enough(step)) is None:
            return None
        if leans:
            return b + side * _nearest(enough, step / _FACTOR, step)
        step *= _FACTOR
    return None


def _nearest(enough: Callable[[float], bool | None], short: float, long: float) -> float:
    for _ in range(_HALVINGS):
        middle = float(np.sqrt(short * long))
        short, long = (short, middle) if enough(middle) else (middle, long)
    return long
