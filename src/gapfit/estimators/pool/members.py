"""The members of a pool: recipes for a linear score. Cost-weighted losses, and convex risks of the measure.

Each is one convex problem, solved to a certified tolerance. Recipes are records: equal ones are one, and what
was fitted on some data is kept by recipe, to start the next one from.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.design.base import Design
from gapfit.elsewhere import fetched
from gapfit.losses import ContingencyLoss, Logistic, SquaredHinge
from gapfit.losses.base import Loss
from gapfit.metrics import Mask, Metric, best_threshold
from gapfit.penalties import Penalty
from gapfit.problem import Problem
from gapfit.solution import Certificate, Record, Solution, Status
from gapfit.solve import solve

LOSSES: dict[str, Loss] = {"logistic": Logistic(), "squared_hinge": SquaredHinge()}


class TwoClasses(NamedTuple):
    """Samples of two classes. `share`: of the weight of all samples that the fit was given."""

    design: Design
    y: Vector  # -1 and +1
    weight: Vector
    share: float = 1.0

    @property
    def positive(self) -> Mask:
        return self.y > 0

    @property
    def masses(self) -> tuple[float, float]:
        """The weight of the positives and of the negatives."""
        positive = self.positive
        return float(self.weight[positive].sum()), float(self.weight[~positive].sum())

    def take(self, rows: Any, weight: Vector | None = None) -> "TwoClasses":
        """Some of them, with the weights that they have there, if these are others."""
        weight = self.weight[rows] if weight is None else weight
        share = float(weight.sum() / self.weight.sum())
        return TwoClasses(self.design.keeping(rows), self.y[rows], weight, share)


class Settings(NamedTuple):
    """What all fits have in common."""

    metric: Metric
    penalty: Penalty
    solver: Callable[..., Any]
    tol: float
    max_iter: int
    deadline: float = np.inf  # by `perf_counter`
    checkpoint: Any = None
    coarse: float = 0.0  # a larger tolerance for surrogates, whose last digits take long

    def left(self) -> float:
        """Seconds that are left."""
        return max(self.deadline - perf_counter(), 0.0)


class Fitted(NamedTuple):
    """A linear score x'w + b, and the certificate of the convex problem behind it."""

    w: Slope
    b: float
    certificate: Certificate
    status: Status
    n_iter: int
    objective: float  # what the recipe minimises, at this point
    history: list[Record]
    solution: Solution | None = None  # of the latest surrogate: its cuts serve the next alpha
    anchor: "Fitted | None" = None  # of a local search, where it began: others begin there too

    def scores(self, design: Design) -> Vector:
        """x'w + b of all rows."""
        return np.asarray(fetched(design.scores(self.w))) + self.b


Done = dict["Member", Fitted]


class Member(Protocol):
    """A recipe."""

    @property
    def strategy(self) -> str:
        """The name that users know."""

    @property
    def alpha(self) -> float:
        """What multiplies the penalty."""

    def fit(self, samples: TwoClasses, settings: Settings, done: Done) -> Fitted:
        """Follow the recipe. `done` holds what was already fitted on the same samples."""


def interruptible(problem: Problem, settings: Settings, start: Slope | Solution | None) -> Solution:
    """`solve`, but an interrupt ends everything: one of many fits, cut short, is of no use."""
    solution = solve(
        problem,
        settings.solver,
        tol=settings.tol,
        max_iter=settings.max_iter,
        max_time=settings.left(),
        start=start,
        checkpoint=settings.checkpoint,
    )
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return solution


@dataclass(frozen=True)
class Cost:
    """alpha Omega(w) + the mean of a loss, in which positives weigh 2 - t times, negatives t times as much.

    At the right t a classifier of least cost has the best F measure.
    """

    loss: str
    t: float
    alpha: float
    strategy = "cost_path"

    def problem(self, samples: TwoClasses, penalty: Penalty) -> Problem:
        """The convex problem."""
        weight = samples.weight * np.where(samples.positive, 2.0 - self.t, self.t)
        return Problem(samples.design, samples.y, LOSSES[self.loss], penalty, self.alpha, weight)

    def fit(self, samples: TwoClasses, settings: Settings, done: Done) -> Fitted:
        """From where the last fit with this loss ended."""
        near = [
            fit.w for member, fit in done.items() if isinstance(member, Cost) and member.loss == self.loss
        ]
        solution = interruptible(
            self.problem(samples, settings.penalty), settings, near[-1] if near else None
        )
        primal = solution.certificate.primal
        return Fitted(
            solution.w.astype(np.float64), solution.intercept, solution.certificate, solution.status,
            solution.n_iter, primal, solution.history,
        )  # fmt: skip


@dataclass(frozen=True)
class Surrogate:
    """alpha Omega(w) + the convex upper bound of 1 - the measure, with the positives' scores weighted."""

    score_weight: float
    alpha: float
    strategy = "surrogate"

    def problem(self, samples: TwoClasses, settings: Settings) -> Problem:
        """The convex problem."""
        loss = settings.metric.loss
        changed: dict[str, float] = {}
        if isinstance(loss, ContingencyLoss):
            changed["score_weight"] = self.score_weight
        if settings.metric.k is not None:
            changed["k"] = settings.metric.chosen(samples.positive, samples.weight, samples.share)
        loss = copy(loss)
        vars(loss).update(changed)
        return Problem(
            samples.design, samples.y, loss, settings.penalty, self.alpha, samples.weight, intercept=True
        )

    def fit(self, samples: TwoClasses, settings: Settings, done: Done) -> Fitted:
        """With the best threshold for the samples it was fitted on as the origin of scores."""
        near = [member for member in done if isinstance(member, Surrogate)]
        problem = self.problem(samples, settings)
        accuracy = settings._replace(tol=max(settings.tol, settings.coarse))
        start: Slope | Solution | None = None
        if near:
            last = done[near[-1]]
            start = last.solution or last.w
            done[near[-1]] = last._replace(solution=None)  # cuts are as long as w, and there are many
        solution = interruptible(problem, accuracy, start)
        w = solution.w.astype(np.float64)
        metric = settings.metric
        if metric.k is not None:
            metric = Metric(metric.loss, metric.table, metric.k * samples.share)
        scores = fetched(samples.design.scores(w))
        threshold, _ = best_threshold(metric, scores, samples.positive, samples.weight)
        primal = solution.certificate.primal
        proof, ended = solution.certificate, solution.status
        return Fitted(w, -threshold, proof, ended, solution.n_iter, primal, solution.history, solution)
