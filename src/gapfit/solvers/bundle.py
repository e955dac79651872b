"""The bundle method (BMRM): minimise alpha * Omega(w) + the maximum of the cuts collected so far.

Every evaluation of the risk gives a cut, a minorant that is tight at that point. The master problem finds
the minimiser of the model and, at once, the mixture of cuts that proves the model's minimum as a lower
bound. Where the next cut is taken makes the difference: at the minimiser itself (the papers' algorithm), or,
much faster in practice, near the best point on the line from the best point known towards the minimiser.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.problem import Problem
from gapfit.solution import Iterate
from gapfit.solvers.base import Steps
from gapfit.solvers.masters import Master, QuadraticMaster, master_for

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
    stabilise: str | None = "line_search",
) -> Steps:
    """Cutting planes with the exact master problem, for every loss and penalty. One step, one cut.

    Parameters
    ----------
    zero_plane : include the minorant R >= infimum among the cuts; by default where the risk has one.
    stabilise : where to cut.
        "line_search": search along the line from the best point to the model's minimiser, and cut near the
        result. "proximal" (quadratic penalties): cut at the minimiser of the model plus a quadratic that
        holds it near the best point. None: cut at the model's minimiser, as the papers do.
    """
    state = state or {}
    master = master_for(problem)
    move = _strategy(stabilise, problem, master)
    zero = problem.zero_plane()
    if zero is not None and zero_plane is not False and "cuts" not in state:
        master.add(zero)
    master.restore(state)
    objective = (problem.alpha, problem.penalty)
    if state.get("objective") == objective:  # go on in the middle of a step, as if nothing had happened
        best, point = move(state["best"], state["target"])
    else:
        w = state.get("w", problem.start())
        best = point = evaluate(problem, w, problem.scores(w))
    while True:
        master.add(problem.minorant(point.u, point.height, point.scores))
        model, target = master.minimise()
        now: dict[str, Any] = {**master.state(), "objective": objective, "best": best, "target": target}
        yield Iterate(best.w, best.b, model, best.J, now.copy)
        best, point = move(best, target)


Move = Callable[[Point, Slope], tuple[Point, Point]]  # (best, model's minimiser) -> (new best, where to cut)


def _strategy(stabilise: str | None, problem: Problem, master: Master) -> Move:
    if stabilise is None:
        return partial(_plain, problem)
    if stabilise == "line_search":
        return partial(_line_search, problem)
    if stabilise == "proximal" and isinstance(master, QuadraticMaster):
        return _Proximal(problem, master)
    raise ValueError(
        f"stabilise must be 'line_search', None or, for quadratic penalties, 'proximal'; got {stabilise!r}"
    )


def evaluate(problem: Problem, w: Slope, scores: Vector, guess: Vector | None = None) -> Point:
    """Everything about the point w, whose scores are known."""
    risk, u, height, b = problem.tangent(scores, guess)
    return Point(w, scores, problem.alpha * problem.penalty.value(w) + risk, b, u, height)


def _plain(problem: Problem, best: Point, w: Slope) -> tuple[Point, Point]:
    """The papers' iterate: the model's minimiser, drawn back only if the risk overflows there."""
    point = evaluate(problem, w, problem.scores(w), best.b)
    while not np.isfinite(point.J):
        w = 0.5 * (w + best.w)
        point = evaluate(problem, w, problem.scores(w), best.b)
    return point, point


class _Proximal:
    """Cut at the minimiser of model + rho/2 |w - best|^2; move there if J falls as promised, nearly."""

    def __init__(self, problem: Problem, master: QuadraticMaster) -> None:
        self.problem, self.master, self.rho = problem, master, 10 * problem.alpha

    def __call__(self, best: Point, w: Slope) -> tuple[Point, Point]:
        del w  # the model's own minimiser serves the lower bound only
        near, promised = self.master.near(best.w, self.rho)
        point = evaluate(self.problem, near, self.problem.scores(near), best.b)
        if not np.isfinite(point.J):
            self.rho *= 10
            return self(best, near)
        serious = best.J - 0.1 * (best.J - promised) >= point.J
        self.rho *= 0.5 if serious else 1.2
        return (point if serious else best), point


def _line_search(problem: Problem, best: Point, w: Slope) -> tuple[Point, Point]:
    """The best point found on the way to w, and, a little further on, the point at which to cut."""
    target = evaluate(problem, w, problem.scores(w), best.b)
    step_w, step_scores = target.w - best.w, target.scores - best.scores

    def at(s: float) -> Point:
        return evaluate(problem, best.w + s * step_w, best.scores + s * step_scores, best.b)

    def slope(point: Point) -> float:
        if not np.isfinite(point.J):
            return np.inf
        return problem.alpha * float(problem.penalty.subgradient(point.w) @ step_w) + float(
            point.u @ step_scores
        )

    # J is convex along the line: it falls at `lo` and rises at `hi`
    lo, hi = Probe(0.0, best, slope(best)), Probe(1.0, target, slope(target))
    if hi.slope <= 0:
        return target, target
    lowest = lo if best.J <= target.J else hi
    for k in range(_EVALUATIONS):
        s = _between(lo, hi, secant=k % 2 == 0)
        point = at(s)
        probe = Probe(s, point, slope(point))
        lowest = probe if point.J < lowest.point.J else lowest
        lo, hi = (probe, hi) if probe.slope < 0 else (lo, probe)
    cut = at(lowest.s + _BEYOND * (1.0 - lowest.s))
    return lowest.point, cut if np.isfinite(cut.J) else lowest.point


class Probe(NamedTuple):
    """A point on a line, and the slope of J along the line there."""

    s: float
    point: Point
    slope: float


def _between(lo: Probe, hi: Probe, *, secant: bool) -> float:
    """Where to look next: where the slope would vanish, or where the tangents meet."""
    width = hi.s - lo.s
    if not np.isfinite(hi.slope):
        return lo.s + 0.1 * width
    if not lo.slope < 0:
        return lo.s + 0.5 * width
    share = lo.slope / (lo.slope - hi.slope)
    if not secant:
        share = (hi.point.J - lo.point.J - hi.slope * width) / ((lo.slope - hi.slope) * width)
    return lo.s + float(np.clip(share, 0.02, 0.98)) * width
