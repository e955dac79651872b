"""What the linear estimators share: the way from validated data through `solve` to fitted attributes."""

import logging
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial, wraps
from inspect import signature
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from gapfit import limits, threads
from gapfit._types import Data, Matrix, Slope, Vector
from gapfit.checks import as_column, as_weights
from gapfit.design.memory import MemoryDesign, check_sparse_indices
from gapfit.errors import as_number
from gapfit.estimators.callbacks import Steps
from gapfit.estimators.checkpoints import kept
from gapfit.losses.base import Loss
from gapfit.penalties import Box, Penalty
from gapfit.problem import Problem
from gapfit.reductions import Multiset
from gapfit.registry import LOSSES, as_loss, as_penalty, as_solver
from gapfit.solution import Certificate, Solution, Status
from gapfit.solve import solve
from gapfit.statements import SUPPORT, ZERO, Ball, optimal_balls, support_status

logger = logging.getLogger("gapfit")

_BLOCK_ELEMENTS = 2**20

Fit = TypeVar("Fit", bound=Callable[..., Any])


class Samples(NamedTuple):
    """What `fit` was given, validated: the different samples that have a weight, and where they were."""

    X: Data
    y: Any
    weight: Vector
    offset: Vector | None
    origin: Multiset
    groups: Any = None


class LinearModel(CallbackSupportMixin, BaseEstimator):
    """Parameters that every linear estimator has, and the attributes that every fit sets."""

    penalty: str | Penalty
    alpha: float
    positive: bool
    solver: str | Callable[..., Any]
    tol: float
    max_iter: int
    max_time: float | None
    checkpoint: Any
    warm_start: bool
    random_state: Any
    n_jobs: int | None
    verbose: int

    coef_: NDArray[Any]
    intercept_: Any
    _balls: list[Ball | None]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def score_bounds(self, X: Any) -> tuple[Vector, Vector]:
        """Bounds on the decision function of the exact optimum, true of every optimal model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        lo, hi : arrays of the shape of `decision_function(X)`
        """
        X = self._checked(X)
        if any(ball is None for ball in self._balls):
            raise ValueError(
                f"penalty {self.penalty!r} is not strongly convex, so that a small gap does not confine the "
                "optimum; L2, ElasticNet with l1_ratio < 1, QuadraticForm, SquaredLp and SimplexEntropy are"
            )
        lo, hi = zip(*(ball.score_bounds(X) for ball in self._balls if ball), strict=True)
        return _columns(np.stack(lo, axis=1)), _columns(np.stack(hi, axis=1))

    # -- on the way in --------------------------------------------------------------------------------

    def _samples(
        self, X: Any, check_y: Callable[[int], Any], sample_weight: Any, offset: Any = None
    ) -> Samples:
        """Everything `fit` is given, validated. `check_y` is told the number of rows."""
        X = _validated(self, X, reset=True)
        n = X.shape[0]
        y, weight = check_y(n), as_weights(sample_weight, n)
        offset = None if offset is None else as_column("offset", offset, n)
        with threads.using(self.n_jobs):
            origin = Multiset.of(X, y, weight, offset)
            return Samples(origin.apply(X), origin.apply(y), origin.weight, origin.apply(offset), origin)

    def _checked(self, X: Any) -> Data:
        """X for a fitted model."""
        check_is_fitted(self)
        return _validated(self, X, reset=False)

    def _scores(self, X: Any) -> Vector:
        """X coef_' + intercept_, in float64: (n,) for a single model, (n, k) for several."""
        X = self._checked(X)
        return _columns(products(X, np.atleast_2d(self.coef_).astype(np.float64)) + self.intercept_)

    # -- on the way out -------------------------------------------------------------------------------

    def _solve(self, samples: Samples, targets: Sequence[Any], loss: Loss, intercept: bool) -> list[Solution]:
        """Solve one problem for each vector of targets, and set the fitted attributes."""
        check_flag("warm_start", self.warm_start)
        design, weight, penalty = MemoryDesign(samples.X), samples.weight, self._penalty()
        limit = np.inf if self.max_time is None else as_number("max_time", self.max_time)
        solver, max_iter = self._seeded_solver(), self.max_iter
        context = self._init_callback_context(max_subtasks=None if len(targets) == 1 else len(targets))
        context.call_on_fit_task_begin(estimator=self)
        solutions: list[Solution] = []
        balls, support = [], []
        data = (design, targets, weight, samples.offset, samples.groups, loss)
        with shown(self.verbose), threads.using(self.n_jobs), kept(self, data) as checkpoint:
            for target, start in zip(targets, self._starts(design.shape[1], len(targets)), strict=True):
                problem = Problem(
                    design, target, loss, penalty, self.alpha, weight, intercept,
                    samples.offset, samples.groups,
                )  # fmt: skip
                left = limits.remaining(limit)  # all parts share the time
                with self._told(context, samples, solutions, len(targets)) as callbacks:
                    solution = solve(
                        problem,
                        solver,
                        tol=self.tol,
                        max_iter=max_iter,
                        max_time=left,
                        start=start,
                        callbacks=callbacks,
                        n_jobs=self.n_jobs,
                        resumable=self.warm_start,
                        checkpoint=checkpoint,
                    )
                if solution.status in (Status.INTERRUPTED, Status.STOPPED):
                    max_iter = 0  # the other parts get the bounds that come for free
                columns = optimal_balls(problem, solution)
                status = support_status(problem, columns[0])
                solutions.append(solution)
                balls.extend(columns)
                support.append(SUPPORT.take(samples.origin.invert(status, ZERO)))
        certificates = [solution.certificate for solution in solutions]
        histories = [solution.history for solution in solutions]
        self.certificates_ = certificates
        self.objective_ = float(np.mean([certificate.primal for certificate in certificates]))
        self.dual_objective_ = float(np.mean([certificate.dual for certificate in certificates]))
        self.dual_gap_ = max(certificate.gap for certificate in certificates)
        self.status_ = overall_status([solution.status for solution in solutions])
        self.converged_ = self.status_ is Status.CERTIFIED
        self.n_iter_ = max(solution.n_iter for solution in solutions)
        self.history_ = histories if len(targets) > 1 else histories[0]
        self.support_status_ = np.array(support) if len(targets) > 1 else support[0]
        self.alpha_ = float(self.alpha)
        self.C_ = 1.0 / self.alpha_ / float(weight.sum())  # their product may underflow
        self._balls = balls
        self._warm = solutions if self.warm_start else None
        self.__dict__.update(self._point([s.w for s in solutions], [s.intercept for s in solutions]))
        context.call_on_fit_task_end(estimator=self)
        if self.status_ not in (Status.CERTIFIED, Status.STOPPED):
            warn_unfinished(self.status_, max(certificates, key=lambda c: c.relative_gap), self.tol)
        return solutions

    @abstractmethod
    def _point(self, w: Sequence[Slope], b: Sequence[float]) -> dict[str, Any]:
        """The fitted attributes that predictions need, from the weights and intercepts of all parts."""

    @contextmanager
    def _told(
        self, context: Any, samples: Samples, solved: Sequence[Solution], parts: int
    ) -> Iterator[list[Steps]]:
        """The callbacks of `solve` that tell scikit-learn's of each step; none if the estimator has none."""
        if not getattr(self, "_skl_callbacks", None):
            yield []
            return
        if parts > 1:
            context = context.subcontext(task_name="part", max_subtasks=None)
            context.call_on_fit_task_begin(estimator=self)
        to_come = parts - len(solved) - 1

        def attributes(w: Slope, b: float) -> dict[str, Any]:
            ws = [*(s.w for s in solved), w, *[np.zeros_like(w)] * to_come]
            return self._point(ws, [*(s.intercept for s in solved), b, *[0.0] * to_come])

        metadata = {"sample_weight": samples.weight}
        if samples.groups is not None:
            metadata["qid"] = samples.groups
        data = dict(X=samples.X, y=samples.y, metadata=metadata)
        steps = Steps(self, context, data, attributes)
        yield [steps]
        steps.close()
        if parts > 1:
            context.call_on_fit_task_end(estimator=self)

    def _penalty(self) -> Penalty:
        check_flag("positive", self.positive)
        penalty = as_penalty(self.penalty)
        if not self.positive:
            return penalty
        try:
            return Box(penalty, 0.0, np.inf)  # type: ignore[arg-type]  # Box itself says what it takes
        except TypeError as error:
            raise TypeError(f"positive=True and penalty={penalty!r} do not go together: {error}") from error

    def _starts(self, d: int, parts: int) -> Sequence[Solution | None]:
        """Where to start: from the last solutions, if they fit. `solve` sees whether their bounds hold."""
        last: Sequence[Solution] = getattr(self, "_warm", None) or ()
        fits = self.warm_start and len(last) == parts and all(len(solution.w) == d for solution in last)
        return last if fits else [None] * parts

    def _seeded_solver(self) -> Callable[..., Any]:
        """The solver, with random_state as its seed if it takes one. None means its own, fixed seed."""
        return seeded(as_solver(self.solver), self.random_state)


def all_or_nothing(fit: Fit) -> Fit:
    """Run `fit` on a copy and take over its attributes at the end: a fit that fails changes nothing."""

    @wraps(fit)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        scratch = copy(self)
        with limits.started():
            with_callbacks(fit)(scratch, *args, **kwargs)
        self.__dict__ = scratch.__dict__
        return self

    return wrapper  # type: ignore[return-value]


def seeded(solver: Callable[..., Any], random_state: Any) -> Callable[..., Any]:
    """The solver, with random_state as its seed if it takes one. None means its own, fixed seed."""
    if random_state is None:
        return solver
    with naming("random_state"):
        seed = int(check_random_state(random_state).randint(2**31))
    return partial(solver, seed=seed) if "seed" in signature(solver).parameters else solver


def check_loss(loss: Any, names: Sequence[str]) -> Loss:
    """One of the named losses, or one that the user wrote."""
    made = as_loss(loss)
    name = next((name for name, known in LOSSES.items() if type(made) is known), None)
    if name is not None and name not in names:
        raise ValueError(f"loss must be one of {', '.join(names)} or of your own making, got {loss!r}")
    return made


def check_flag(name: str, value: Any) -> None:
    """A parameter that is true or false."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Errors from scikit-learn's validation that do not say which argument they are about, now do."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if argument in str(error).split():
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{argument}: {error}") from error


def _validated(estimator: LinearModel, X: Any, *, reset: bool) -> Data:
    if sparse.issparse(X):
        check_sparse_indices(X)  # before any conversion follows them
    with naming("X"):
        return validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=[np.float64, np.float32],
            order="C" if reset else None,
        )


def products(X: Data, W: Matrix) -> Matrix:
    """X W' in float64, row by row.

    With BLAS the rounding of a row depends on the rows around it, and an optimum has exact ties: samples on
    the margins of two classes. The same row shall always be given the same label.
    """
    if sparse.issparse(X):
        return np.asarray(X @ W.T)
    size = max(1, _BLOCK_ELEMENTS // X.shape[1])
    blocks = (X[first : first + size] for first in range(0, X.shape[0], size))
    return np.concatenate([np.einsum("ij,kj->ik", np.ascontiguousarray(b, np.float64), W) for b in blocks])


def _columns(values: NDArray[Any]) -> NDArray[Any]:
    """(n,) instead of (n, 1): a single model has no second axis."""
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


_NEXT = {
    Status.MAX_ITER: "raise max_iter or tol, scale the features, or raise alpha",
    Status.TIME_LIMIT: "raise max_time or tol, scale the features, or raise alpha",
    Status.STALLED: "raise tol above the relative gap, pass X in float64, or scale the features",
    Status.INTERRUPTED: "use the model as it is, or fit again (warm_start=True goes on from here)",
}


def overall_status(statuses: Sequence[Status]) -> Status:
    """The status of a fit in several parts: certified if all are, interrupted if one was."""
    open_ends = [status for status in statuses if status is not Status.CERTIFIED]
    if Status.INTERRUPTED in open_ends:
        return Status.INTERRUPTED
    return open_ends[0] if open_ends else Status.CERTIFIED


def warn_unfinished(status: Status, certificate: Certificate, tol: float) -> None:
    warnings.warn(
        f"{status.value}. The duality gap is {certificate.gap:.3g}, that is {certificate.relative_gap:.3g} "
        f"of the objective, and tol asks for {tol:.3g}. Next: {_NEXT.get(status, 'raise tol')}.",
        ConvergenceWarning,
        stacklevel=6,  # the line that calls fit
    )


@contextmanager
def shown(verbose: int) -> Iterator[None]:
    """1 shows the log of the fit on stderr, 2 every step; 0 leaves it to the settings of `logging`."""
    if isinstance(verbose, bool | np.bool_):
        verbose = int(verbose)
    if not isinstance(verbose, int | np.integer) or verbose < 0:
        raise ValueError(f"verbose must be 0, 1 or 2, got {verbose!r}")
    if not verbose:
        yield
        return
    handler, level = logging.StreamHandler(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO if verbose == 1 else logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
