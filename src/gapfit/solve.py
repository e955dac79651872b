"""The only loop: run a solver, certify what it yields, keep the best bounds, decide when to stop."""

import logging
from collections.abc import Callable, Generator, Iterable
from numbers import Integral
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from gapfit import threads
from gapfit._types import Slope, Vector
from gapfit.certify import certify, running
from gapfit.errors import ContractError, UnboundedProblem, as_number
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.registry import as_solver
from gapfit.solution import Certificate, Iterate, Progress, Record, Solution, Status, as_intercept
from gapfit.solvers.base import check_needs, solver_name

logger = logging.getLogger("gapfit")

Callback = Callable[[Progress], Any]
_NEAR_ZERO = 1e-6  # an objective that may be rounding
_ROUNDINGS = 8  # times what rounding does at w = 0 cannot be told from it
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
        objective at the minimiser of the penalty (w = 0, for most) with its best intercept, or gap <= 8 times
        what rounding may do to the objective there.
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
    method = as_solver(solver)
    check_needs(method, problem)
    problem.design.check_convex()
    name = solver_name(method)
    # a step that overflows is a bad step: its point and its bound are not taken, and nobody need be told
    with threads.using(n_jobs), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        known = _Known.of(start, problem, name)
        best = _Best(problem, known, tol)
        status = _drive(best, method(problem, state=known.state), max_iter, max_time, tuple(callbacks))
        if status in _ENDS and best.met():
            status = Status.CERTIFIED
        solution = best.solution(status, name, resumable)
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
        state = earlier.state if earlier.solver == solver else {}
        return cls({**state, "w": w}, problem.adopt(earlier.minorant))


def _drive(
    best: "_Best",
    steps: Generator[Iterate, Certificate, None],
    max_iter: int,
    max_time: float,
    callbacks: tuple[Callback, ...],
) -> Status:
    """Run the solver until something ends it, and say what."""
    schedule = _Schedule(watched=bool(callbacks))
    certificate = None
    try:
        while True:
            if best.proved():
                return Status.CERTIFIED
            if best.hopeless() or not np.isfinite(best.primal):  # from an infinite J no way down can be seen
                return Status.STALLED
            out_of_steps, out_of_time = best.n_iter >= max_iter, best.elapsed() >= max_time
            if out_of_steps or out_of_time:
                return Status.MAX_ITER if out_of_steps else Status.TIME_LIMIT
            try:
                iterate = next(steps) if certificate is None else steps.send(certificate)
            except StopIteration:
                return Status.STALLED
            best.n_iter += 1
            last = best.n_iter >= max_iter or best.elapsed() >= max_time
            if last or schedule.due(best, iterate):
                record = best.take(iterate)
                schedule.looked(best, iterate)
                logger.debug("step %d: primal %.10g, dual %.10g, gap %.3g", *record[:1], *record[2:])
                if _any_asks_to_stop(callbacks, Progress(*record, best.w, as_intercept(best.b))):
                    return Status.CERTIFIED if best.proved() else Status.STOPPED
            certificate = best.certificate
    except KeyboardInterrupt:
        best.snapshot = dict  # the solver was cut off in the middle of a step
        return Status.INTERRUPTED


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


def _any_asks_to_stop(callbacks: tuple[Callback, ...], progress: Progress) -> bool:
    """Call every callback, also after one has asked to stop."""
    answers = [callback(progress) for callback in callbacks]
    return any(answers)


class _Best:
    """The best point and the best minorant so far, and whether they prove enough."""

    def __init__(self, problem: Problem, known: _Known, tol: float) -> None:
        self.problem, self.tol = problem, tol
        self.began = perf_counter()
        self.n_iter = 0
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
            at = problem.oracle(w)
            primal = problem.alpha * problem.penalty.value(w) + at.risk
            if primal <= at_rest:
                self.w, self.b, self.scores, self.primal = w, at.b, at.scores, primal
                bounds.append(at.minorant)
            else:  # a start that is worse than none, or outside the domain, is no start
                known.state.pop("w", None)
        self.minorant = max((problem.feasible(m) for m in bounds if m is not None), key=problem.dual)
        self.dual = problem.dual(self.minorant)
        self.demand = 1.0  # shrinks when the proved gap turns out larger than the running one
        self.best_gap, self.improved_at = np.inf, 0
        self.certificate = self._certificate()
        self.proof: tuple[Slope, Minorant, Certificate] | None = None
        # for optima at zero; the data alone decide, not where the fit began
        self.scale = abs(at_rest) if np.isfinite(at_rest) else 0.0
        self.atol = max(min(tol, 1e-12) * self.scale, self._rounding_at_rest())

    def _rounding_at_rest(self) -> float:
        """What rounding may do to both bounds at the minimiser of the penalty, if these are about zero."""
        if self.tol == 0 or self.scale > _NEAR_ZERO:
            return 0.0
        problem, w = self.problem, self.problem.start()
        b = problem.best(w, np.zeros(problem.n_offsets))[1]
        bound = problem.zero_plane() or problem.oracle(w).minorant
        return _ROUNDINGS * (problem.most(w, b).error + problem.least(problem.feasible(bound)).error)

    def elapsed(self) -> float:
        return perf_counter() - self.began

    def take(self, iterate: Iterate) -> Record:
        """Certify an iterate, keep what improves a bound, and write the history."""
        problem, w, primal, b = self.problem, iterate.point(), iterate.primal, iterate.b
        scores = None
        if primal is None:
            primal, b, scores = problem.best(w, iterate.b)
        minorant = iterate.minorant() if callable(iterate.minorant) else iterate.minorant
        if self.dual == -np.inf and primal < -1e9 * (1.0 + self.scale):
            raise UnboundedProblem(
                f"{problem.loss!r} with {problem.penalty!r} falls below {primal:.3g}: no minimum"
            )
        if primal < self.primal:
            self.w, self.b, self.primal, self.scores = w.copy(), b.copy(), primal, scores
        if minorant is not None:
            self._offer(problem.feasible(minorant))
        self.snapshot = iterate.snapshot
        self.certificate = self._certificate()
        if self.certificate.gap < 0.999 * self.best_gap:
            self.best_gap, self.improved_at = self.certificate.gap, self.n_iter
        record = Record(self.n_iter, self.elapsed(), *self.certificate[:3])
        self.history.append(record)
        return record

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
        patience_lost = self.n_iter > max(2 * self.improved_at, self.improved_at + 200)
        return rounding_only or patience_lost or self.demand < 1e-3

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
        if minorant.maker != self.problem.maker:
            raise ContractError("a solver may report only minorants that its problem has made")
        dual = self.problem.dual(minorant)
        if dual > self.dual:
            if not minorant.made and minorant.u is not None:  # the solver may go on writing to it
                minorant = minorant._replace(u=minorant.u.copy())
            self.minorant, self.dual = minorant, dual

    def _certificate(self) -> Certificate:
        return running(self.primal, self.minorant, self.dual)

    def _output(self) -> tuple[Slope, Vector]:
        """The point in the precision of the data, with the offset that suits it."""
        w = self.problem.penalty.rounded(self.w, self.problem.dtype)
        if w is self.w:
            return w, self.b
        w64 = w.astype(np.float64)
        return w, self.problem.tangent(self.problem.scores(w64), self.b)[3]

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
        return self.certificate._replace(gap=max(self.primal - self.dual, 0.0))

    def _meets(self, certificate: Certificate, demand: float) -> bool:
        if not np.isfinite([certificate.primal, certificate.dual, certificate.gap]).all():
            return False
        return certificate.relative_gap <= demand * self.tol or certificate.gap <= demand * self.atol
