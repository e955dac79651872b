"""The only loop: run a solver, certify what it yields, keep the best bounds, decide when to stop."""

import logging
from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from math import isfinite
from numbers import Integral
from operator import itemgetter
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from gapfit import limits, threads
from gapfit._types import Slope, Vector
from gapfit.certify import certify, running
from gapfit.checkpoint import ENDED, Part, as_history, as_plain, as_solution, opened
from gapfit.checks import as_tolerance
from gapfit.errors import ContractError, UnboundedProblem, as_number
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.registry import as_solver
from gapfit.solution import Certificate, Iterate, Progress, Record, Solution, Status, as_intercept
from gapfit.solvers.base import OVERFLOWS, check_needs, solver_name

logger = logging.getLogger("gapfit")

_LAST_OFFSETS = 0.3  # seconds for the offsets of the last iterate when time is up

Callback = Callable[[Progress], Any]
_NOTHING = 1e-290  # a gap that underflow alone can make
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
    """
    as_tolerance(tol)
    if not isinstance(max_iter, Integral):
        raise TypeError(f"max_iter must be an integer, got {max_iter!r}")
    if not (as_number("max_iter", max_iter) >= 0 and as_number("max_time", max_time) >= 0):
        raise ValueError(f"max_iter and max_time must not be negative, got {max_iter!r} and {max_time!r}")
    began = perf_counter()
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
            known = _Known.of(start, problem, name, mark)
            fit = _Fit(
                problem, method, known, part, _Best(problem, known, tol, began, began + max_time), interrupts
            )
            status = fit.run(max_iter, max_time, callbacks)
            if status in _ENDS and fit.best.met():
                status = Status.CERTIFIED
            solution = fit.best.solution(status, name, mark if resumable else None)
            if part is not None and status in ENDED:
                part.end(as_plain(solution, tol))
    best = fit.best
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
        state = earlier.state if earlier.solver == solver else {}
        return cls({**state, "w": w}, problem.adopt(earlier.minorant))


class _Fit:
    """The solver and what is known of its progress: all that a checkpoint has to hold."""

    def __init__(
        self,
        problem: Problem,
        method: Any,
        known: _Known,
        part: Part | None,
        best: "_Best",
        interrupts: limits.Interrupts,
    ) -> None:
        self.problem, self.part, self.best, self.interrupts = problem, part, best, interrupts
        self.schedule = _Schedule()
        state = known.state
        if part is not None and part.state is not None:
            with part.restoring():
                self.best.restore(part.state["best"])
                self.schedule.restore(part.state["schedule"])
                problem.design.restore(part.state["design"])
                state = {**part.state["solver"], "certificate": self.best.certificate}
        self.steps: Generator[Iterate, Certificate, None] = method(problem, state=state)

    def _first(self) -> Iterate:
        """The first step, with which a solver takes its state in."""
        if self.part is None or self.part.state is None:
            return next(self.steps)
        with self.part.restoring():
            return next(self.steps)

    def save(self, iterate: Iterate) -> None:
        """Write a checkpoint, if there is to be one, and if the solver can go on from this iterate."""
        if self.part is None or not (solver := iterate.snapshot()) or solver.get("ended"):
            return
        states = {"best": self.best.state(), "schedule": self.schedule.state()}
        self.part.save({**states, "design": self.problem.design.state(), "solver": solver})

    def run(self, max_iter: int, max_time: float, callbacks: tuple[Callback, ...]) -> Status:
        """Run the solver until something ends it, and say what."""
        best = self.best
        try:
            return self._run(max_iter, max_time, callbacks)
        except OVERFLOWS as error:
            logger.info("a step overflowed: %s", error)
            best.tear()
            return best.ended(Status.STALLED)
        except (limits.TimeUp, KeyboardInterrupt) as cut:
            best.tear()
            return best.ended(Status.TIME_LIMIT if isinstance(cut, limits.TimeUp) else Status.INTERRUPTED)

    def _run(self, max_iter: int, max_time: float, callbacks: tuple[Callback, ...]) -> Status:
        best, schedule, steps, interrupts = self.best, self.schedule, self.steps, self.interrupts
        schedule.watched = bool(callbacks)
        certificate = None
        over = best.limit(max_iter, max_time)
        while True:
            if best.proved():
                return Status.CERTIFIED
            if best.hopeless() or not np.isfinite(best.primal):  # no way down can be seen from there
                return Status.STALLED
            if over or interrupts.pressed:
                return best.ended(Status.INTERRUPTED if interrupts.pressed else over or Status.MAX_ITER)
            try:
                with limits.until(best.deadline), interrupts.allowed():
                    iterate = self._first() if certificate is None else steps.send(certificate)
            except StopIteration:
                return Status.STALLED
            best.n_iter += 1
            best.latest = best.unseen = iterate
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

    def tell(self, callbacks: tuple[Callback, ...], progress: Progress, iterate: Iterate) -> bool:
        """Call every callback, also after one has asked to stop; does any? One that fails ends the fit."""
        try:
            with self.interrupts.allowed():
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

    def __init__(self) -> None:
        self.watched = False
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


class _Best:
    """The best point and the best minorant so far, and whether they prove enough."""

    def __init__(self, problem: Problem, known: _Known, tol: float, began: float, deadline: float) -> None:
        self.problem, self.tol = problem, tol
        self.began, self.deadline = began, deadline  # by `perf_counter`
        self.earlier = 0.0  # seconds of runs before this one
        self.n_iter = self.looked_at = 0
        self.latest: Iterate | None = None
        self.unseen: Iterate | None = None  # the same, unless the driver has looked at it
        self.history: list[Record] = []
        self.snapshot: Callable[[], dict[str, Any]] = dict
        self.w: Slope = problem.start()
        self.b: Vector
        self.scores: Vector | None  # of w, where the driver has computed them
        at_rest, self.b, self.scores = problem.best(self.w, np.zeros(problem.n_offsets))
        if np.isnan(at_rest):
            raise ContractError(f"{problem.loss!r} returned a value that is not a number")
        self.primal = at_rest
        bounds = [problem.zero_plane(), known.minorant]
        if "w" in known.state or bounds[0] is None:  # costs a pass over the data
            w = known.state.get("w", self.w)
            scores = problem.scores(w)
            at = problem.tangent(scores)
            primal = problem.alpha * problem.penalty.value(w) + at.value
            if primal <= at_rest:
                self.w, self.b, self.scores, self.primal = w, at.b, scores, primal
                bounds.append(problem.minorant(at, scores))
            else:  # a start that is worse than none, or outside the domain, is no start
                known.state.pop("w", None)
        planes = [minorant for minorant in bounds if minorant is not None] or [
            problem.oracle(self.w).minorant
        ]
        self.dual, self.minorant = max(((self._bound(m), m) for m in planes), key=itemgetter(0))
        self.demand = 1.0  # shrinks when the proved gap turns out larger than the running one
        self.best_gap, self.improved_at = np.inf, 0
        self.certificate = self._certificate()
        self.proof: tuple[Slope, Minorant, Certificate] | None = None
        self.plain: tuple[Minorant, float] | None = None  # what a minorant proves without any allowance
        # for optima at zero; the data alone decide, not where the fit began
        self.scale = problem.scale
        self.atol = max(min(tol, 1e-12) * self.scale, _NOTHING) if tol > 0 else 0.0

    _KEPT = (
        "n_iter", "w", "b", "primal", "minorant", "dual", "demand", "best_gap", "improved_at", "certificate",
        "scale", "atol", "looked_at",
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
        self.scores, self.proof = None, None
        self.problem.adopt(self.minorant)

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
        scores = None
        if primal is None:
            primal, b, scores = self._value(w, iterate.b)
        minorant = iterate.minorant() if callable(iterate.minorant) else iterate.minorant
        if self.dual == -np.inf and primal < -1e9 * (1.0 + self.scale):
            raise UnboundedProblem(
                f"{problem.loss!r} with {problem.penalty!r} falls below {primal:.3g}: no minimum"
            )
        if primal < self.primal:
            self.w, self.b, self.primal, self.scores = w.copy(), b.copy(), primal, scores
        if minorant is not None:
            self._offer(minorant)
        self.snapshot = iterate.snapshot
        self.certificate = self._certificate()
        if self.certificate.gap < 0.999 * self.best_gap:
            self.best_gap, self.improved_at = self.certificate.gap, self.n_iter
        record = Record(self.n_iter, self.seconds(), *self.certificate[:3])
        self.history.append(record)
        self.looked_at, self.unseen = self.n_iter, None
        return record

    def tear(self) -> None:
        """The solver was cut off in the middle of a step: its arrays may be half way to the next iterate.

        That makes another point and another bound of the last one, often better ones, or none at all. So it
        is to be looked at again; nothing counts that was claimed for it, and no state is there to go on from.
        """
        self.snapshot = dict
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

    def _value(self, w: Slope, b: Vector) -> tuple[float, Vector, Vector | None]:
        """J at the best offsets, these, and the scores if they are known; or, where time is up before the
        best offsets are found, at those given."""
        try:
            with limits.until(max(self.deadline, perf_counter()), _LAST_OFFSETS):
                return self.problem.best(w, b)
        except limits.TimeUp:
            return self.problem.evaluate(w, b), b, None

    def proved(self) -> bool:
        """Is the tolerance met, and confirmed on the very point that would be returned?"""
        if not self._meets(self._as_computed(), self.demand):
            return False
        if self.met():
            return True
        self.demand *= 0.1
        return False

    def met(self) -> bool:
        """Does what will be returned meet the tolerance?"""
        return self._meets(self._final(), 1.0)

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

    def solution(self, status: Status, solver: str, fingerprint: str | None) -> Solution:
        w, b = self._output()
        return Solution(
            w=w,
            intercept=as_intercept(b),
            status=status,
            certificate=self._final(),
            n_iter=self.n_iter,
            history=self.history,
            minorant=self.problem.feasible(self.minorant),
            solver=solver,
            fingerprint=fingerprint,
            state={} if fingerprint is None else self._lasting(),
        )

    def _lasting(self) -> dict[str, Any]:
        """The solver's state, less what only a run needs that goes on with the same bytes: it is large."""
        return {name: part for name, part in self.snapshot().items() if name != "to_the_bit"}

    def _offer(self, minorant: Minorant) -> None:
        if minorant.maker != self.problem.maker:
            raise ContractError("a solver may report only minorants that its problem has made")
        dual = self._bound(minorant)
        if dual > self.dual:
            if not minorant.made and minorant.u is not None:  # the solver may go on writing to it
                minorant = minorant._replace(u=minorant.u.copy())
            self.minorant, self.dual = minorant, dual

    def _bound(self, minorant: Minorant) -> float:
        """The lower bound that a minorant proves, rounding counted."""
        return float(self.problem.least(self.problem.feasible(minorant)).below)

    def _certificate(self) -> Certificate:
        return running(self.primal, self.minorant, self.dual)

    def _output(self) -> tuple[Slope, Vector]:
        """The point in the precision of the data, with the offset that suits it."""
        w = self.problem.penalty.rounded(self.w, self.problem.dtype)
        if w is self.w:
            return w, self.b
        w64 = w.astype(np.float64)
        return w, self.problem.tangent(self.problem.scores(w64), self.b).b

    def _final(self) -> Certificate:
        """The certificate of the point as it will be returned: proved, from nothing but X, y, w and the
        evidence. Where rounding is most of its gap, once more with sums of twice the digits."""
        if self.proof is not None and self.proof[0] is self.w and self.proof[1] is self.minorant:
            return self.proof[2]
        w, b = self._output()
        scores = self.scores if w is self.w else None
        w64 = w.astype(np.float64)
        proved = certify(self.problem, w64, b, self.minorant, scores)
        if not self._meets(proved, 1.0) and self._rounding_matters(proved):
            exactly = certify(self.problem, w64, b, self.minorant, exact=True)
            proved = min(proved, exactly, key=lambda certificate: certificate.gap)
        self.proof = self.w, self.minorant, proved
        return proved

    def _rounding_matters(self, proved: Certificate) -> bool:
        """Is the running gap small enough, or less than half of the proved one?"""
        return self._meets(self._as_computed(), 1.0) or proved.gap > 2 * (self.primal - self.dual)

    def _as_computed(self) -> Certificate:
        """The running bounds without any allowance: whether a proof is worth trying."""
        if self.plain is None or self.plain[0] is not self.minorant:
            bound = self.problem.dual(self.problem.feasible(self.minorant, proved=False))
            self.plain = self.minorant, bound
        _, dual = self.plain
        return self.certificate._replace(gap=max(self.primal - dual, 0.0))

    def _meets(self, certificate: Certificate, demand: float) -> bool:
        if not all(map(isfinite, certificate[:3])):
            return False
        return certificate.relative_gap <= demand * self.tol or certificate.gap <= demand * self.atol
