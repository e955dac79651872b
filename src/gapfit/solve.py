"""The only loop: run a solver, certify what it yields, keep the best bounds, decide when to stop."""

import logging
from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from numbers import Integral
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from gapfit import limits, threads
from gapfit._types import Slope, Vector
from gapfit.certify import certify, certify_claim
from gapfit.errors import UnboundedProblem, as_number
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.registry import as_solver
from gapfit.solution import Certificate, Iterate, Progress, Record, Solution, Status, as_intercept
from gapfit.solvers.base import OVERFLOWS, check_needs, solver_name

logger = logging.getLogger("gapfit")

_LAST_OFFSETS = 0.3  # seconds for the offsets of the last iterate when time is up

Callback = Callable[[Progress], Any]


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
        Stop when gap <= tol * max(|primal|, |dual|). For optima at zero: or gap <= min(tol, 1e-12) times the
        objective (or the gap, if larger) at the start.
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

    Returns
    -------
    Solution
    """
    if not 0 <= as_number("tol", tol) < np.inf:
        raise ValueError(f"tol must be non-negative and finite, got {tol!r}")
    if not isinstance(max_iter, Integral):
        raise TypeError(f"max_iter must be an integer, got {max_iter!r}")
    if not (as_number("max_iter", max_iter) >= 0 and as_number("max_time", max_time) >= 0):
        raise ValueError(f"max_iter and max_time must not be negative, got {max_iter!r} and {max_time!r}")
    began = perf_counter()
    method = as_solver(solver)
    check_needs(method, problem)
    name = solver_name(method)
    with threads.using(n_jobs), limits.Interrupts() as interrupts:
        known = _Known.of(start, problem, name)
        best = _Best(problem, known, tol, began, began + max_time)
        steps = method(problem, state=known.state)
        status = _drive(best, steps, max_iter, max_time, tuple(callbacks), interrupts)
        solution = best.solution(status, name, resumable)
    if interrupts.pressed:  # perhaps when all was done: who pressed wants no more fits after this one
        solution = replace(solution, status=Status.INTERRUPTED)
    logger.info("%s: %s after %d steps, gap %.3g", name, status.name, best.n_iter, solution.certificate.gap)
    return solution


class _Known(NamedTuple):
    """What is known before the first step."""

    state: dict[str, Any]  # for the solver; "w" is the point to start from, if there is one
    minorant: Minorant | None

    @classmethod
    def of(cls, start: Any, problem: Problem, solver: str) -> "_Known":
        if start is None:
            return cls({}, None)
        earlier = start if isinstance(start, Solution) else None
        w = np.array(start if earlier is None else earlier.w, dtype=np.float64)
        d = problem.design.shape[1]
        if w.shape != (d,) or not np.isfinite(w).all():
            raise ValueError(f"start must be a finite vector of length {d}, got shape {w.shape}")
        if earlier is None or earlier.fingerprint != problem.fingerprint():
            return cls({"w": w}, None)  # bounds found on other data prove nothing here
        return cls({**(earlier.state if earlier.solver == solver else {}), "w": w}, earlier.minorant)


def _drive(
    best: "_Best",
    steps: Generator[Iterate, Certificate, None],
    max_iter: int,
    max_time: float,
    callbacks: tuple[Callback, ...],
    interrupts: limits.Interrupts,
) -> Status:
    """Run the solver until something ends it, and say what."""
    schedule = _Schedule(watched=bool(callbacks))
    certificate = None
    try:
        while True:
            if best.proved():
                return Status.CERTIFIED
            if best.hopeless():
                return Status.STALLED
            if best.n_iter >= max_iter:
                return Status.MAX_ITER
            if best.elapsed() >= max_time or interrupts.pressed:
                return best.ended(Status.INTERRUPTED if interrupts.pressed else Status.TIME_LIMIT)
            try:
                with limits.until(best.deadline), interrupts.allowed():
                    iterate = next(steps) if certificate is None else steps.send(certificate)
            except StopIteration:
                return Status.STALLED
            except OVERFLOWS as error:
                logger.info("a step overflowed: %s", error)
                best.tear()
                return best.ended(Status.STALLED)
            best.n_iter += 1
            best.latest = best.unseen = iterate
            last = best.n_iter >= max_iter or best.elapsed() >= max_time
            if last or schedule.due(best, iterate):
                record = best.take(iterate)
                schedule.looked(best, iterate)
                logger.debug("step %d: primal %.10g, dual %.10g, gap %.3g", *record[:1], *record[2:])
                with interrupts.allowed():
                    stop = _any_asks_to_stop(callbacks, Progress(*record, best.w, as_intercept(best.b)))
                if stop:
                    return Status.CERTIFIED if best.proved() else Status.STOPPED
            certificate = best.certificate
    except (limits.TimeUp, KeyboardInterrupt) as cut:
        best.tear()
        return best.ended(Status.TIME_LIMIT if isinstance(cut, limits.TimeUp) else Status.INTERRUPTED)


class _Schedule:
    """When to certify: a claim costs nothing to take, anything else a pass or two over the data.

    A solver may guess its gap. Then the driver looks when the guess, corrected by how wrong it was last time,
    is good enough; a guess decides nothing else. Who watches a fit is told at growing intervals all the same.
    Steps are counted, not seconds: a fit must be repeatable.
    """

    def __init__(self, watched: bool) -> None:
        self.watched = watched
        self.next = 1
        self.guessed, self.correction, self.hidden = 1.0, 1.0, 0.0  # at the last look

    def due(self, best: "_Best", iterate: Iterate) -> bool:
        if iterate.estimate is None:
            return iterate.primal is not None or best.n_iter >= self.next
        overdue = best.n_iter >= (self.next if self.watched else max(64, 4 * self.next))
        guess = self._corrected(iterate.estimate)
        if (overdue and iterate.estimate < np.inf) or best.out_of_patience():
            return True
        return best.suffices(guess, iterate.objective)

    def _corrected(self, estimate: float) -> float:
        """A part of the gap that the solver did not see last time falls more slowly than what it sees."""
        progress = min(max(estimate, 0.0) / self.guessed, 1.0)
        return self.correction * estimate + self.hidden * float(np.sqrt(progress))

    def looked(self, best: "_Best", iterate: Iterate) -> None:
        self.next = best.n_iter + 1 + best.n_iter // 4
        if iterate.estimate is not None and iterate.estimate > 0:
            ratio = min(max(best.certificate.gap / iterate.estimate, 0.1), 10.0)
            self.guessed, self.correction = iterate.estimate, min(ratio, 1.0)
            self.hidden = (ratio - self.correction) * iterate.estimate


def _any_asks_to_stop(callbacks: tuple[Callback, ...], progress: Progress) -> bool:
    """Call every callback, also after one has asked to stop."""
    answers = [callback(progress) for callback in callbacks]
    return any(answers)


class _Best:
    """The best point and the best minorant so far, and whether they prove enough."""

    def __init__(self, problem: Problem, known: _Known, tol: float, began: float, deadline: float) -> None:
        self.problem, self.tol = problem, tol
        self.began, self.deadline = began, deadline  # by `perf_counter`
        self.n_iter = self.looked_at = 0
        self.latest: Iterate | None = None
        self.unseen: Iterate | None = None  # the same, unless the driver has looked at it
        self.history: list[Record] = []
        self.snapshot: Callable[[], dict[str, Any]] = dict
        started = "w" in known.state
        if started and not np.isfinite(problem.evaluate(known.state["w"], np.zeros(problem.n_offsets))):
            del known.state["w"]  # a start outside the domain is no start
            started = False
        self.w: Slope = known.state["w"] if started else problem.start()
        self.b: Vector
        bounds = [problem.zero_plane(), known.minorant]
        if started or bounds[0] is None:  # costs a pass over the data
            at = problem.oracle(self.w)
            self.b, self.primal = at.b, problem.alpha * problem.penalty.value(self.w) + at.risk
            bounds.append(at.minorant)
        else:
            self.primal, self.b = problem.best(self.w, np.zeros(problem.n_offsets))
        self.evaluated = True  # by the driver, not claimed by a solver
        self.minorant = max((problem.feasible(m) for m in bounds if m is not None), key=problem.dual)
        self.dual = problem.dual(self.minorant)
        self.demand = 1.0  # shrinks when the recomputed gap turns out larger than the running one
        self.best_gap, self.improved_at = np.inf, 0
        self.certificate = self._certificate()
        self.scale = max(abs(self.primal), self.certificate.gap if np.isfinite(self.dual) else 0.0)
        self.atol = min(tol, 1e-12) * self.scale  # for optima at zero

    def elapsed(self) -> float:
        return perf_counter() - self.began

    def take(self, iterate: Iterate) -> Record:
        """Certify an iterate, keep what improves a bound, and write the history."""
        problem, w, primal, b = self.problem, iterate.point(), iterate.primal, iterate.b
        if primal is None:
            primal, b = self._value(w, b)
        minorant = iterate.minorant() if callable(iterate.minorant) else iterate.minorant
        if self.dual == -np.inf and primal < -1e9 * (1.0 + self.scale):
            raise UnboundedProblem(
                f"{problem.loss!r} with {problem.penalty!r} falls below {primal:.3g}: no minimum"
            )
        if primal < self.primal:
            self.w, self.b, self.primal = w.copy(), b.copy(), primal
            self.evaluated = iterate.primal is None
        if minorant is not None:
            self._offer(problem.feasible(minorant))
        self.snapshot = iterate.snapshot
        self.certificate = self._certificate()
        if self.certificate.gap < 0.999 * self.best_gap:
            self.best_gap, self.improved_at = self.certificate.gap, self.n_iter
        record = Record(self.n_iter, self.elapsed(), *self.certificate[:3])
        self.history.append(record)
        self.looked_at, self.unseen = self.n_iter, None
        return record

    def tear(self) -> None:
        """The solver was cut off in the middle of a step: its arrays may be half way to the next iterate.

        That makes another point and another bound of the last one, often better ones, or none at all. So it
        is to be looked at again; nothing counts that was claimed for it, and no state is there to go on from.
        """
        self.snapshot, self.evaluated = dict, False
        if self.latest is not None:
            self.unseen = self.latest._replace(primal=None, snapshot=dict)

    def ended(self, how: Status) -> Status:
        """Look at the last iterate, if that was not done, before the fit ends so."""
        if self.unseen is not None:
            try:
                self.take(self.unseen)
            except Exception as error:  # whatever a torn iterate may lead to, what was found before counts
                logger.debug("the last iterate cannot be used: %s", error)
        return Status.CERTIFIED if how is not Status.INTERRUPTED and self.proved() else how

    def _value(self, w: Slope, b: Vector) -> tuple[float, Vector]:
        """J at the best offsets and these, or, where time is up before they are found, at those given."""
        try:
            with limits.until(max(self.deadline, perf_counter()), _LAST_OFFSETS):
                return self.problem.best(w, b)
        except limits.TimeUp:
            return self.problem.evaluate(w, b), b

    def proved(self) -> bool:
        """Is the tolerance met, and confirmed on the very point that would be returned?"""
        if not self._meets(self.certificate, self.demand):
            return False
        if self._meets(self._final(), 1.0):
            return True
        self.demand *= 0.1
        return False

    def suffices(self, gap: float, objective: float | Callable[[], float] | None) -> bool:
        """Would such a gap be enough, at such an objective?"""
        if gap > self._enough(max(abs(self.primal), abs(self.dual))):
            return False  # at no objective between the bounds
        primal = self.primal if objective is None else objective() if callable(objective) else objective
        return gap <= self._enough(abs(primal))

    def _enough(self, scale: float) -> float:
        return self.demand * max(self.tol * scale, self.atol)

    def hopeless(self) -> bool:
        """Is the remaining gap rounding, or has nothing improved over half of a long run?"""
        certificate = self.certificate
        rounding_only = certificate.gap > 2 * (certificate.primal - certificate.dual)
        patience_lost = self.looked_at == self.n_iter and self.out_of_patience()
        return rounding_only or patience_lost or self.demand < 1e-3

    def out_of_patience(self) -> bool:
        """Was no look better over half of a long run? Then it is time for one, the last one if it fails."""
        return self.n_iter > max(2 * self.improved_at, self.improved_at + 200)

    def solution(self, status: Status, solver: str, resumable: bool) -> Solution:
        w, b = self._output()
        return Solution(
            w=w,
            intercept=as_intercept(b),
            status=status,
            certificate=self._final(),
            n_iter=self.n_iter,
            history=self.history,
            minorant=self.minorant,
            solver=solver,
            fingerprint=self.problem.fingerprint() if resumable else None,
            state=self.snapshot() if resumable else {},
        )

    def _offer(self, minorant: Minorant) -> None:
        dual = self.problem.dual(minorant)
        if dual > self.dual:
            self.minorant, self.dual = minorant, dual

    def _certificate(self) -> Certificate:
        return certify_claim(self.problem, self.w, self.primal, self.minorant, self.dual)

    def _output(self) -> tuple[Slope, Vector]:
        """The point in the precision of the data, with the offset that suits it."""
        w = self.w.astype(self.problem.dtype, copy=False)
        if w is self.w:
            return w, self.b
        w64 = w.astype(np.float64)
        return w, self.problem.tangent(self.problem.scores(w64), self.b)[3]

    def _final(self) -> Certificate:
        """The certificate of the point as it will be returned, computed from nothing but X, y and w."""
        w, b = self._output()
        if self.evaluated and w is self.w:
            return self.certificate
        return certify(self.problem, w.astype(np.float64), b, self.minorant)

    def _meets(self, certificate: Certificate, demand: float) -> bool:
        return certificate.relative_gap <= demand * self.tol or certificate.gap <= demand * self.atol
