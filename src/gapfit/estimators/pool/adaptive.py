"""Logistic models along a path of alphas, and once more with each feature in the size of its weight.

The first models are plain. The one with the least log loss on samples left out is the pilot: in the second
problem feature j is multiplied by the square root of the pilot's |w_j|, so that the penalty is on
w_j^2 / |w_j pilot|, half-way from the square to the absolute value. Features that the pilot hardly uses are
nearly left out, and the others are shrunk less. Both are convex, given the pilot. Of all models of both paths
that one is taken which has the least log loss: it varies less from sample to sample than the measure does,
and what it chooses is calibrated, so that a threshold can be computed from its probabilities.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Vector
from gapfit.design.base import Design
from gapfit.design.forms import Columns
from gapfit.estimators.pool.folds import Fold, Result, Seen
from gapfit.estimators.pool.members import Done, Fitted, Settings, TwoClasses, interruptible
from gapfit.losses import Logistic
from gapfit.path import path
from gapfit.penalties import L2, Penalty
from gapfit.problem import Problem
from gapfit.solution import Solution, Status


@dataclass(frozen=True)
class Plain:
    """alpha Omega(w) + the mean logistic loss."""

    alpha: float
    strategy = "logistic"

    def problem(self, samples: TwoClasses, penalty: Penalty, done: Done) -> tuple[Problem, Vector | None]:
        """The convex problem, and what the features are multiplied with there."""
        return _problem(samples.design, samples, penalty, self.alpha), None

    def fit(self, samples: TwoClasses, settings: Settings, done: Done) -> Fitted:
        """By itself, whatever else was fitted."""
        return _fit(self, samples, settings, done)


@dataclass(frozen=True)
class Adaptive:
    """The same, each feature multiplied by the square root of its weight in the pilot."""

    pilot: Plain
    alpha: float
    strategy = "adaptive"

    def problem(self, samples: TwoClasses, penalty: Penalty, done: Done) -> tuple[Problem, Vector | None]:
        """The convex problem, and what the features are multiplied with there."""
        size = np.sqrt(np.abs(done[self.pilot].w.astype(np.float64)))
        mean = float(np.sqrt(np.mean(size**2)))
        size = size / mean if mean > 0 else np.ones_like(size)
        columns = samples.design.form(Columns)
        assert columns is not None
        return _problem(columns.scaled(size), samples, penalty, self.alpha), size

    def fit(self, samples: TwoClasses, settings: Settings, done: Done) -> Fitted:
        """From its pilot on the same samples."""
        if self.pilot not in done:
            done[self.pilot] = self.pilot.fit(samples, settings, done)
        return _fit(self, samples, settings, done)


Recipe = Plain | Adaptive

_FEW = 4  # alphas that are all tried
_LARGER = 3  # steps of the path, up to which adaptive models may want a larger alpha than their pilot
_SHARE = 0.5  # of the time left for the models that come next; there are three rounds of them


class Chosen(NamedTuple):
    """The recipe of least log loss, what its models say of samples left out, and all that was tried."""

    recipe: Recipe
    seen: list[Seen]
    results: dict[Any, Result]  # scores are minus the log loss


def choose(folds: Sequence[Fold], settings: Settings, alphas: Sequence[float]) -> Chosen:
    """Plain models at every other alpha, then beside the best of these; adaptive ones from there on, towards
    larger alphas. Features have no sizes of their own where rows are elsewhere, or under other penalties than
    L2: then plain models are all.

    Held-out log loss falls and then rises along a path, but for its last digits, and features in the size of
    their weights want no less of a penalty than before.
    """
    alphas = sorted(alphas, reverse=True)
    first = alphas if len(alphas) <= _FEW else [*alphas[:-1:2], alphas[-1]]
    count = len(folds)
    plain = [_Branch.of(fold, Plain(alphas[0]), settings) for fold in folds]
    tried = _along(plain, count, [Plain(alpha) for alpha in first], settings)
    near = alphas.index(_least(tried).alpha)
    beside = [alpha for alpha in alphas[max(near - 1, 0) : near + 2] if alpha not in first]
    tried |= _along(plain, count, [Plain(alpha) for alpha in beside], settings)
    pilot = _least(tried)
    if isinstance(settings.penalty, L2) and all(fold.train.design.form(Columns) for fold in folds):
        near = alphas.index(pilot.alpha)
        larger = alphas[max(near - _LARGER, 0) : near + 1]
        # one after the other: each has a copy of its rows
        branches = (_Branch.of(fold, Adaptive(pilot, alphas[0]), settings) for fold in folds)
        tried |= _along(branches, count, [Adaptive(pilot, alpha) for alpha in larger], settings)
    recipe = _least(tried)
    return Chosen(recipe, tried[recipe][1], {one: result for one, (result, _) in tried.items()})


def fits_of(recipe: Recipe, samples: TwoClasses, settings: Settings) -> list[Fitted]:
    """What is solved for it on these samples, itself last."""
    done: Done = {}
    fitted = recipe.fit(samples, settings, done)
    return [*done.values(), fitted]


Tried = dict[Any, tuple[Result, list[Seen]]]


def _least(tried: Tried) -> Any:
    return max(tried, key=lambda one: tried[one][0].score)


class _Branch(NamedTuple):
    """The problem of a fold, at whatever alpha, what its features are multiplied with, and solutions."""

    fold: Fold
    problem: Problem
    size: Vector | None
    known: dict[float, Solution]

    @classmethod
    def of(cls, fold: Fold, recipe: Recipe, settings: Settings) -> "_Branch":
        return cls(fold, *recipe.problem(fold.train, settings.penalty, fold.done), {})


def _along(branches: Iterable[_Branch], count: int, recipes: Sequence[Recipe], settings: Settings) -> Tried:
    """All recipes, which differ by their alphas, on each of so many folds along a path."""
    seen: dict[Recipe, list[Seen]] = {recipe: [] for recipe in recipes}
    gaps = dict.fromkeys(recipes, 0.0)
    for k, (fold, problem, size, known) in enumerate(branches if recipes else ()):
        solutions = path(
            problem,
            [recipe.alpha for recipe in recipes],
            settings.solver,
            tol=settings.tol,
            max_iter=settings.max_iter,
            max_time=_SHARE * settings.left() / ((count - k) * len(recipes)),
            known=known,
            resumable=False,
        )
        for recipe, solution in zip(recipes, solutions, strict=True):
            if solution.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            known[recipe.alpha] = solution
            fitted = fold.done[recipe] = _fitted(solution, size)
            gaps[recipe] = max(gaps[recipe], fitted.certificate.relative_gap)
            seen[recipe].append(fold.look(fitted))
    return {recipe: (_log_loss(parts, gaps[recipe]), parts) for recipe, parts in seen.items()}


def _log_loss(seen: Sequence[Seen], gap: float) -> Result:
    """Minus the mean log loss over all samples left out."""
    losses, masses = [], []
    for part in seen:
        margins = np.where(part.positive, part.scores, -part.scores)
        losses.append(float(part.weight @ np.logaddexp(0.0, -margins)))
        masses.append(float(part.weight.sum()))
    means = np.array(losses) / masses
    return Result(-sum(losses) / sum(masses), float(means.std()), 0.0, gap)


def _fit(recipe: Recipe, samples: TwoClasses, settings: Settings, done: Done) -> Fitted:
    problem, size = recipe.problem(samples, settings.penalty, done)
    return _fitted(interruptible(problem, settings, None), size)


def _problem(design: Design, samples: TwoClasses, penalty: Penalty, alpha: float) -> Problem:
    return Problem(design, samples.y, Logistic(), penalty, alpha, samples.weight, intercept=True)


def _fitted(solution: Solution, size: Vector | None) -> Fitted:
    w = solution.w.astype(np.float64)
    certificate = solution.certificate
    return Fitted(
        w if size is None else size * w, float(np.sum(solution.intercept)), certificate, solution.status,
        solution.n_iter, certificate.primal, solution.history,
    )  # fmt: skip
