"""The only loop: run a solver, certify what it yields, keep the best bounds, decide when to stop."""

import logging
from collections.abc import Callable, Generator, Iterable
from numbers import Integral
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from gapfit import threads
from gapfit._types import Slope, Vector
from gapfit.certify import certify, certify_claim
from gapfit.checkpoint import ENDED, Part, as_history, as_plain, as_solution, opened
from gapfit.errors import UnboundedProblem, as_number
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.registry import as_solver
from gapfit.solution import Certificate, Iterate, Progress, Record, Solution, Status, as_intercept
from gapfit.solvers.base import check_needs, solver_name

logger = logging.getLogger("gapfit")

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
    checkpoint: Any = None,
) -> Solution:
    """Minimise the problem until its duality gap is proved to be small enough.

    Ctrl-C ends the fit with the best point so far and its certificate.

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
        The reported gap is valid all the same.
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
    """
    if not 0 <= as_number("tol", tol) < np.inf:
        raise ValueError(f"tol must be non-negative and finite, got {tol!r}")
    if not isinstance(max_iter, Integral):
        raise TypeError(f"max_iter must be an integer, got {max_iter!r}")
    if not (as_number("max_iter", max_iter) >= 0 and as_number("max_time", max_time) >= 0):
        raise ValueError(f"max_iter and max_time must not be negative, got {max_iter!r} and {max_time!r}")
    method, callbacks = as_solver(solver), tuple(callbacks)
    check_needs(method, problem)
    name = solver_name(method)
    with threads.using(n_jobs):
        known_by = resumable or checkpoint is not None or isinstance(start, Solution)
        mark = problem.fingerprint() if known_by else None
        with opened(checkpoint, problem, method, name, mark) as part:
            if part is not None and part.solution is not None and part.solution["tol"] == tol:
                part.end(None)
                return as_solution(part.solution)
            known = _Known.of(start, problem, name, mark)
            fit = _Fit(problem, method, tol, known, bool(callbacks), part)
            status = fit.run(max_iter, max_time, callbacks)
            solution = fit.best.solution(status, name, mark if resumable else None)
            if part is not None and status in ENDED:
                part.end(as_plain(solution, tol))
    best = fit.best
    logger.info("%s: %s after %d steps, gap %.3g", name, status.name, best.n_iter, solution.certificate.gap)
    return solution


class _Known(NamedTuple):
    """What is known before the first step."""

    state: dict[str, Any]  # for the solver; "w" is the point to start from, if there is one
    minorant: Minorant | None

    @classmethod
    def of(cls, start: Any, problem: Problem, solver: str, fingerprint: str | None) -> "_Known":
        if start is None:
            return cls({}, None)
        earlier = start if isinstance(start, Solution) else None
        w = np.array(start if earlier is None else earlier.w, dtype=np.float64)
        d = problem.design.shape[1]
        if w.shape != (d,) or not np.isfinite(w).all():
            raise ValueError(f"start must be a finite vector of length {d}, got shape {w.shape}")
        if earlier is None or earlier.fingerprint != fingerprint:
            return cls({"w": w}, None)  # bounds found on other data prove nothing here
        return cls({**(earlier.state if earlier.solver == solver else {}), "w": w}, earlier.minorant)


class _Fit:
    """The solver and what is known of its progress: all that a checkpoint has to hold."""

    def __init__(
        self, problem: Problem, method: Any, tol: float, known: _Known, watched: bool, part: Part | None
    ) -> None:
        self.problem, self.part = problem, part
        self.best, self.schedule = _Best(problem, known, tol), _Schedule(watched)
        state = known.state
        if part is not None and part.state is not None:
            self.best.restore(part.state["best"])
            self.schedule.restore(part.state["schedule"])
            problem.design.restore(part.state["design"])
            state = {**part.state["solver"], "certificate": self.best.certificate}
        self.steps: Generator[Iterate, Certificate, None] = method(problem, state=state)

    def save(self, iterate: Iterate) -> None:
        """Write a checkpoint, if there is to be one, and if the solver can go on from this iterate."""
        if self.part is None or not (solver := iterate.snapshot()) or solver.get("ended"):
            return
        states = {"best": self.best.state(), "schedule": self.schedule.state()}
        self.part.save({**states, "design": self.problem.design.state(), "solver": solver})

    def run(self, max_iter: int, max_time: float, callbacks: tuple[Callback, ...]) -> Status:
        """Run the solver until something ends it, and say what."""
        best, schedule, steps = self.best, self.schedule, self.steps
        certificate = None
        over = best.limit(max_iter, max_time)
        try:
            while True:
                if best.proved():
                    return Status.CERTIFIED
                if best.hopeless():
                    return Status.STALLED
                if over:
                    return over
                try:
                    iterate = next(steps) if certificate is None else steps.send(certificate)
                except StopIteration:
                    return Status.STALLED
                best.n_iter += 1
                over, due, stop = best.limit(max_iter, max_time), schedule.due(best, iterate), False
                if over and not due:
                    self.save(iterate)  # before a look out of turn, without which the fit would have gone on
                if over or due:
                    record = best.take(iterate)
                    schedule.looked(best, iterate)
                    logger.debug("step %d: primal %.10g, dual %.10g, gap %.3g", *record[:1], *record[2:])
                    stop = self.tell(callbacks, Progress(*record, best.w, as_intercept(best.b)), iterate)
                    over = over or best.limit(max_iter, max_time)
                if (due and (stop or over)) or (self.part is not None and not over and self.part.due()):
                    self.save(iterate)
                if stop:
                    return Status.CERTIFIED if best.proved() else Status.STOPPED
                certificate = best.certificate
        except KeyboardInterrupt:
            best.snapshot = dict  # the solver was cut off in the middle of a step
            return Status.INTERRUPTED

    def tell(self, callbacks: tuple[Callback, ...], progress: Progress, iterate: Iterate) -> bool:
        """Call every callback, also after one has asked to stop; does any? One that fails ends the fit."""
        try:
            answers = [callback(progress) for callback in callbacks]
            return any(answers)
        except BaseException:
            self.save(iterate)
            raise


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

    _KEPT = ("next", "guessed", "correction", "hidden")

    def state(self) -> dict[str, Any]:
        """What `restore` needs."""
        return {name: getattr(self, name) for name in self._KEPT}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        for name in self._KEPT:
            setattr(self, name, state[name])

    def due(self, best: "_Best", iterate: Iterate) -> bool:
        if iterate.estimate is None:
            return iterate.primal is not None or best.n_iter >= self.next
        overdue = best.n_iter >= (self.next if self.watched else max(64, 4 * self.next))
        guess = self._corrected(iterate.estimate)
        return (overdue and iterate.estimate < np.inf) or best.suffices(guess, iterate.objective)

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


class _Best:
    """The best point and the best minorant so far, and whether they prove enough."""

    def __init__(self, problem: Problem, known: _Known, tol: float) -> None:
        self.problem, self.tol = problem, tol
        self.began, self.earlier = perf_counter(), 0.0  # seconds of runs before this one
        self.n_iter = 0
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

    _KEPT = (
        "n_iter", "w", "b", "primal", "evaluated", "minorant", "dual", "demand", "best_gap", "improved_at",
        "certificate", "scale",
    )  # fmt: skip

    def state(self) -> dict[str, Any]:
        """What `restore` needs to go on with the same bytes."""
        kept = {name: getattr(self, name) for name in self._KEPT}
        return {**kept, "history": np.array(self.history).reshape(-1, 5), "seconds": self.seconds()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        for name in self._KEPT:
            setattr(self, name, state[name])
        self.history, self.earlier = as_history(state["history"]), state["seconds"]
        self.atol = min(self.tol, 1e-12) * self.scale

    def limit(self, max_iter: int, max_time: float) -> Status | None:
        """Which limit was reached?"""
        if self.n_iter >= max_iter:
            return Status.MAX_ITER
        return Status.TIME_LIMIT if perf_counter() - self.began >= max_time else None

    def seconds(self) -> float:
        """Of this run and those it goes on from."""
        return self.earlier + perf_counter() - self.began

    def take(self, iterate: Iterate) -> Record:
        """Certify an iterate, keep what improves a bound, and write the history."""
        problem, w, primal, b = self.problem, iterate.point(), iterate.primal, iterate.b
        if primal is None:
            primal, b = problem.best(w, iterate.b)
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
        record = Record(self.n_iter, self.seconds(), *self.certificate[:3])
        self.history.append(record)
        return record

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
        patience_lost = self.n_iter > max(2 * self.improved_at, self.improved_at + 200)
        return rounding_only or patience_lost or self.demand < 1e-3

    def solution(self, status: Status, solver: str, fingerprint: str | None) -> Solution:
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
            fingerprint=fingerprint,
            state={} if fingerprint is None else self._lasting(),
        )

    def _lasting(self) -> dict[str, Any]:
        """The solver's state, less what only a run needs that goes on with the same bytes: it is large."""
        return {name: part for name, part in self.snapshot().items() if name != "to_the_bit"}

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
