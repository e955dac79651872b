"""`solve`: minimise a problem until its duality gap is proved to be small enough."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np

from gapfit import limits, threads
from gapfit.checkpoint import ENDED, Part, as_plain, as_solution, opened
from gapfit.checks import as_tolerance
from gapfit.driver.best import Best
from gapfit.driver.known import Known
from gapfit.driver.loop import Callback, Loop
from gapfit.errors import as_number
from gapfit.problem import Problem
from gapfit.registry import as_solver
from gapfit.solution import Solution, Status
from gapfit.solvers.base import check_needs, solver_name

logger = logging.getLogger("gapfit")

_ENDS = (Status.STALLED, Status.MAX_ITER, Status.TIME_LIMIT)  # of a fit whose last proof may have been enough


def solve(
    problem: Problem,
    solver: str | Callable[..., Any] = "auto",
    *,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    max_time: float = np.inf,
    start: Any = None,
    callbacks: Iterable[Callback] = (),
    n_jobs: int | None = None,
    resumable: bool = True,
    checkpoint: Any = None,
) -> Solution:
    """Minimise the problem until its duality gap is proved to be small enough.

    Ctrl-C ends the fit with the best point so far and its certificate, and so does the time limit: a step
    that takes longer is given up.

    Parameters
    ----------
    problem : Problem
    solver : str or function, default="auto"
        A name (see `gapfit.registry.SOLVERS`) or a generator function; options go in with
        `functools.partial`, as in `partial(bundle, zero_plane=False)`.
    tol : float, default=1e-6
        Stop when gap <= tol * max(|primal|, |dual|). For optima at zero: or gap <= min(tol, 1e-12) times
        `Problem.scale`, the risk at w = 0 with its best intercept.
    max_iter, max_time : limits on the solver's steps and on seconds
        The reported gap is valid all the same. `max_time` counts from the call; what is found is certified
        beyond it, which takes a pass or two over the data.
    start : array or Solution, default=None
        A point w, or an earlier `Solution` to continue from. If that was found on the same data with the
        same loss (alpha and penalty may differ), its bounds are used again, else only its w.
    callbacks : iterable of functions
        Called with a `Progress` whenever the bounds were updated; a true answer stops the fit.
    n_jobs : int, default=None
        Threads; None for as many as there are cores, used where the work is worth it. The result is the same
        to the last bit for any number.
    resumable : bool, default=True
        Keep what `start` needs to go on from this solution with all that is known: the solver's state, and a
        fingerprint of the data, which costs a pass over them. Without it, only w is used again.
    checkpoint : path, default=None
        A file that keeps what is known while the fit runs, written every few seconds and when a limit, a
        callback or an interrupt ends it. The same call goes on from it, with the same bytes as if nothing had
        happened: steps before count towards `max_iter`, seconds do not towards `max_time`, and `start` is not
        used again. A fit that ends by itself removes it. See the page on checkpoints.

    Returns
    -------
    Solution
        Its w is in the precision of X, unless rounding it to that would spoil the tolerance.
    """
    as_tolerance(tol)
    if not isinstance(max_iter, Integral):
        raise TypeError(f"max_iter must be an integer, got {max_iter!r}")
    if not (as_number("max_iter", max_iter) >= 0 and as_number("max_time", max_time) >= 0):
        raise ValueError(f"max_iter and max_time must not be negative, got {max_iter!r} and {max_time!r}")
    began, spent = perf_counter(), problem.design.cost
    method, callbacks = as_solver(solver), tuple(callbacks)
    check_needs(method, problem)
    problem.design.check_convex()
    name = solver_name(method)
    # a step that overflows is a bad step: its point and its bound are not taken, and nobody need be told
    quietly = np.errstate(over="ignore", invalid="ignore", divide="ignore")
    with threads.using(n_jobs), quietly, limits.Interrupts() as interrupts:
        known_by = resumable or checkpoint is not None or isinstance(start, Solution)
        mark = problem.fingerprint() if known_by else None
        with opened(checkpoint, problem, method, name, mark) as part:
            if part is not None and (earlier := _ended(part, tol)) is not None:
                part.end(None)
                return earlier
            known = Known.of(start, problem, name, mark)
            fit = Loop(
                problem, method, known, part, Best(problem, known, tol, began, began + max_time), interrupts
            )
            status = fit.run(max_iter, max_time, callbacks)
            if status in _ENDS and fit.best.met():
                status = Status.CERTIFIED
            solution = fit.best.solution(status, name, mark if resumable else None)
            if part is not None and status in ENDED:
                part.end(as_plain(solution, tol))
    best = fit.best
    if spent is not None and (now := problem.design.cost) is not None:
        solution = replace(solution, cost=now.since(spent))
        told = (name, solution.cost.passes, solution.cost.bytes / 1e6, solution.cost.seconds)
        logger.info("%s: %d passes, %.1f MB, %.2f s of passing", *told)
    if interrupts.pressed:  # perhaps when all was done: who pressed wants no more fits after this one
        solution = replace(solution, status=Status.INTERRUPTED)
    logger.info("%s: %s after %d steps, gap %.3g", name, status.name, best.n_iter, solution.certificate.gap)
    return solution


def _ended(part: Part, tol: float) -> Solution | None:
    """The solution that a checkpoint holds, if it was to meet this tolerance."""
    if part.solution is None:
        return None
    with part.restoring():
        return as_solution(part.solution) if part.solution["tol"] == tol else None
