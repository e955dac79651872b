"""The bundle method (BMRM): minimise alpha * Omega(w) + the maximum of the cuts collected so far.

Every evaluation of the risk gives a cut, a minorant that is tight at that point. The master problem finds
the minimiser of the model and, at once, the mixture of cuts that proves the model's minimum as a lower
bound. Where the next cut is taken makes the difference: at the minimiser itself (the papers' algorithm), or,
much faster in practice, near the best point on the line from the best point known towards the minimiser.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.problem import Problem
from gapfit.solution import Iterate
from gapfit.solvers.base import Steps
from gapfit.solvers.masters import master_for

_EVALUATIONS = 4  # of J in a line search; each costs O(n) and no pass over X
_BEYOND = 0.1  # cut this far beyond the best point, towards the model's minimiser


class Point(NamedTuple):
    """A point with everything known about it."""

    w: Slope
    scores: Vector
    J: float
    b: Vector
    u: Vector  # balanced subgradient of the risk in score space
    height: float  # of the tangent that belongs to u


def bundle(
    problem: Problem,
    state: dict[str, Any] | None = None,
    *,
    zero_plane: bool | None = None,
    stabilise: bool = True,
) -> Steps:
    """Cutting planes with the exact master problem, for every loss and penalty. One step, one cut.

    zero_plane: include the minorant R >= infimum among the cuts; by default where the risk has one.
    stabilise: search along the line from the best point to the model's minimiser, and cut near the result.
        Without it every iterate is the model's minimiser, as in the papers.
    """
    state = state or {}
    master = master_for(problem)
    zero = problem.zero_plane()
    if zero is not None and zero_plane is not False:
        master.add(zero)
    for cut in state.get("cuts", ()):
        master.add(cut)
    w = state.get("w", problem.start())
    point = best = _evaluate(problem, w, problem.scores(w), None)
    while True:
        master.add(problem.minorant(point.u, point.height, point.scores))
        model, w = master.minimise()
        state = {"cuts": list(master.cuts), "w": best.w}
        yield Iterate(best.w, best.b, model, best.J, lambda state=state: state)
        target = _evaluate(problem, w, problem.scores(w), best.b)
        best, point = _search(problem, best, target) if stabilise else (target, target)


def _evaluate(problem: Problem, w: Slope, scores: Vector, guess: Vector | None) -> Point:
    risk, u, height, b = problem.tangent(scores, guess)
    return Point(w, scores, problem.alpha * problem.penalty.value(w) + risk, b, u, height)


def _search(problem: Problem, best: Point, target: Point) -> tuple[Point, Point]:
    """The best point found on the way from `best` to `target`, and the point at which to cut next."""
    step_w, step_scores = target.w - best.w, target.scores - best.scores

    def at(s: float) -> Point:
        return _evaluate(problem, best.w + s * step_w, best.scores + s * step_scores, best.b)

    def slope(point: Point) -> float:
        if not np.isfinite(point.J):
            return np.inf
        return problem.alpha * float(problem.penalty.subgradient(point.w) @ step_w) + float(point.u @ step_scores)

    # J is convex along the line: it falls at `lo` and rises at `hi`
    lo, hi = (0.0, best, slope(best)), (1.0, target, slope(target))
    if hi[2] <= 0:
        return target, target
    lowest = min(lo, hi, key=_height)
    for k in range(_EVALUATIONS):
        s = _between(lo, hi, secant=k % 2 == 0)
        point = at(s)
        probe = (s, point, slope(point))
        lowest = min(lowest, probe, key=_height)
        lo, hi = (probe, hi) if probe[2] < 0 else (lo, probe)
    s = lowest[0] + _BEYOND * (1.0 - lowest[0])
    cut = at(s)
    return lowest[1], cut if np.isfinite(cut.J) else min(hi, lowest, key=lambda end: not np.isfinite(end[1].J))[1]


def _height(probe: tuple[float, Point, float]) -> float:
    return probe[1].J


def _between(lo: tuple[float, Point, float], hi: tuple[float, Point, float], *, secant: bool) -> float:
    """Where to look next: where the slope would vanish, where the tangents meet, or well inside."""
    width = hi[0] - lo[0]
    if not np.isfinite(hi[2]):
        return lo[0] + 0.1 * width
    if not lo[2] < 0:
        return lo[0] + 0.5 * width
    share = lo[2] / (lo[2] - hi[2])
    if not secant:
        share = (hi[1].J - lo[1].J - hi[2] * width) / ((lo[2] - hi[2]) * width)
    return lo[0] + float(np.clip(share, 0.02, 0.98)) * width
