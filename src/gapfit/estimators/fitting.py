"""What every estimator has: its limits and its solver, what a fit reports, and how it is conducted."""

import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial, wraps
from inspect import cleandoc, signature
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state

from gapfit import limits, threads
from gapfit.checkpoint import Checkpoint, Identity
from gapfit.declaration import attribute, check_parameters, declared, parameter
from gapfit.elsewhere import fetched
from gapfit.errors import as_number
from gapfit.estimators.handed_over import hand_over
from gapfit.estimators.html import WithCertificate, box
from gapfit.estimators.targets import naming
from gapfit.persistence.fits import CERTIFICATES
from gapfit.persistence.objects import SOLVER
from gapfit.persistence.values import COUNT, FLAG, NOWHERE, NUMBER, STATUS
from gapfit.registry import SOLVERS, as_solver
from gapfit.solution import Certificate, Status

logger = logging.getLogger("gapfit")

Fit = TypeVar("Fit", bound=Callable[..., Any])
Solver = Callable[..., Any]

_ON_THE_WAY = ("gapfit.", "sklearn.callback.", "contextlib")  # between a fit and the line that calls it
# what may change between two calls: limits, and what the result does not depend on
_FREE = ("checkpoint", "max_iter", "max_time", "tol", "n_jobs", "verbose", "warm_start")
_WATCHED_BY = ("_skl_callbacks", "_parent_callback_ctx")  # callbacks, or those of a meta-estimator
_NOTHING = nullcontext(None)  # a log and a checkpoint where there is none
KEPT_IN = "_kept_in"  # the checkpoint of a larger fit, while that runs
_FIT = "Fit the model; if that fails, the estimator stays as it was."
_SAFE = "If that fails, the estimator stays as it was."
_ARGUMENTS = {
    "X": "array or sparse matrix of shape (n, d)",
    "y": "array of shape (n,)",
    "sample_weight": "array of shape (n,), default=None",
}


class Session(NamedTuple):
    """A fit under way."""

    solver: Solver
    max_time: float
    checkpoint: Checkpoint | None
    context: Any  # of scikit-learn's callbacks, if there are any


@declared
class Fitting(CallbackSupportMixin, BaseEstimator):
    """Parameters that every estimator has, and the attributes that every fit sets."""

    solver: Any = parameter(
        f"The algorithm. One of {', '.join(SOLVERS)}; all that take the problem reach the same optimum.",
        "str or function", default="auto", form=SOLVER,
    )  # fmt: skip
    tol: float = parameter("Stop when the duality gap is at most tol times the objective.", default=1e-4)
    max_iter: int = parameter("The most steps a solver may take.", default=10_000)
    max_time: float | None = parameter("The most seconds the fit may take.", default=None)
    checkpoint: Any = parameter(
        """A file that keeps what is known while the fit runs; the same fit goes on from it. See the page on
        checkpoints.""",
        "path or None", default=None, form=NOWHERE,
    )  # fmt: skip
    random_state: Any = parameter(
        """Seeds the solvers that visit samples in random order. None is a fixed seed: fits are
        repeatable.""",
        "int, RandomState or None", default=None,
    )  # fmt: skip
    n_jobs: int | None = parameter(
        """Threads for one fit; None for as many as there are cores, used where the work is worth it. The
        model is the same to the last bit for any number.""",
        default=None,
    )
    verbose: int = parameter(
        '1 shows the log (logger "gapfit") on stderr while fitting, 2 every step.', default=0
    )

    objective_: float = attribute(
        NUMBER, "", "J at the returned point; where a fit solves several problems, the mean of theirs."
    )
    dual_objective_: float = attribute(NUMBER, "", "A lower bound of the minimum of J, or their mean.")
    dual_gap_: float = attribute(
        NUMBER, "", "J is at most this far above its minimum, in each problem of the fit."
    )
    converged_: bool = attribute(FLAG, "", "Whether tol was certified.")
    status_: Status = attribute(STATUS, "", "How the fit ended, in words: `status_.value`.")
    n_iter_: int = attribute(COUNT, "", "Steps of the solver; of several problems, the most.")
    alpha_: Any = attribute(NUMBER, "float", "The weight of the penalty.")
    certificates_: list[Certificate] = attribute(
        CERTIFICATES, "list of Certificate", "One for each problem solved."
    )

    AS_X: ClassVar[tuple[str, ...]] = ()  # arrays that go where X is: see `handed_over`

    def _session(self, data: Callable[[], Any], parts: int) -> AbstractContextManager[Session]:
        """Seed, log, threads, callbacks and checkpoint of a fit that solves so many problems."""
        max_time = np.inf if self.max_time is None else as_number("max_time", self.max_time)
        if not max_time >= 0:
            raise ValueError(f"max_time must not be negative, got {self.max_time!r}")
        solver = seeded(self._solver(), self.random_state)
        log, checkpoint = shown(self.verbose), kept(self, data)
        if log is checkpoint is _NOTHING and not _is_watched(self):  # as is most often so
            return nullcontext(Session(solver, max_time, None, None))
        return self._open_session(Session(solver, max_time, None, None), log, checkpoint, parts)

    @contextmanager
    def _open_session(
        self,
        session: Session,
        log: AbstractContextManager[None],
        checkpoint: AbstractContextManager[Checkpoint | None],
        parts: int,
    ) -> Iterator[Session]:
        """One with a log, a checkpoint or callbacks."""
        context = None
        if _is_watched(self):
            context = self._init_callback_context(max_subtasks=None if parts == 1 else parts)
            context.call_on_fit_task_begin(estimator=self)
        with log, checkpoint as known:
            yield session._replace(checkpoint=known, context=context)
        if context is not None:
            context.call_on_fit_task_end(estimator=self)

    def _solver(self) -> Solver:
        return as_solver(self.solver)

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """What scikit-learn's diagrams unfold of a fitted estimator, alone or in a pipeline."""
        table = super()._get_fitted_attr_html(doc_link)
        return WithCertificate(self, table) if "certificates_" in vars(self) else table

    def _sk_visual_block_(self) -> Any:
        """Its box in such a diagram; how the fit ended is told below the name."""
        return box(self)

    @classmethod
    def _check_stored(cls, fit: dict[str, Any]) -> None:
        """Raise ModelFileError if attributes that were read from a file do not fit together."""


def all_or_nothing(fit: Fit) -> Fit:
    """Run `fit` on a copy and take over its attributes at the end: a fit that fails changes nothing.

    Its docstring lists only arguments that are not what they are everywhere.
    """

    watched = with_callbacks(fit)

    @wraps(fit)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        scratch = object.__new__(type(self))
        vars(scratch).update(vars(self))
        with limits.Started(), threads.using(self.n_jobs):
            check_parameters(self)
            # X may stay on a card; what belongs to its rows is a number a row, and looked at in memory
            told = {name: value if name == "X" else fetched(value) for name, value in kwargs.items()}
            run = watched if _is_watched(self) else fit
            run(scratch, *args[:1], *map(fetched, args[1:]), **told)
        hand_over(scratch, args[0] if args else kwargs["X"])
        self.__dict__ = scratch.__dict__
        return self

    wrapper.__doc__ = _documented(fit)
    return wrapper  # type: ignore[return-value]


def _is_watched(estimator: Any) -> bool:
    """Are there callbacks?"""
    return not vars(estimator).keys().isdisjoint(_WATCHED_BY)


def _documented(fit: Fit) -> str:
    """All arguments, in their order."""
    told = re.split(r"\n(?=\w+ : )", cleandoc(fit.__doc__ or ""))
    first = _FIT if re.match(r"\w+ : |$", told[0]) else f"{told[0].rstrip()}\n\n{_SAFE}"
    own = {entry.partition(" : ")[0]: entry for entry in told}
    _, *names = signature(fit).parameters
    entries = [own.get(name) or f"{name} : {_ARGUMENTS.get(name, 'array')}" for name in names]
    parts = [first, "", "Parameters", "----------", *entries, "", "Returns", "-------", "self"]
    return "\n".join(parts)


def kept(estimator: Any, data: Callable[[], Any]) -> AbstractContextManager[Checkpoint | None]:
    """The checkpoint that the estimator's parameter names, if any; the data that it is for are asked for. Or
    that of a larger fit, which has been opened for it."""
    path, larger = estimator.checkpoint, vars(estimator).get(KEPT_IN)
    if larger is not None:
        return nullcontext(larger)
    if path is None:
        return _NOTHING
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"checkpoint must be None or the path of a file, got {path!r}")
    parameters = {
        name: value for name, value in estimator.get_params(deep=False).items() if name not in _FREE
    }
    things = {"estimator": type(estimator).__name__, **parameters, "data": data()}
    return Checkpoint(path, Identity.of(things))


def seeded(solver: Solver, random_state: Any) -> Solver:
    """The solver, with random_state as its seed if it takes one. None means its own, fixed seed."""
    if random_state is None:
        return solver
    with naming("random_state"):
        seed = int(check_random_state(random_state).randint(2**31))
    return partial(solver, seed=seed) if "seed" in signature(solver).parameters else solver


def overall_status(statuses: Sequence[Status]) -> Status:
    """The status of a fit in several parts: certified if all are, interrupted if one was."""
    open_ends = [status for status in statuses if status is not Status.CERTIFIED]
    if Status.INTERRUPTED in open_ends:
        return Status.INTERRUPTED
    return open_ends[0] if open_ends else Status.CERTIFIED


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called into gapfit, however deep the call is."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_ON_THE_WAY):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def shown(verbose: int) -> AbstractContextManager[None]:
    """1 shows the log of the fit on stderr, 2 every step; 0 leaves it to the settings of `logging`."""
    if isinstance(verbose, np.bool_):
        verbose = int(verbose)
    if not isinstance(verbose, (int, np.integer)) or verbose < 0:
        raise ValueError(f"verbose must be 0, 1 or 2, got {verbose!r}")
    return _logged(logging.INFO if verbose == 1 else logging.DEBUG) if verbose else _NOTHING


@contextmanager
def _logged(detail: int) -> Iterator[None]:
    """The log in so much detail on stderr."""
    handler, level = logging.StreamHandler(), logger.level
    logger.addHandler(handler)
    logger.setLevel(detail)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
