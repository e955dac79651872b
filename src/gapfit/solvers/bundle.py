"""The bundle method (BMRM): minimise alpha * Omega(w) + the maximum of the cuts collected so far.

Every evaluation of the risk gives a cut, a minorant that is tight at that point. The master problem finds
the minimiser of the model and, at once, the mixture of cuts that proves the model's minimum as a lower
bound. Where the next cut is taken makes the difference. The model is poor far from where it was cut, so its
minimiser (the papers' choice) jumps about. A level method asks for less, a point near the best one known at
which the model has come down part of the way to its minimum, and searches J along the line to it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gapfit._types import Slope
from gapfit.losses.forms import Smooth
from gapfit.problem import Problem
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.choice.work import work_of
from gapfit.solvers.cuts.master import Master
from gapfit.solvers.cuts.masters import master_for
from gapfit.solvers.cuts.quadratic_master import QuadraticMaster
from gapfit.solvers.cuts.segment import search
from gapfit.solvers.point import Point, at_best_offsets

_ENOUGH_CUTS = 10.0  # for each weight: so many pin it down, however hard the problem is
_NO_ZEROS = 20.0  # times as many cuts where the penalty makes weights zero: these know nothing of it
_PAST = 1.01  # go this many times as far as the point at the level
_REACH = 4.0  # how far beyond the level set's point to search, in units of the way to it


def effort_of_cuts(problem: Problem) -> Effort:
    """Two products a step, beside a small master problem; cuts are kept."""
    n, d, product, _, hard, short, _ = work_of(problem)
    steps = 2.5 * hard**0.25 * short**0.2
    if not problem.has(Smooth):
        steps = 3.0 * problem.risk.outputs * hard**0.3 * short**0.4
    steps = min(steps, _ENOUGH_CUTS * (d + 2.0))
    if not problem.penalty.smooth:
        steps *= _NO_ZEROS
    return Effort(0.0, 6e6 + 3 * product + 600.0 * n + 100.0 * d, steps, 8.0 * 100 * d)


@needs(effort=effort_of_cuts)
def bundle(
    problem: Problem,
    state: dict[str, Any] | None = None,
    *,
    zero_plane: bool | None = None,
    stabilise: str | None = "level",
) -> Steps:
    """Cutting planes with the exact master problem, for every loss and penalty. One step, one cut.

    A step costs one product with X, one with its transpose, and a few looks at the risk.

    Parameters
    ----------
    zero_plane : include the minorant R >= infimum among the cuts; by default where the risk has one.
    stabilise : where to cut.
        "level": near the lowest J on the line from the best point to the nearest one at which the model is
        low enough. For penalties that are not quadratic the same as "line_search": on the line to the model's
        minimiser. None: at the model's minimiser, as the papers do.
    """
    state = state or {}
    master = master_for(problem)
    move = _strategy(stabilise, problem, master)
    zero = problem.zero_plane()
    if zero is not None and zero_plane is not False and "cuts" not in state:
        master.add(zero)
    master.restore(state)
    if state.get("same"):  # go on in the middle of a step, as if nothing had happened
        best, point = move(state["best"], state["target"])
    else:
        w = state.get("w", problem.start())
        best = point = at_best_offsets(problem, w, problem.scores(w))
    while True:
        master.add(problem.minorant(point, point.scores))
        master.stay_near(best.w, best.J)
        model, target = master.minimise()
        now: dict[str, Any] = {**master.state(), "best": best, "target": target}
        yield Iterate(best.w, best.b, model, best.J, now.copy)
        best, point = move(best, target)


Move = Callable[[Point, Slope], tuple[Point, Point]]  # (best, model's minimiser) -> (new best, where to cut)


def _strategy(stabilise: str | None, problem: Problem, master: Master) -> Move:
    if stabilise is None:
        return partial(_plain, problem)
    if stabilise not in ("level", "line_search"):
        raise ValueError(f"stabilise must be 'level', 'line_search' or None, got {stabilise!r}")
    if stabilise == "level" and isinstance(master, QuadraticMaster):
        return partial(_level, problem, master)
    return partial(_line_search, problem)


def _plain(problem: Problem, best: Point, w: Slope) -> tuple[Point, Point]:
    """The papers' iterate: the model's minimiser, drawn back only if the risk overflows there."""
    point = at_best_offsets(problem, w, problem.scores(w), best.b)
    while not np.isfinite(point.J):
        w = 0.5 * (w + best.w)
        point = at_best_offsets(problem, w, problem.scores(w), best.b)
    return point, point


def _line_search(problem: Problem, best: Point, w: Slope) -> tuple[Point, Point]:
    return search(problem, best, at_best_offsets(problem, w, problem.scores(w), best.b))


def _level(problem: Problem, master: QuadraticMaster, best: Point, w: Slope) -> tuple[Point, Point]:
    del w  # the model's own minimiser serves the lower bound only
    # just beyond: at the point itself several cuts meet, and rounding would choose among the slopes of J
    w = best.w + _PAST * (master.at_level(best.w, best.J) - best.w)
    target = at_best_offsets(problem, w, problem.scores(w), best.b)
    master.learn(best.J, target.J)
    return search(problem, best, target, _REACH)
