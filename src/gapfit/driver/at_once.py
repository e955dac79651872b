"""A small fit that nobody watches: the first iterate whose guess is good enough, proved as any other.

The loop keeps the best point and the best bound, tells callbacks, writes checkpoints and looks at the clock.
A fit that ends after a millisecond needs none of that, and would spend most of its time on it. What is
returned rests on `certify` alone, as in the loop. Where no guess comes true, the loop goes on from there.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from gapfit import limits
from gapfit._types import Slope
from gapfit.certify import proved
from gapfit.checks import as_tolerance
from gapfit.errors import ContractError
from gapfit.problem import Problem
from gapfit.solution import Iterate, Record, Solution, Status, as_intercept
from gapfit.solvers.base import OVERFLOWS, solver_name

logger = logging.getLogger("gapfit")

STEPS = 4  # of the solver, at most


class Attempt(NamedTuple):
    """The solution, if it was found; else the last point, to go on from."""

    solution: Solution | None
    w: Slope | None


def at_once(problem: Problem, method: Callable[..., Any], tol: float) -> Attempt:
    """Run some steps of a solver that guesses its gap, and prove the first guess that is small enough.

    Ctrl-C ends it with the point that it has, as in the loop.
    """
    as_tolerance(tol)
    began, name, last = perf_counter(), solver_name(method), None
    quietly = np.errstate(over="ignore", invalid="ignore", divide="ignore")
    try:
        with quietly, limits.Interrupts() as interrupts:
            for n_iter, iterate in enumerate(islice(method(problem), STEPS), 1):
                last = iterate
                if interrupts.pressed or _seems_enough(iterate, tol):
                    solution = _proved(problem, iterate, (name, n_iter, perf_counter() - began))
                    if interrupts.pressed:
                        return Attempt(replace(solution, status=Status.INTERRUPTED), None)
                    if solution.certificate.relative_gap <= tol:
                        logger.info("%s: %s after %d steps", name, solution.status.name, n_iter)
                        return Attempt(solution, None)
    except OVERFLOWS as error:
        logger.info("a step overflowed: %s", error)
        return Attempt(None, None)
    if interrupts.pressed:
        raise KeyboardInterrupt
    return Attempt(None, None if last is None else last.point())


def _seems_enough(iterate: Iterate, tol: float) -> bool:
    """By the solver's own guess; one that makes none is not for here."""
    objective = iterate.objective() if callable(iterate.objective) else iterate.objective
    return iterate.estimate is not None and objective is not None and iterate.estimate <= tol * abs(objective)


def _proved(problem: Problem, iterate: Iterate, how: tuple[str, int, float]) -> Solution:
    """The iterate as a solution, with its certificate, whatever that says."""
    solver, n_iter, seconds = how
    w = iterate.point()
    minorant = iterate.minorant() if callable(iterate.minorant) else iterate.minorant
    if minorant is None or minorant.maker != problem.maker:
        raise ContractError("a solver may report only minorants that its problem has made")
    certificate, rests_on = proved(problem, w, iterate.b, minorant, None, exact=False)
    return Solution(
        w=w,
        intercept=as_intercept(iterate.b),
        status=Status.CERTIFIED,
        certificate=certificate,
        n_iter=n_iter,
        history=[Record(n_iter, seconds, *certificate[:3])],
        minorant=rests_on,
        solver=solver,
        fingerprint=None,
    )
