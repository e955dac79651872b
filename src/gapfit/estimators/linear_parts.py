"""The problems of a linear model, one for each vector of targets, and what their solutions say."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Data, Slope
from gapfit.checkpoint import Checkpoint
from gapfit.design.base import Design
from gapfit.design.memory import MemoryDesign, design_of
from gapfit.driver.at_once import at_once, is_plain
from gapfit.driver.curved_in_one_call import Curved
from gapfit.driver.in_one_call import Fitted, Small
from gapfit.driver.moments_in_one_call import ByMoments
from gapfit.driver.one_call_given import Plain
from gapfit.errors import UnboundedProblem
from gapfit.estimators.certified import Parts
from gapfit.estimators.fitting import Solver
from gapfit.estimators.predictions import until_certain
from gapfit.estimators.samples import Samples
from gapfit.losses.base import Loss
from gapfit.penalties import Penalty
from gapfit.problem import Problem
from gapfit.reductions import Multiset
from gapfit.solution import Solution
from gapfit.solvers.auto import for_small_data
from gapfit.solvers.base import solver_name
from gapfit.statements import SUPPORT as SUPPORT_NAMES
from gapfit.statements import ZERO, Ball, optimal_balls, support_status
from gapfit.whereabouts.coefficients import zeros_and_signs
from gapfit.whereabouts.newton import sharper


class Posed(NamedTuple):
    """What `fit` is to solve: a problem for each vector of targets."""

    samples: Samples
    targets: Sequence[Any]
    loss: Loss
    intercept: bool
    watched: Data | None = None  # rows whose labels end the fit as soon as they are certain


class SolvedAlone(NamedTuple):
    """A problem and its solution."""

    problem: Problem
    solution: Solution

    def whole(self) -> tuple[Problem, Solution]:
        """Both."""
        return self


class SolvedInOneCall(NamedTuple):
    """A problem that was never made, and how its fit ended."""

    make: Callable[[], Problem]
    solution: Fitted

    def whole(self) -> tuple[Problem, Solution]:
        """Both, made now."""
        problem = self.make()
        return problem, self.solution.solution(problem)


Solved = SolvedAlone | SolvedInOneCall


class Shared(NamedTuple):
    """What all problems of a fit are made of. Those who make them later hold on to this alone: who refers to
    himself, by a fit that refers to its model, is in memory until the collector comes."""

    design: Design
    samples: Samples
    targets: Sequence[Any]
    loss: Loss
    penalty: Penalty
    alpha: float
    intercept: bool
    labels: Any  # of targets, if they tell classes apart

    def problem(self, k: int) -> Problem:
        """The k-th."""
        design, samples, targets, loss, penalty, alpha, intercept, labels = self
        try:
            return Problem(
                design, targets[k], loss, penalty, alpha, samples.weight, intercept, samples.offset,
                samples.groups,
            )  # fmt: skip
        except UnboundedProblem as error:
            if len(targets) == 1:
                raise
            if labels is None:
                raise UnboundedProblem(f"column {k} of y: {error}") from error
            raise UnboundedProblem(
                f"label {labels[k]}: {error}. All samples have it, or none: leave its column of y out"
            ) from error


class LinearParts(Parts):
    """A problem for each vector of targets of the same samples."""

    def __init__(self, model: Any, posed: Posed) -> None:
        samples, targets, loss, intercept, watched = posed
        self.model, self.samples, self.targets, self.loss = model, samples, targets, loss
        self.watched = None if watched is None else MemoryDesign(watched)
        self.design, self.count = design_of(samples.X), len(targets)
        self.n_offsets, self.total = 0, float(samples.weight.sum())
        self.alpha, labels = model._alpha(self.total), vars(model).get("classes_")
        self.shared = Shared(
            self.design, samples, targets, loss, model._penalty(), self.alpha, intercept, labels
        )
        self.solved: list[Solved] = []
        self.fits: Sequence[Fitted | None] = ()

    def data(self) -> Any:
        samples = self.samples
        known = self.design if isinstance(self.design, MemoryDesign) else self.design.digest()
        return known, self.targets, samples.weight, samples.offset, samples.groups, self.loss

    def seen(self) -> dict[str, Any]:
        metadata = {"sample_weight": self.samples.weight}
        if self.samples.groups is not None:
            metadata["qid"] = self.samples.groups
        return dict(X=self.samples.X, y=self.samples.y, metadata=metadata)

    def problem(self, k: int) -> Problem:
        problem = self.shared.problem(k)
        self.n_offsets = problem.n_offsets
        return problem

    def solution(self, problem: Problem, solver: Solver, checkpoint: Checkpoint | None, how: Any) -> Solution:
        if self.watched is None:
            return self._solution(problem, solver, checkpoint, how)
        return until_certain(problem, self.watched, partial(self._solution, problem, solver, checkpoint), how)

    def _solution(
        self, problem: Problem, solver: Solver, checkpoint: Checkpoint | None, how: Any
    ) -> Solution:
        usual = solver_name(solver) == "auto" and checkpoint is None and is_plain(how)
        quick = for_small_data(problem) if usual and problem.dtype == np.float64 else None
        if quick is not None:
            solution, _ = at_once(problem, quick, how["tol"])
            if solution is not None:
                return solution
        return super().solution(problem, solver, checkpoint, how)

    def together(self, solver: Solver, tol: float) -> Sequence[Fitted | None]:
        samples = self.samples
        plain = samples.offset is None and samples.groups is None and self.watched is None
        if plain and solver_name(solver) == "auto" and isinstance(self.design, MemoryDesign):
            _, _, _, loss, penalty, alpha, intercept, _ = self.shared
            given = Plain.of(self.design, samples.weight, loss, penalty, alpha, intercept)
            small = None if given is None else self._in_one_call(given)
            if small is not None:
                self.fits = [small.fit(target, tol) for target in self.targets]
                return self.fits
        return [None] * self.count

    def _in_one_call(self, given: Plain) -> ByMoments | Small | Curved | None:
        """Who fits in one call, if anybody does."""
        one = ByMoments.of(given) if self.count == 1 else None  # for several, X'X would be made for each
        return one or Small.of(given) or Curved.of(given)

    def take(self, k: int) -> None:
        fit: Fitted = self.fits[k]  # type: ignore[assignment]
        several = isinstance(fit.intercept, np.ndarray)
        self.n_offsets = (len(fit.intercept) if several else 1) if self.shared.intercept else 0
        self.solved.append(SolvedInOneCall(partial(self.shared.problem, k), fit))

    def keep(self, problem: Problem, solution: Solution) -> None:
        self.solved.append(SolvedAlone(problem, solution))

    def attributes(self, k: int, w: Slope, b: Any) -> dict[str, Any]:
        to_come = range(self.count - k - 1)
        before = [one.solution for one in self.solved[:k]]
        ws = [*(solution.w for solution in before), w, *(np.zeros_like(w) for _ in to_come)]
        bs = [*(solution.intercept for solution in before), b, *(0.0 for _ in to_come)]
        return self.model._point(self, ws, bs)

    def fitted(self) -> dict[str, Any]:
        ends, alpha = [one.solution for one in self.solved], float(self.alpha)
        return {
            "alpha_": alpha,
            "C_": 1.0 / alpha / self.total,  # their product may underflow
            **self.model._point(self, [end.w for end in ends], [end.intercept for end in ends]),
        }


def statements(
    solved: Sequence[Solved], origin: Multiset, shape: tuple[int, ...], *, sharply: bool
) -> dict[str, Any]:
    """What is proved of the optimum, of each weight and of each training sample; sharply, where that may take
    longer than a fit."""
    balls: list[Ball | None] = []
    support: list[NDArray[Any]] = []
    weights: list[Any] = []
    for problem, solution in (one.whole() for one in solved):
        columns = optimal_balls(problem, solution)
        if sharply and len(columns) == 1:
            columns = [sharper(problem, solution, columns[0])]
        balls.extend(columns)
        weights.append(zeros_and_signs(problem, solution, columns[0]))
        support.append(SUPPORT_NAMES.take(origin.invert(support_status(problem, columns[0]), ZERO)))
    zeros, signs = map(np.stack, zip(*weights, strict=True))
    if zeros.size != int(np.prod(shape)):  # of a joint fit, of which nothing is said
        zeros, signs = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=np.int8)
    return {
        "support_status_": np.array(support) if len(support) > 1 else support[0],
        "certified_zeros_": zeros.reshape(shape),
        "certified_signs_": signs.reshape(shape),
        "_balls": balls,
    }
