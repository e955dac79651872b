"""A small fit that nobody watches: the first iterate whose guess is good enough, proved as any other.

The loop keeps the best point and the best bound, tells callbacks, writes checkpoints and looks at the clock.
A fit that ends after a millisecond needs none of that, and would spend most of its time on it. What is
returned rests on `certify` alone, as in the loop. Where no guess comes true, the loop goes on from there.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from itertools import islice
from numbers import Integral
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from gapfit import limits
from gapfit._types import Slope, Vector
from gapfit.certify import proved, running
from gapfit.checks import as_tolerance
from gapfit.driver.claims import claims
from gapfit.errors import ContractError
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.solution import Certificate, Iterate, Record, Solution, Status, as_intercept
from gapfit.solvers.base import OVERFLOWS, Steps, inner_solver, solver_name

logger = logging.getLogger("gapfit")

STEPS = 12  # of the solver, at most


class Attempt(NamedTuple):
    """The solution, if it was found; else the solver, for the loop, with the steps that it has taken."""

    solution: Solution | None
    solver: Callable[..., Steps]


def quietly() -> np.errstate:
    """A step that overflows is a bad step: its point and its bound are not taken, and nobody need be told."""
    return np.errstate(over="ignore", invalid="ignore", divide="ignore")


def is_plain(how: Mapping[str, Any]) -> bool:
    """Is there nothing among the options of `solve` that only the loop can do? Its log is one."""
    if logger.isEnabledFor(logging.INFO):
        return False
    unwatched = not how["callbacks"] and how["start"] is None and how["max_time"] == np.inf
    forgotten = not how.get("resumable")
    most = how["max_iter"]
    return unwatched and forgotten and isinstance(most, (int, Integral)) and int(most) >= STEPS


def at_once(problem: Problem, method: Callable[..., Steps], tol: float) -> Attempt:
    """Run some steps of a solver that guesses its gap, and prove the first guess that is small enough.

    Ctrl-C ends it with the point that it has, as in the loop.
    """
    as_tolerance(tol)
    began, name, steps = perf_counter(), solver_name(method), method(problem)
    seen: list[Iterate] = []
    history: list[Record] = []
    since = 0.0
    try:
        with quietly(), limits.Interrupts() as interrupts:
            for iterate in islice(steps, STEPS):
                seen.append(iterate)
                now = perf_counter() - began
                due = interrupts.pressed or _seems_enough(iterate, tol)
                history += claims(iterate, len(seen), since, now, due=due)
                since = now
                if due:
                    point = _proved(problem, iterate)
                    found = running(point.claim, point.minorant, point.certificate.dual)
                    history.append(Record(len(seen), perf_counter() - began, *found[:3]))
                    if interrupts.pressed:
                        return Attempt(_solution(point, Status.INTERRUPTED, history, name, len(seen)), method)
                    if point.certificate.relative_gap <= tol:
                        return Attempt(_solution(point, Status.CERTIFIED, history, name, len(seen)), method)
                if iterate.estimate is None:
                    break
    except OVERFLOWS:
        return Attempt(None, method)  # which will overflow again, where it is known what to do about it
    if interrupts.pressed:
        raise KeyboardInterrupt
    return Attempt(None, _going_on(method, seen, steps))


def _going_on(method: Callable[..., Steps], seen: Sequence[Iterate], steps: Steps) -> Callable[..., Steps]:
    """The solver as if it began: first the steps that it has taken, then all others."""

    @wraps(inner_solver(method))
    def again(problem: Problem, state: Any = None) -> Steps:
        certificate: Any = None
        for iterate in seen:
            certificate = yield iterate
        while (more := _next(steps, certificate)) is not None:
            certificate = yield more

    return again


def _next(steps: Steps, certificate: Certificate | None) -> Iterate | None:
    """What the solver makes of a certificate; None if it has ended."""
    try:
        return next(steps) if certificate is None else steps.send(certificate)
    except StopIteration:
        return None


def _seems_enough(iterate: Iterate, tol: float) -> bool:
    """By the solver's own guess, with its claim or guess of J; one that makes none is not for here."""
    guess, value = iterate.estimate, iterate.objective if iterate.primal is None else iterate.primal
    if not guess:
        return guess is not None  # what is left is rounding, or there is no guess
    value = value() if callable(value) else value
    return value is not None and guess <= tol * abs(value)


class _Proved(NamedTuple):
    """A point, and what is proved of it."""

    w: Slope
    b: Vector
    claim: float  # J there, by the solver, if it says it
    certificate: Certificate
    minorant: Minorant


def _proved(problem: Problem, iterate: Iterate) -> _Proved:
    """The iterate with its certificate, whatever that says."""
    w, b, scores = iterate.point(), iterate.b, None
    minorant = iterate.minorant() if callable(iterate.minorant) else iterate.minorant
    if iterate.tangent:
        _, minorant, scores, b = problem.oracle(w, b)
    elif iterate.primal is None:  # then the best offsets are for the driver to find
        b, scores = problem.best_offsets(w, b)
    if minorant is None or minorant.maker != problem.maker:
        raise ContractError("a solver may report only minorants that its problem has made")
    certificate, rests_on = proved(problem, w, b, minorant, scores, exact=False)
    claim = certificate.primal if iterate.primal is None else iterate.primal
    return _Proved(w, b, claim, certificate, rests_on)


def _solution(at: _Proved, status: Status, history: list[Record], solver: str, n_iter: int) -> Solution:
    w, b = at.w, as_intercept(at.b)
    return Solution(w, b, status, at.certificate, n_iter, history, at.minorant, solver, None)
