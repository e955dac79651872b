"""What kernel machines share: the way through `solve`, attributes as libsvm has them, and predictions."""

from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gapfit import limits, threads
from gapfit._types import Data, Slope, Vector
from gapfit.checks import as_weights
from gapfit.design.definite import symmetric
from gapfit.design.kernel import KernelDesign
from gapfit.design.rows import take_rows
from gapfit.errors import as_number
from gapfit.estimators.base import (
    LinearModel,
    Samples,
    check_flag,
    overall_status,
    seeded,
    shown,
    warn_unfinished,
)
from gapfit.estimators.checkpoints import kept
from gapfit.estimators.kernel_bounds import SupportBall, support_ball
from gapfit.estimators.kernel_indefinite import local_solution
from gapfit.estimators.kernel_names import named_kernel
from gapfit.estimators.kernel_parts import Machine, Part, check_margin, machine_of
from gapfit.losses.base import Loss
from gapfit.problem import Problem
from gapfit.registry import as_solver, is_auto
from gapfit.solution import Solution, Status
from gapfit.solve import solve
from gapfit.solvers.smo import smo
from gapfit.solvers.smo_rules import Identification
from gapfit.statements import SUPPORT, ZERO, optimal_ball, support_status

Finish = Callable[[Sequence[Machine]], dict[str, Any]]  # the fitted attributes of machines on all samples


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
    _balls: list[SupportBall | None]  # type: ignore[assignment]

    def _is_given(self, name: str) -> bool:
        """Is the kernel the one of this name? (Whatever it is: nobody has looked at it yet.)"""
        return isinstance(self.kernel, str) and self.kernel == name

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_given("precomputed")
        tags.input_tags.sparse = not callable(self.kernel) and not self._is_given("precomputed")
        return tags

    @property
    def coef_(self) -> Vector:  # type: ignore[override]
        """The weights of the features, for kernel="linear"."""
        if not self._is_given("linear"):
            raise AttributeError("coef_ is there for kernel='linear' only")
        return np.asarray(self.dual_coef_ @ self.support_vectors_)

    def _samples(
        self, X: Any, check_y: Callable[[int], Any], sample_weight: Any, offset: Any = None
    ) -> Samples:
        if sparse.issparse(X) and (callable(self.kernel) or self._is_given("precomputed")):
            raise TypeError(f"sparse X does not go with kernel={self.kernel!r}; pass an array")
        samples = super()._samples(X, check_y, sample_weight, offset)
        if self._is_given("precomputed") and np.shape(X)[0] == np.shape(X)[1]:
            symmetric(np.asarray(X, dtype=np.float64))  # here entries have the places that the user knows
        self._given_weight = as_weights(sample_weight, len(samples.origin.place))
        return samples

    # -- fitting --------------------------------------------------------------------------------------

    def _kernel(self, samples: Samples) -> Any:
        """The kernel as this fit means it, which later changes of parameters do not change."""
        X, weight = samples.X, samples.weight
        self._fitted_kernel = named_kernel(self.kernel, self.gamma, self.degree, self.coef0, X, weight)
        self.gamma_ = getattr(self._fitted_kernel, "gamma", None)
        return self._fitted_kernel

    def _design(self, samples: Samples, kernel: Any) -> KernelDesign:
        memory = 1e6 * as_number("cache_size", self.cache_size)
        if not 0 < memory < np.inf:
            raise ValueError(
                f"cache_size must be a positive, finite number of megabytes, got {self.cache_size!r}"
            )
        X = samples.X
        if isinstance(kernel, str):  # the matrix itself, with a column for every sample that was given
            if X.shape[1] != len(samples.origin.place):
                raise ValueError(f"Precomputed matrix must be a square matrix; X has shape {X.shape}")
            X = np.asarray(X)[:, samples.origin.rows]
        return KernelDesign(X, kernel, int(memory))

    def _fit_parts(
        self,
        samples: Samples,
        design: KernelDesign,
        parts: Sequence[Part],
        loss: Loss,
        alphas: Sequence[float],
        finish: Finish,
    ) -> list[Machine]:
        """Solve a problem for each part; its machine, with a coefficient for each sample. Sets attributes."""
        check_flag("warm_start", self.warm_start)
        limit = np.inf if self.max_time is None else as_number("max_time", self.max_time)
        context = self._init_callback_context(max_subtasks=None if len(parts) == 1 else len(parts))
        context.call_on_fit_task_begin(estimator=self)
        max_iter, n = self.max_iter, design.n_samples
        solutions: list[Solution] = []
        support, since = [], []
        machines: list[Machine] = []
        balls: list[SupportBall | None] = []
        data = (design, parts, loss, alphas, samples.weight)
        with shown(self.verbose), threads.using(self.n_jobs), kept(self, data) as checkpoint:
            for part, alpha, start in zip(parts, alphas, self._starts(n, len(parts)), strict=True):
                everyone = len(part.rows) == n
                some = design if everyone else design.take(part.rows)
                problem = Problem(some, part.target, loss, "l2", alpha, samples.weight[part.rows])
                trace = Identification()
                left = limits.remaining(limit)  # all parts share the time
                local = some.indefinite is not None
                self._partly = _Partly(problem, part, n, machines, len(parts), finish)
                with self._told(context, samples, solutions, len(parts)) as callbacks:
                    solution = local_solution(problem, self.tol, left) if local else solve(
                        problem, self._traced(trace), tol=self.tol, max_iter=max_iter, max_time=left,
                        start=None if start is None else start.w, callbacks=callbacks,
                        n_jobs=self.n_jobs, resumable=False, checkpoint=checkpoint,
                    )  # fmt: skip
                if solution.status in (Status.INTERRUPTED, Status.STOPPED):
                    max_iter = 0  # the other parts get the bounds that come for free
                if checkpoint is not None:
                    checkpoint.accompany(f"trace {len(solutions)}", trace, ended=trace.since is None)
                machine = machine_of(problem, solution.w, float(solution.intercept))
                if solution.status in (Status.CERTIFIED, Status.STALLED):
                    check_margin(problem, machine)
                proved = not local and machine.width is None
                ball = optimal_ball(problem, solution) if proved else None
                status = _spread(support_status(problem, ball), part.rows, n, ZERO)
                solutions.append(solution)
                balls.append(support_ball(problem, solution, ball) if ball and everyone else None)
                machines.append(machine._replace(w=_spread(machine.w, part.rows, n, 0.0)))
                support.append(SUPPORT.take(samples.origin.invert(status, ZERO)))
                steps = np.full(len(part.target), -1) if trace.since is None else trace.since
                since.append(samples.origin.invert(_spread(steps, part.rows, n, -1), -1))
        self._report(solutions, alphas, samples)
        del self._partly
        self.__dict__.update(finish(machines))
        del self._given_weight
        one = len(parts) == 1
        self.support_status_ = support[0] if one else np.array(support)
        self.identified_at_ = since[0] if one else np.array(since)
        self._balls = balls
        self._warm = solutions if self.warm_start else None
        context.call_on_fit_task_end(estimator=self)
        return machines

    def _fit_one(self, samples: Samples, part: Part, loss: Loss, alpha: float) -> Machine:
        """A fit that is a single problem on all samples."""
        design = self._design(samples, self._kernel(samples))
        order = np.arange(len(samples.origin.place))

        def finish(machines: Sequence[Machine]) -> dict[str, Any]:
            found, each = self._support_of(samples, order, machines)
            return {**found, "dual_coef_": each, "n_support_": np.array([each.shape[1]], dtype=np.int32)}

        (machine,) = self._fit_parts(samples, design, [part], loss, [alpha], finish)
        return machine

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
        self.shape_fit_ = (len(samples.origin.place), self.n_features_in_)
        if self.status_ not in (Status.CERTIFIED, Status.STOPPED, Status.LOCAL):
            warn_unfinished(self.status_, max(certificates, key=lambda c: c.relative_gap), self.tol)

    def _traced(self, trace: Identification) -> Callable[..., Any]:
        """The solver, seeded, and told whom to tell about identified variables if it does so."""
        solver = seeded(smo if is_auto(self.solver) else as_solver(self.solver), self.random_state)
        takes = signature(solver).parameters
        return partial(solver, trace=trace) if "trace" in takes else solver

    def _support_of(
        self, samples: Samples, order: Any, machines: Sequence[Machine]
    ) -> tuple[dict[str, Any], Vector]:
        """Attributes of the machines, their support vectors in this order of all samples; the coefficients.

        Equal samples share their coefficient in the ratio of their weights.
        """
        origin = samples.origin
        share = np.zeros(len(origin.place))
        there = origin.place >= 0
        share[there] = self._given_weight[there] / origin.weight[origin.place[there]]
        each = np.stack([origin.invert(machine.w, 0.0) * share for machine in machines])
        support = order[each[:, order].any(axis=0)].astype(np.int32)
        vectors = np.empty((0, 0)) if self._precomputed else take_rows(samples.X, origin.place[support])
        found = {
            "support_": support,
            "support_vectors_": vectors,
            "intercept_": np.array([machine.b for machine in machines]),
            "_support": self._support_design(vectors),
        }
        return found, np.asarray(each[:, support])

    # -- predicting -----------------------------------------------------------------------------------

    @property
    def _precomputed(self) -> bool:
        return isinstance(self._fitted_kernel, str)

    def _restore(self) -> None:
        """Set what follows from the support vectors, after a fit or when a file was loaded."""
        self._support = self._support_design(self.support_vectors_)

    def _support_design(self, vectors: Data) -> KernelDesign | None:
        there = vectors.shape[0] and not self._precomputed
        return KernelDesign(vectors, self._fitted_kernel, 0) if there else None

    def _expansions(self, X: Data, coefficients: Vector) -> Vector:
        """sum_i c_i k(x, x_i) for each row x and each row c of coefficients of the support vectors."""
        if self._precomputed:
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
        ball = self._balls[0]
        if len(self._balls) > 1 or ball is None:
            raise ValueError(
                "score_bounds are there for two classes and regression, without nu, and novelty detection, "
                "where the kernel matrix is positive semidefinite"
            )
        if self._precomputed:
            raise ValueError(
                "score_bounds of other samples need their own kernel values, which a matrix lacks"
            )
        f = self.dual_coef_[:1]
        both = np.concatenate([f, ball.point(f)])
        scores, near = self._expansions(X, both).T
        with threads.using(self.n_jobs):
            diagonal = KernelDesign(X, self._fitted_kernel, 0).tiles.diagonal
            others = None if self._support is None else self._support.seen_by(X)
            slack = [np.zeros(len(scores)) if others is None else others.slack(row) for row in both]
        return ball.score_bounds(scores, near, diagonal, (slack[0], slack[1]))

    def _point(self, w: Sequence[Slope], b: Sequence[float]) -> dict[str, Any]:
        """As if the part under way ended here, and those to come had no support vectors."""
        return self._partly.attributes(w, b)


class _Partly(NamedTuple):
    """A fit under way."""

    problem: Problem
    part: Part
    n: int  # samples
    done: Sequence[Machine]
    parts: int
    finish: Finish

    def attributes(self, w: Sequence[Slope], b: Sequence[float]) -> dict[str, Any]:
        k = len(self.done)
        machine = machine_of(self.problem, w[k], float(b[k]))
        machine = machine._replace(w=_spread(machine.w, self.part.rows, self.n, 0.0))
        return self.finish([*self.done, machine, *[Machine(np.zeros(self.n), 0.0)] * (self.parts - k - 1)])


def _spread(values: NDArray[Any], rows: Any, n: int, elsewhere: Any) -> NDArray[Any]:
    out = np.full(n, elsewhere, dtype=values.dtype)
    out[rows] = values
    return out
