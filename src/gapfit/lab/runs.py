"""The papers' methods on any problem, step by step, in their own conventions."""

from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.solution import Iterate
from gapfit.solvers.base import Steps
from gapfit.solvers.bundle import bundle
from gapfit.solvers.line_search_bundle import line_search_bundle


class Trace(NamedTuple):
    """w_k, J(w_k) and D_k for k = 0, 1, ...; D_0 = -inf without the zero plane."""

    w: list[Slope]
    J: Vector
    D: Vector

    @property
    def gamma(self) -> Vector:
        """J(w_k) - D_k."""
        return self.J - self.D

    @property
    def eps(self) -> Vector:
        """min over i <= k of J(w_i), minus D_k: the certificate, w_0 included."""
        return np.minimum.accumulate(self.J) - self.D


Method = Callable[[Problem, Slope, int, bool], Trace]


def qp_bmrm(problem: Problem, start: Slope, steps: int, zero_plane: bool = False) -> Trace:
    """w_0 and `steps` further iterates of the bundle method with the exact master problem.

    This is `bundle(zero_plane=..., stabilise=None)`, which reports w_k with the model that is cut there.
    """
    method = bundle(problem, {"w": start}, zero_plane=zero_plane, stabilise=None)
    found = list(islice(run(method), steps + 1))
    D = [problem.dual(model(step)) for step in found[:-1]]
    return _trace(problem, [step.point() for step in found], [0.0 if zero_plane else -np.inf, *D])


def ls_bmrm(problem: Problem, start: Slope, steps: int, zero_plane: bool = False) -> Trace:
    """The same with a line search in place of the master; with the zero plane it starts from w = 0.

    This is `line_search_bundle(zero_plane=...)`, which reports w_k with the model that it minimises.
    """
    if zero_plane:
        found = list(islice(run(line_search_bundle(problem, zero_plane=True)), steps + 1))
        before: list[Slope] = []
    else:
        method = line_search_bundle(problem, {"w": start}, zero_plane=False)
        found, before = list(islice(run(method), steps)), [start]
    D = [problem.dual(model(step)) for step in found]
    return _trace(problem, [*before, *(step.point() for step in found)], [-np.inf] * len(before) + D)


def run(steps: Steps) -> Steps:
    """The iterates, with nothing sent back."""
    iterate = next(steps)
    while True:
        yield iterate
        try:
            iterate = steps.send(None)  # type: ignore[arg-type]
        except StopIteration:
            return


def model(step: Iterate) -> Minorant:
    """The minorant that a solver reports with a point."""
    found = step.minorant() if callable(step.minorant) else step.minorant
    assert found is not None
    return found


def _trace(problem: Problem, points: list[Slope], D: list[float]) -> Trace:
    J = [problem.alpha * problem.penalty.value(w) + problem.oracle(w).risk for w in points]
    return Trace(points, np.array(J), np.array(D[: len(points)]))
