"""A fit that ends as soon as the labels of given rows are certain, whatever its gap is then."""

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

from gapfit._types import Data
from gapfit.design.base import Design
from gapfit.problem import Problem
from gapfit.solution import Solution, Status
from gapfit.statements import optimal_ball

_STEP = 0.1  # of the tolerance, from one look at the labels to the next
_FIRST = 1e-1


def until_certain(
    problem: Problem, rows: Design, solve: Callable[[Any], Solution], how: dict[str, Any]
) -> Solution:
    """Solve with smaller and smaller tolerances, each from the last one's end, down to the one asked for."""
    tol, began = max(_FIRST, how["tol"]), perf_counter()
    while True:
        left = max(how["max_time"] - (perf_counter() - began), 0.0)
        solution = solve({**how, "tol": max(tol, how["tol"]), "max_time": left, "resumable": True})
        if solution.status is not Status.CERTIFIED:
            return solution
        ball = optimal_ball(problem, solution)
        if ball is not None:
            lo, hi = ball.score_bounds(rows)
            if ((lo > 0) | (hi < 0)).all():
                enough = solution.certificate.relative_gap <= how["tol"]
                return solution if enough else replace(solution, status=Status.PREDICTIONS)
        if tol <= how["tol"]:
            return solution
        tol, how = tol * _STEP, {**how, "start": solution}


def rows_to_watch(model: Any, X: Any, watch: Any, *, two: bool) -> Data | None:
    """The rows whose labels end the fit of a classifier, if any do; it must tell `two` classes apart."""
    if model.stop_when == "gap":
        if watch is not None:
            raise ValueError('watch goes with stop_when="predictions"')
        return None
    if not two:
        raise ValueError('stop_when="predictions" is for two classes and losses of one score')
    if model.checkpoint is not None:
        raise ValueError('checkpoint keeps one fit, and stop_when="predictions" makes several in turn')
    return model._rows(X if watch is None else watch, reset=False)
