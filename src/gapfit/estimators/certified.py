"""One certified fit: solve the problems of an estimator, share the time among them, report what is proved."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import partial
from statistics import fmean
from typing import Any, Protocol

from sklearn.exceptions import ConvergenceWarning

from gapfit import limits
from gapfit._types import Slope
from gapfit.checkpoint import Checkpoint
from gapfit.declaration import attribute, declared, parameter
from gapfit.driver.at_once import is_plain
from gapfit.estimators.callbacks import told
from gapfit.estimators.fitting import Fitting, Session, Solver, overall_status, warn_caller
from gapfit.estimators.later import SaidLater
from gapfit.persistence.fits import HISTORY
from gapfit.problem import Problem
from gapfit.solution import Certificate, Record, Solution, Status
from gapfit.solve import solve

_NEXT = {
    Status.MAX_ITER: "raise max_iter or tol, scale the features, or raise alpha",
    Status.TIME_LIMIT: "raise max_time or tol, scale the features, or raise alpha",
    Status.STALLED: "raise tol above the relative gap, pass X in float64, or scale the features",
    Status.INTERRUPTED: "use the model as it is, or fit again (warm_start=True goes on from here)",
}
_CUT = (Status.INTERRUPTED, Status.STOPPED)
# ends that nobody need be warned of
_AS_ASKED = (Status.CERTIFIED, Status.PREDICTIONS, Status.STOPPED, Status.LOCAL)


def advice(status: Status) -> str:
    """What to do about a fit that ended so; nothing about one that ended as it was to."""
    return "" if status in _AS_ASKED else _NEXT.get(status, "raise tol")


class Ended(Protocol):
    """What is reported of a problem of a fit."""

    @property
    def certificate(self) -> Certificate: ...

    @property
    def status(self) -> Status: ...

    @property
    def history(self) -> Iterable[Record]: ...  # made when gone through, where it takes time

    @property
    def n_iter(self) -> int: ...


class Parts(ABC):
    """The problems of one fit, made one after another, and what their solutions amount to."""

    count = 1
    resumable = True  # from solutions; else from their weights alone

    @abstractmethod
    def data(self) -> Any:
        """What the problems are made of: a checkpoint is for these data only."""

    @abstractmethod
    def seen(self) -> dict[str, Any]:
        """X, y and metadata, as callbacks see them."""

    @abstractmethod
    def problem(self, k: int) -> Problem:
        """The k-th problem."""

    def solution(self, problem: Problem, solver: Solver, checkpoint: Checkpoint | None, how: Any) -> Solution:
        """Its solution; `how` are the options of `solve`."""
        return solve(problem, solver, checkpoint=checkpoint, **how)

    def together(self, solver: Solver, tol: float) -> Sequence[Ended | None]:
        """How those problems ended that were solved together; None for those to be solved one by one."""
        return [None] * self.count

    def take(self, k: int) -> None:
        """Take what is worth keeping of the k-th problem, which was solved together with others."""

    @abstractmethod
    def keep(self, problem: Problem, solution: Solution) -> None:
        """Take what is worth keeping of a solved problem."""

    @abstractmethod
    def attributes(self, k: int, w: Slope, b: Any) -> dict[str, Any]:
        """The fitted attributes, if the k-th problem ended at (w, b) and those to come at zero."""

    @abstractmethod
    def fitted(self) -> dict[str, Any]:
        """The fitted attributes, when all is solved."""


@declared
class CertifiedFit(SaidLater, Fitting):
    """An estimator whose fit is one convex problem or several, each solved up to a proved gap."""

    warm_start: bool = parameter(
        "Start from the last fit. The answer is certified as ever, so it does not depend on the start.",
        default=False,
    )

    history_: list[Any] = attribute(
        HISTORY, "list of Record",
        """A line for each step: (n_iter, time, primal, dual, gap, proved). Where `proved` is False, the
        numbers are what the solver claims. Of several problems, a list for each.""",
    )  # fmt: skip

    def _certify(self, parts: Parts) -> None:
        """Solve all parts, which share the time, and set the fitted attributes."""
        ended: list[Ended] = []
        with self._session(parts.data, parts.count) as session:
            for k, known in enumerate(self._together(parts, session)):
                if known is not None:
                    parts.take(k)
                ended.append(known or self._solution(parts, k, session, ended))
            self._report(ended)
            self.__dict__.update(parts.fitted())
            # weights cost little to keep: warm_start may be set later
            weights = [end.w for end in ended if hasattr(end, "w")]
            self._warm = ended if self.warm_start else weights
        if self.status_ not in _AS_ASKED:
            self._warn()

    def _together(self, parts: Parts, session: Session) -> Sequence[Ended | None]:
        """How parts ended that were solved together: where nobody watches them one by one, or goes on."""
        watched = session.context is not None or session.checkpoint is not None or self.warm_start
        if watched or not is_plain(self._how(session.max_time, None, [])):
            return [None] * parts.count
        return parts.together(session.solver, self.tol)

    def _solution(self, parts: Parts, k: int, session: Session, before: Sequence[Ended]) -> Solution:
        """That of the k-th part, solved by itself."""
        problem = parts.problem(k)
        left = limits.remaining(session.max_time)
        with told(
            self, session.context, parts.seen, partial(parts.attributes, k), alone=parts.count == 1
        ) as callbacks:
            how = self._how(left, self._start(parts, k, problem), callbacks)
            how["resumable"] = bool(self.warm_start) and parts.resumable
            if any(one.status in _CUT for one in before):
                how["max_iter"] = 0  # then the others get the bounds that come for free
            solution = parts.solution(problem, session.solver, session.checkpoint, how)
        parts.keep(problem, solution)
        return solution

    def _how(self, max_time: float, start: Any, callbacks: Any) -> dict[str, Any]:
        """The options of `solve`."""
        return dict(
            tol=self.tol, max_iter=self.max_iter, max_time=max_time, start=start, callbacks=callbacks,
            n_jobs=self.n_jobs,
        )  # fmt: skip

    def _start(self, parts: Parts, k: int, problem: Problem) -> Any:
        """Where to start: from the last solution, if it fits. `solve` sees whether its bounds hold."""
        last: Sequence[Any] = (getattr(self, "_warm", None) or ()) if self.warm_start else ()
        if len(last) != parts.count:
            return None
        w = last[k].w if isinstance(last[k], Solution) else last[k]
        if len(w) != problem.design.shape[1]:
            return None
        return last[k] if parts.resumable else w

    def _report(self, solutions: Sequence[Ended]) -> None:
        self.certificates_ = certificates = [solution.certificate for solution in solutions]
        histories = [solution.history for solution in solutions]
        primals, duals, gaps, _ = zip(*certificates, strict=True)
        self.objective_, self.dual_objective_, self.dual_gap_ = fmean(primals), fmean(duals), max(gaps)
        self.status_ = overall_status([solution.status for solution in solutions])
        self.converged_ = self.status_ is Status.CERTIFIED
        self.n_iter_ = max([solution.n_iter for solution in solutions])
        self._leave(("history_",), partial(_told, histories))

    def _warn(self) -> None:
        worst = max(self.certificates_, key=lambda certificate: certificate.relative_gap)
        warn_caller(
            f"{self.status_.value}. The duality gap is {worst.gap:.3g}, that is {worst.relative_gap:.3g} of "
            f"the objective, and tol asks for {self.tol:.3g}. Next: {advice(self.status_)}.",
            ConvergenceWarning,
        )


def _told(histories: Sequence[Iterable[Record]]) -> dict[str, Any]:
    """The history of one problem, or those of all."""
    told = [list(history) for history in histories]
    return {"history_": told if len(told) > 1 else told[0]}
