"""What kernel machines share: kernels by name, the way through `solve`, and attributes as libsvm has them."""

from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gapfit import threads
from gapfit._types import Data, Slope, Vector
from gapfit.certify import Ball, optimal_ball, support_status
from gapfit.checks import as_weights
from gapfit.design.kernel import KernelDesign
from gapfit.design.kernel_functions import Gaussian, KernelFunction, Linear, Polynomial, Sigmoid
from gapfit.design.rows import take_rows
from gapfit.errors import as_number
from gapfit.estimators.base import (
    LinearModel,
    Samples,
    check_flag,
    naming,
    overall_status,
    shown,
    warn_unfinished,
)
from gapfit.losses.base import Loss
from gapfit.problem import Problem
from gapfit.registry import as_solver
from gapfit.solution import Solution, Status
from gapfit.solve import solve
from gapfit.solvers.smo import smo
from gapfit.solvers.smo_rules import Identification

_FUNCTIONS: dict[str, Callable[["KernelModel", float], KernelFunction]] = {
    "linear": lambda model, gamma: Linear(),
    "rbf": lambda model, gamma: Gaussian(gamma),
    "poly": lambda model, gamma: Polynomial(gamma, model.degree, model.coef0),
    "sigmoid": lambda model, gamma: Sigmoid(gamma, model.coef0),
}


class Part(NamedTuple):
    """One problem of a fit: which of the samples it is about, and their targets."""

    rows: Any  # of the samples
    target: Vector


class KernelModel(LinearModel):
    """Parameters that every kernel machine has, and the attributes that every fit sets."""

    kernel: Any
    degree: float
    gamma: Any
    coef0: float
    cache_size: float

    support_: NDArray[np.intp]
    support_vectors_: Data
    dual_coef_: Vector

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = not callable(self.kernel) and self.kernel != "precomputed"
        return tags

    @property
    def coef_(self) -> Vector:  # type: ignore[override]
        """The weights of the features, for kernel="linear"."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is there for kernel='linear' only")
        return np.asarray(self.dual_coef_ @ self.support_vectors_)

    def _samples(
        self, X: Any, check_y: Callable[[int], Any], sample_weight: Any, offset: Any = None
    ) -> Samples:
        if sparse.issparse(X) and (callable(self.kernel) or self.kernel == "precomputed"):
            raise TypeError(f"sparse X does not go with kernel={self.kernel!r}; pass an array")
        samples = super()._samples(X, check_y, sample_weight, offset)
        self._given_weight = as_weights(sample_weight, len(samples.origin.place))
        return samples

    # -- kernels --------------------------------------------------------------------------------------

    def _kernel(self, samples: Samples) -> Any:
        if self.kernel == "precomputed" or callable(self.kernel):
            return self.kernel
        if not isinstance(self.kernel, str) or self.kernel not in _FUNCTIONS:
            known = ", ".join([*_FUNCTIONS, "precomputed"])
            raise ValueError(f"kernel must be one of {known} or a function, got {self.kernel!r}")
        function = _FUNCTIONS[self.kernel](self, self._gamma(samples))
        if not function.psd:
            raise ValueError(
                f"kernel={self.kernel!r} is not positive semidefinite: its problem is not convex, and "
                "nothing could be proved of an answer. Use 'rbf' or 'poly'"
            )
        return function

    def _gamma(self, samples: Samples) -> float:
        if self.gamma == "scale":
            variance = _variance(samples.X, samples.weight)
            return 1.0 / (samples.X.shape[1] * variance) if variance > 0 else 1.0
        if self.gamma == "auto":
            return 1.0 / samples.X.shape[1]
        if isinstance(self.gamma, str):
            raise ValueError(f"gamma must be 'scale', 'auto' or a positive number, got {self.gamma!r}")
        return as_number("gamma", self.gamma)

    def _design(self, samples: Samples, kernel: Any) -> KernelDesign:
        memory = 1e6 * as_number("cache_size", self.cache_size)
        if not memory > 0:
            raise ValueError(f"cache_size must be a positive number of megabytes, got {self.cache_size!r}")
        X = samples.X
        if isinstance(kernel, str):  # the matrix itself, with a column for every sample that was given
            if X.shape[1] != len(samples.origin.place):
                raise ValueError(f"Precomputed matrix must be a square matrix; X has shape {X.shape}")
            X = np.asarray(X, dtype=np.float64)[:, samples.origin.rows]
        return KernelDesign(X, kernel, int(memory))

    # -- fitting --------------------------------------------------------------------------------------

    def _fit_parts(
        self,
        samples: Samples,
        design: KernelDesign,
        parts: Sequence[Part],
        loss: Loss,
        alphas: Sequence[float],
    ) -> list[Slope]:
        """Solve a problem for each part; the coefficients of all samples in each. Sets the attributes."""
        check_flag("warm_start", self.warm_start)
        began = perf_counter()
        limit = np.inf if self.max_time is None else as_number("max_time", self.max_time)
        context = self._init_callback_context(max_subtasks=None if len(parts) == 1 else len(parts))
        context.call_on_fit_task_begin(estimator=self)
        max_iter, n = self.max_iter, design.n_samples
        solutions: list[Solution] = []
        coefficients, support, since = [], [], []
        balls: list[Ball | None] = []
        with shown(self.verbose), threads.using(self.n_jobs):
            for part, alpha, start in zip(parts, alphas, self._starts(n, len(parts)), strict=True):
                everyone = len(part.rows) == n
                some = design if everyone else design.take(part.rows)
                problem = Problem(some, part.target, loss, "l2", alpha, samples.weight[part.rows])
                trace = Identification()
                left = max(limit - (perf_counter() - began), min(limit, 0.0))  # all parts share the time
                solution = solve(
                    problem, self._traced(trace), tol=self.tol, max_iter=max_iter, max_time=left,
                    start=None if start is None else start.w, n_jobs=self.n_jobs, resumable=False,
                )  # fmt: skip
                if solution.status in (Status.INTERRUPTED, Status.STOPPED):
                    max_iter = 0  # the other parts get the bounds that come for free
                ball = optimal_ball(problem, solution)
                status = support_status(problem, ball) if ball else np.full(len(part.target), "undecided")
                solutions.append(solution)
                balls.append(ball if everyone else None)
                coefficients.append(_spread(solution.w, part.rows, n, 0.0))
                support.append(samples.origin.invert(_spread(status, part.rows, n, "zero"), "zero"))
                steps = np.full(len(part.target), -1) if trace.since is None else trace.since
                since.append(samples.origin.invert(_spread(steps, part.rows, n, -1), -1))
        self._report(solutions, alphas, samples)
        one = len(parts) == 1
        self.support_status_ = support[0] if one else np.array(support)
        self.identified_at_ = since[0] if one else np.array(since)
        self._balls, self._train = balls, design
        self._warm = solutions if self.warm_start else None
        context.call_on_fit_task_end(estimator=self)
        return coefficients

    def _fit_one(self, samples: Samples, part: Part, loss: Loss, alpha: float) -> None:
        """A fit that is a single problem on all samples."""
        self._fitted_kernel = self._kernel(samples)
        self.gamma_ = getattr(self._fitted_kernel, "gamma", None)
        design = self._design(samples, self._fitted_kernel)
        coefficients = self._fit_parts(samples, design, [part], loss, [alpha])
        self.dual_coef_ = self._keep_support(samples, np.arange(len(samples.origin.place)), coefficients)
        self.n_support_ = np.array([len(self.support_)], dtype=np.int32)
        self.intercept_ = self._intercepts

    def _report(self, solutions: Sequence[Solution], alphas: Sequence[float], samples: Samples) -> None:
        certificates = [solution.certificate for solution in solutions]
        histories = [solution.history for solution in solutions]
        self.certificates_ = certificates
        self.objective_ = float(np.mean([certificate.primal for certificate in certificates]))
        self.dual_objective_ = float(np.mean([certificate.dual for certificate in certificates]))
        self.dual_gap_ = max(certificate.gap for certificate in certificates)
        self.status_ = overall_status([solution.status for solution in solutions])
        self.converged_ = self.status_ is Status.CERTIFIED
        self.fit_status_ = int(not self.converged_)
        self.n_iter_ = max(solution.n_iter for solution in solutions)
        self.history_ = histories if len(solutions) > 1 else histories[0]
        self.alpha_: Any = float(alphas[0]) if len(alphas) == 1 else np.array(alphas)
        self._intercepts = np.array([float(solution.intercept) for solution in solutions])
        self.shape_fit_ = (len(samples.origin.place), self.n_features_in_)
        if self.status_ not in (Status.CERTIFIED, Status.STOPPED):
            warn_unfinished(self.status_, max(certificates, key=lambda c: c.relative_gap), self.tol)

    def _traced(self, trace: Identification) -> Callable[..., Any]:
        """The solver, seeded, and told whom to tell about identified variables if it does so."""
        solver = self._seeded_solver()
        takes = signature(solver).parameters
        return partial(solver, trace=trace) if "trace" in takes else solver

    def _seeded_solver(self) -> Callable[..., Any]:
        solver = smo if self.solver == "auto" else as_solver(self.solver)
        if self.random_state is None:
            return solver
        from sklearn.utils import check_random_state

        with naming("random_state"):
            seed = int(check_random_state(self.random_state).randint(2**31))
        return partial(solver, seed=seed) if "seed" in signature(solver).parameters else solver

    def _keep_support(self, samples: Samples, order: Any, coefficients: Sequence[Slope]) -> Vector:
        """Set `support_` and `support_vectors_`, in this order of all samples; their coefficients.

        Equal samples share their coefficient in the ratio of their weights.
        """
        origin = samples.origin
        share = np.zeros(len(origin.place))
        there = origin.place >= 0
        share[there] = self._given_weight[there] / origin.weight[origin.place[there]]
        each = np.stack([origin.invert(w, 0.0) * share for w in coefficients])
        self.support_ = order[each[:, order].any(axis=0)].astype(np.int32)
        matrix = isinstance(self.kernel, str) and self.kernel == "precomputed"
        self.support_vectors_ = (
            np.empty((0, 0)) if matrix else take_rows(samples.X, origin.place[self.support_])
        )
        self._support = (
            None
            if matrix or not len(self.support_)
            else KernelDesign(self.support_vectors_, self._fitted_kernel, 0)
        )
        return np.asarray(each[:, self.support_])

    # -- predicting -----------------------------------------------------------------------------------

    def _expansions(self, X: Data, coefficients: Vector) -> Vector:
        """sum_i c_i k(x, x_i) for each row x and each row c of coefficients of the support vectors."""
        if self._support is None and len(self.support_):
            return np.asarray(np.asarray(X, dtype=np.float64)[:, self.support_] @ coefficients.T)
        if self._support is None:
            return np.zeros((X.shape[0], len(coefficients)))
        with threads.using(self.n_jobs):
            others = self._support.seen_by(X)
            return np.stack([others.scores(row) for row in coefficients], axis=1)

    def score_bounds(self, X: Any) -> tuple[Vector, Vector]:
        """Bounds on the decision function of the exact optimum, true of every optimal model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        lo, hi : arrays of shape (n,)
        """
        X = self._checked(X)
        if len(self._balls) > 1 or self._balls[0] is None:
            raise ValueError(
                "score_bounds are there for two classes, and for regression and novelty detection"
            )
        with threads.using(self.n_jobs):
            return self._balls[0].score_bounds(self._train.seen_by(X))

    def _point(self, w: Sequence[Slope], b: Sequence[float]) -> dict[str, Any]:
        return {}


def _spread(values: NDArray[Any], rows: Any, n: int, elsewhere: Any) -> NDArray[Any]:
    out = np.full(n, elsewhere, dtype=values.dtype)
    out[rows] = values
    return out


def _variance(X: Data, weight: Vector) -> float:
    """Of all entries, each sample counted as often as its weight says."""
    share = weight / weight.sum()
    if sparse.issparse(X):
        each = X.astype(np.float64)
        first, second = (np.asarray(part.sum(axis=1)).ravel() for part in (each, each.multiply(each)))
        d = X.shape[1]
        return float(share @ second / d - (share @ first / d) ** 2)
    mean = float(share @ X.mean(axis=1, dtype=np.float64))
    return float(share @ np.mean((X.astype(np.float64) - mean) ** 2, axis=1))
