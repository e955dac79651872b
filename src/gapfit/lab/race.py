"""Every solver that takes a problem, and installed peers, against the clock.

gapfit's solvers show the gap that they had proved by then. Peers prove nothing: of each, the true
suboptimality is shown, its objective minus the best lower bound that the race has proved.
"""

import warnings
from collections.abc import Callable, Iterator
from math import inf
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from gapfit.lab.page import Table
from gapfit.lab.peers import GROWTH, Peer, Task, applicable
from gapfit.lab.style import CYCLE, DASHES, GREY, canvas
from gapfit.lab.warm import warm_up
from gapfit.problem import Problem
from gapfit.registry import SOLVERS, as_solver
from gapfit.solution import Status
from gapfit.solve import solve
from gapfit.solvers.base import missing_need

SQUARE = ("newton", "semismooth_newton")  # factorise a matrix of features x features
MOST_FEATURES = 5000  # beyond, that matrix fits nowhere
MANY = 10**7  # steps: the clock decides
FEW_POINTS = 8  # make no curve

Say = Callable[[str], Any]


class Entrant(NamedTuple):
    """What a solver did: points (seconds, objective, bound) in the order of time; how it ended.

    The proof of a gap costs time, so solvers make few when nobody watches. Ours run once unwatched, for the
    time, and then watched, for the curve.
    """

    name: str
    ours: bool
    points: list[tuple[float, float, float]]
    outcome: str
    alone: float = inf  # seconds of the unwatched run, if that was certified

    @property
    def objective(self) -> float:
        """The lowest one reached."""
        return min((J for _, J, _ in self.points), default=inf)

    @property
    def bound(self) -> float:
        """The highest one proved."""
        return max((D for _, _, D in self.points), default=-inf)


class Result(NamedTuple):
    """A race that is over."""

    entrants: list[Entrant]
    tol: float

    @property
    def bound(self) -> float:
        """The best lower bound of the minimum that anybody proved."""
        return max(entrant.bound for entrant in self.entrants)

    def gaps(self, entrant: Entrant) -> list[tuple[float, float]]:
        """(seconds, relative gap): certified for ours, true for peers, the best so far."""
        found, best = [], inf
        for seconds, J, D in entrant.points:
            low = D if entrant.ours else self.bound
            scale = max(abs(J), abs(low))
            gap = (J - low) / scale if 0 < scale < inf else float(low != J) * inf
            best = min(best, gap)
            found.append((seconds, best))
        return found

    def seconds(self, entrant: Entrant) -> float:
        """Until the gap was at most tol; infinity if it never was."""
        if entrant.ours:
            return entrant.alone
        return min((seconds for seconds, gap in self.gaps(entrant) if gap <= self.tol), default=inf)

    def ranked(self) -> list[Entrant]:
        """By the time to tol, then by the gap reached."""
        return sorted(
            self.entrants, key=lambda e: (self.seconds(e), self.gaps(e)[-1][1] if e.points else inf)
        )


def race(task: Task, *, tol: float, max_time: float, peers: bool, say: Say) -> Result:
    """Run everybody for `max_time` seconds at most, or until the relative gap is `tol`."""
    entrants = []
    for name in contestants(task.problem):
        entrants.append(_ours(task.problem, name, tol, max_time))
        say(_told(entrants[-1]))
    bound = max((entrant.bound for entrant in entrants), default=-inf)
    for peer in applicable(task) if peers else ():
        entrants.append(_theirs(task, peer, tol, max_time, bound))
        say(_told(entrants[-1]))
    return Result(entrants, tol)


def contestants(problem: Problem) -> Iterator[str]:
    """The solvers of this version that take the problem."""
    for name in SOLVERS:
        too_wide = name in SQUARE and problem.design.shape[1] > MOST_FEATURES
        if not too_wide and missing_need(as_solver(name), problem) is None:
            yield name


def _ours(problem: Problem, name: str, tol: float, max_time: float) -> Entrant:
    try:
        warm_up(problem, name)
        began = perf_counter()
        alone = solve(problem, name, tol=tol, max_iter=MANY, max_time=max_time)
        seconds = perf_counter() - began
        if alone.status is Status.INTERRUPTED:  # the fit has taken it for itself; it was meant for the race
            raise KeyboardInterrupt
        history = [record for record in alone.history if record.proved]
        if len(history) < FEW_POINTS:
            watch = [lambda progress: None]
            again = solve(problem, name, tol=tol, max_iter=MANY, max_time=2 * seconds, callbacks=watch)
            history += [record for record in again.history if record.proved]
    except (ValueError, TypeError, MemoryError) as error:
        return Entrant(name, True, [], f"no: {error}")
    points = sorted((record.time, record.primal, record.dual) for record in history)
    certified = alone.status is Status.CERTIFIED
    outcome = "certified" if certified else alone.status.name.lower().replace("_", " ")
    return Entrant(name, True, points, outcome, seconds if certified else inf)


def _theirs(task: Task, peer: Peer, tol: float, max_time: float, bound: float) -> Entrant:
    """A peer with growing effort, each time from the start and for `max_time` at most, until it is there."""
    points: list[tuple[float, float, float]] = []
    for effort in peer.efforts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of stopping early, which is what it was told to do
            start = perf_counter()
            try:
                w, b = peer.fit(task, effort)
            except (ValueError, TypeError, MemoryError) as error:
                return Entrant(peer.name, False, points, f"no: {error}")
            seconds = perf_counter() - start
        offsets = np.full(task.problem.n_offsets, b)
        J = task.problem.evaluate(w, offsets)
        points.append((seconds, J, -inf))
        if J - bound <= tol * max(abs(J), abs(bound)):
            return Entrant(peer.name, False, sorted(points), "arrived")
        if GROWTH * seconds > max_time:
            return Entrant(peer.name, False, sorted(points), "time limit")
    return Entrant(peer.name, False, sorted(points), "gave all it has")


def _told(entrant: Entrant) -> str:
    if not entrant.points:
        return f"{entrant.name}: {entrant.outcome}"
    return f"{entrant.name}: {entrant.outcome}, J {entrant.objective:.8g}, {entrant.points[-1][0]:.2f} s"


def fields(result: Result) -> dict[str, Any]:
    """Who reached the tolerance when, and how far the others got, for machines."""
    rows = []
    for entrant in result.ranked():
        gaps, seconds = result.gaps(entrant), result.seconds(entrant)
        rows.append(
            {
                "solver": entrant.name,
                "certified": entrant.ours,
                "seconds": seconds if seconds < inf else None,
                "relative_gap": gaps[-1][1] if gaps else None,
                "objective": entrant.objective if gaps else None,
                "outcome": entrant.outcome,
                "points": [list(point) for point in gaps],
            }
        )
    return {"tol": result.tol, "bound": result.bound, "solvers": rows}


def table(result: Result) -> Table:
    """The same for people."""

    def cell(number: float | None, form: str) -> str:
        return "" if number is None else format(number, form)

    rows = [
        (row["solver"], cell(row["seconds"], ".3f"), cell(row["relative_gap"], ".1e"),
         "certified" if row["certified"] else "true, by the others' bound",
         cell(row["objective"], ".8g"), row["outcome"])
        for row in fields(result)["solvers"]
    ]  # fmt: skip
    head = ("solver", f"seconds to {result.tol:g}", "relative gap", "which is", "objective", "outcome")
    return Table("Time to the tolerance", head, rows)


def draw(result: Result, title: str) -> Any:
    """One picture: relative gap against seconds."""
    with canvas(1, 1, 7.5, 4.6) as (figure, axes):
        axis = axes[0, 0]
        for ours in (True, False):
            for k, entrant in enumerate(e for e in result.ranked() if e.ours == ours and e.points):
                points = [(t, max(gap, 1e-16)) for t, gap in result.gaps(entrant) if gap < inf]
                dash, marks = (DASHES[k // len(CYCLE)], "o") if ours else (":", "xs^vD<>"[k % 7])
                axis.plot(
                    *zip(*points, strict=True), dash, marker=marks, ms=3.5 if len(points) < 60 else 0,
                    color=CYCLE[(k if ours else -1 - k) % len(CYCLE)], lw=1.5,
                    label=entrant.name if ours else f"{entrant.name}, true error",
                )  # fmt: skip
        axis.axhline(result.tol, color=GREY, lw=0.8, zorder=0)
        axis.set(xscale="log", yscale="log", xlabel="seconds", ylabel="relative gap", title=title)
        axis.set_ylim(max(result.tol / 30, 1e-16), 3)
        figure.legend(loc="outside right upper")
    return figure
