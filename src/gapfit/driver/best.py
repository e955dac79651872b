"""The best point and the best minorant so far, and whether they prove enough."""

import logging
from collections.abc import Callable
from math import isfinite
from operator import itemgetter
from time import perf_counter
from typing import Any

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.certify import proved, running
from gapfit.driver.claims import claims
from gapfit.driver.known import Known
from gapfit.driver.look import looked
from gapfit.driver.patience import Patience
from gapfit.driver.proof import CLEARLY, Proof, sharpest, slopes_round_across
from gapfit.errors import ContractError, UnboundedProblem
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.records import Kept
from gapfit.rounding import NOTHING
from gapfit.solution import Certificate, Iterate, Record, Solution, Status, as_history, as_intercept, as_table

logger = logging.getLogger("gapfit")


class Best(Kept):
    """What the driver has seen of a fit: it certifies iterates, and keeps what improves a bound."""

    KEPT = (
        "n_iter", "w", "b", "scores", "primal", "minorant", "dual", "sharpest", "plain", "demand",
        "patience", "certificate", "scale", "atol", "looked_at", "given",
    )  # fmt: skip

    def __init__(self, problem: Problem, known: Known, tol: float, began: float, deadline: float) -> None:
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
        self.given: tuple[Slope, Vector] | None = None  # the point to start from, if it is of use
        bounds = [problem.zero_plane(), known.minorant]
        # a look costs a pass over the data
        if ("w" in known.state and not known.weighed) or not (bounds[0] or bounds[1]):
            w = known.state.get("w", self.w)
            scores = problem.scores(w)
            at = problem.tangent(scores, known.b)
            primal, b = problem.alpha * problem.penalty.value(w) + at.value, at.b
            if known.b is not None and problem.n_offsets > 1:  # several are hard to find
                risk = problem.risk.value_and_subgradient(scores, known.b)[0]
                primal, b = min((primal, b), (primal - at.value + risk, known.b), key=itemgetter(0))
            if primal <= at_rest:
                self.given = w, b
                self.w, self.b, self.scores, self.primal = w, b, scores, primal
                if self._tangent_helps(known.minorant, primal):  # for another pass
                    bounds.append(problem.minorant(at, scores))
            else:  # a start that is worse than none, or outside the domain, is no start
                known.state.pop("w", None)
        planes = [minorant for minorant in bounds if minorant is not None] or [
            problem.oracle(self.w).minorant
        ]
        self.dual, self.minorant = max(((self._bound(m), m) for m in planes), key=itemgetter(0))
        self.demand = 1.0  # shrinks when the proved gap turns out larger than the running one
        self.patience = Patience(np.inf, self.primal, 0)
        self.certificate = self._certificate()
        self.proof: Proof | None = None
        self.sharpest = self.minorant  # the one that says most without any allowance for rounding
        self.plain = self._plainly(self.minorant)  # which is that
        self.history.append(self._record())
        # for optima at zero; the data alone decide, not where the fit began
        self.scale = problem.scale
        self.atol = max(min(tol, 1e-12) * self.scale, NOTHING) if tol > 0 else 0.0

    def _tangent_helps(self, known: Minorant | None, primal: float) -> bool:
        """Is the tangent at the start worth a pass? Under a penalty with kinks it proves little."""
        if known is None:
            return True
        return self.problem.penalty.smooth and primal - self._bound(known) > self.tol * abs(primal)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "history": as_table(self.history), "seconds": self.seconds()}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.history, self.earlier = as_history(state["history"]), state["seconds"]
        self.proof = None
        self.problem.adopt(self.minorant)

    def limit(self, max_iter: int, max_time: float) -> Status | None:
        """Which limit was reached?"""
        if self.n_iter >= max_iter:
            return Status.MAX_ITER
        return Status.TIME_LIMIT if perf_counter() - self.began >= max_time else None

    def seconds(self) -> float:
        """Of this run and those it goes on from."""
        return self.earlier + perf_counter() - self.began

    def hear(self, iterate: Iterate, *, due: bool) -> None:
        """Write down what a step claims; of its point only if that is not about to be looked at."""
        self.history += claims(iterate, self.n_iter, self.history[-1].time, self.seconds(), due=due)

    def take(self, iterate: Iterate) -> Record:
        """Certify an iterate, keep what improves a bound, and write the history."""
        problem, w, primal, b = self.problem, iterate.point(), iterate.primal, iterate.b
        scores = None
        minorant = iterate.minorant() if callable(iterate.minorant) else iterate.minorant
        if iterate.tangent:
            risk, minorant, scores, b = problem.oracle(w, iterate.b)
            primal = problem.alpha * problem.penalty.value(w) + risk
        if minorant is not None:
            self._offer(minorant)
        if primal is None:
            w, primal, b, scores = looked(self, w, iterate)
        if self.dual == -np.inf and primal < -1e9 * (1.0 + self.scale):
            raise UnboundedProblem(
                f"{problem.loss!r} with {problem.penalty!r} falls below {primal:.3g}: no minimum"
            )
        if primal < self.primal:
            self.w, self.b, self.primal, self.scores = w.copy(), b.copy(), primal, scores
        self.snapshot = iterate.snapshot
        self.certificate = self._certificate()
        self.patience = self.patience.after(self.certificate, self.n_iter)
        record = self._record()
        self.history.append(record)
        self.looked_at, self.unseen = self.n_iter, None
        return record

    def _record(self) -> Record:
        return Record(self.n_iter, self.seconds(), *self.certificate[:3])

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
        return Status.CERTIFIED if how is not Status.INTERRUPTED and self.met() else how

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
        return self._meets(self._final().certificate, 1.0)

    def suffices(self, gap: float, objective: float | Callable[[], float] | None) -> bool:
        """Would such a gap be enough, at such an objective?"""
        if gap > self._enough(max(abs(self.primal), abs(self.dual))):
            return False  # at no objective between the bounds
        primal = self.primal if objective is None else objective() if callable(objective) else objective
        return gap <= self._enough(abs(primal))

    def would_do(self, primal: float) -> bool:
        """Would such an objective close the gap to the best bound?"""
        return primal - self.dual <= self._enough(abs(primal))

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
        return self.patience.lost(self.n_iter)

    def solution(self, status: Status, solver: str, fingerprint: str | None) -> Solution:
        proof = self._final()
        if proof.w is self.w and self.scores is not None and not self.problem.shifted:
            self.problem.remember(self.w, self.scores)
        return Solution(
            w=proof.w,
            intercept=as_intercept(proof.b),
            status=status,
            certificate=proof.certificate,
            n_iter=self.n_iter,
            history=self.history,
            minorant=proof.rests_on,
            solver=solver,
            fingerprint=fingerprint,
            state={} if fingerprint is None else self._lasting(),
        )

    def _lasting(self) -> dict[str, Any]:
        """The solver's state and what it was found for, less what only a checkpoint needs: it is large."""
        state = {name: part for name, part in self.snapshot().items() if name != "to_the_bit"}
        return {**state, "objective": (self.problem.alpha, self.problem.penalty)} if state else {}

    def _offer(self, minorant: Minorant) -> None:
        if minorant.maker != self.problem.maker:
            raise ContractError("a solver may report only minorants that its problem has made")
        dual, plain = self._bound(minorant), self._plainly(minorant)
        if dual <= self.dual and plain <= self.plain:
            return
        if not minorant.made and minorant.u is not None:  # the solver may go on writing to it
            minorant = minorant._replace(u=minorant.u.copy())
        if dual > self.dual:
            self.minorant, self.dual = minorant, dual
        if plain > self.plain:
            self.sharpest, self.plain = minorant, plain

    def _bound(self, minorant: Minorant) -> float:
        """The lower bound that a minorant proves, rounding counted."""
        return float(self.problem.least(self.problem.feasible(minorant)).below)

    def _plainly(self, minorant: Minorant) -> float:
        """The lower bound as it is computed: about what sums of twice the digits will prove."""
        return self.problem.dual(self.problem.feasible(minorant, proved=False))

    def _certificate(self) -> Certificate:
        return running(self.primal, self.minorant, self.dual)

    def _final(self) -> Proof:
        """What will be returned: the best point in the precision of the data. Where that spoils the
        tolerance, as it is; and where the fit did not help, the point that it was given."""
        if self.proof is not None and self.proof.stands_for(self.w, self.minorant, self.sharpest):
            return self.proof
        w = self.problem.penalty.rounded(self.w, self.problem.dtype)
        if w is self.w or np.array_equal(w, self.w):
            proof = self._proof(w, self.b, self.scores)
        else:
            w64 = w.astype(np.float64, copy=False)
            proof = self._proof(w, self.problem.tangent(self.problem.scores(w64), self.b).b, None)
            if not self._meets(proof.certificate, 1.0):
                proof = proof.or_better(self._proof(self.w, self.b, self.scores))
        if self.given is not None and not self._meets(proof.certificate, 1.0):
            proof = proof.or_better(self._proof(*self.given, None))
        self.proof = proof
        return proof

    def _proof(self, w: Slope, b: Vector, scores: Vector | None) -> Proof:
        """The certificate of a point, from nothing but X, y, w and the evidence. Where rounding is most of
        its gap, once more with sums of twice the digits, and with the minorant that has most to gain by them:
        between others an allowance that is larger than what they differ by chose at random."""
        w64 = w.astype(np.float64, copy=False)
        certificate, rests_on = proved(self.problem, w64, b, self.minorant, scores, exact=False)
        if not self._meets(certificate, 1.0) and self._rounding_matters(certificate):
            for evidence in sharpest(self.problem, self.sharpest, w64, b):
                exactly = proved(self.problem, w64, b, evidence, None, exact=True)
                certificate, rests_on = min((certificate, rests_on), exactly, key=lambda pair: pair[0].gap)
                if self._meets(certificate, 1.0):
                    break
        return Proof(w, b, certificate, rests_on, (self.w, self.minorant, self.sharpest))

    def _rounding_matters(self, proved: Certificate) -> bool:
        """Is the running gap small enough or clearly smaller than the proved one, or do slopes round away?"""
        if self._meets(self._as_computed(), 1.0) or self.primal - self.dual < CLEARLY * proved.gap:
            return True
        return slopes_round_across(self.problem, self.sharpest)

    def _as_computed(self) -> Certificate:
        """The running bounds without any allowance: whether a proof is worth trying."""
        return self.certificate._replace(gap=max(self.primal - self.plain, 0.0))

    def _meets(self, certificate: Certificate, demand: float) -> bool:
        if not all(map(isfinite, certificate[:3])):
            return False
        return certificate.relative_gap <= demand * self.tol or certificate.gap <= demand * self.atol
