"""Models at several alphas, which share what is known of their problems."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from gapfit import limits, threads
from gapfit._types import Vector
from gapfit.declaration import check_parameters, declared
from gapfit.errors import as_number, as_numbers
from gapfit.estimators.fitting import seeded
from gapfit.estimators.linear import LinearModel
from gapfit.estimators.linear_parts import LinearParts, Posed
from gapfit.path import path
from gapfit.solution import Solution, Status


class Path(NamedTuple):
    """The models of several alphas: `plot_path` draws them."""

    alphas: Vector
    coefs: NDArray[Any]  # weights, (alphas, ...) with the shape of coef_ behind
    intercepts: NDArray[Any]  # or thresholds
    gaps: Vector  # how far the objective is above its minimum, at most
    objectives: Vector
    names: NDArray[Any] | None = None  # of the features


@declared
class WithPath(LinearModel):
    """A linear model that can be had at several alphas at once."""

    @abstractmethod
    def _posed(self, X: Any, y: Any) -> Posed:
        """What `fit` is to solve."""

    def path(self, X: Any, y: ArrayLike, alphas: ArrayLike, **given: Any) -> Path:
        """The weights at each of these alphas, each certified to `tol`; fits share what they know.

        Parameters
        ----------
        X, y : as for `fit`
        alphas : positive numbers, in any order; the model's own alpha plays no part
        **given : what `fit` takes beside, such as `sample_weight`

        Returns
        -------
        Path
            `alphas`, `coefs`, `intercepts`, `gaps`, `objectives`; `plot_path` draws it.
        """
        asked = as_alphas(alphas)
        model = clone(self)
        with limits.Started(), threads.using(self.n_jobs):
            check_parameters(model)
            models, solutions = model._along_with({"X": X, "y": y, **given}, asked.tolist())
        least = [[solution.certificate.gap for solution in parts] for parts in solutions]
        reached = [[solution.certificate.primal for solution in parts] for parts in solutions]
        return Path(
            asked,
            np.stack([one.coef_ for one in models]),
            np.stack([_offsets(one) for one in models]),
            np.max(least, axis=1),
            np.mean(reached, axis=1),
            getattr(model, "feature_names_in_", None),
        )

    def _again(self, given: Mapping[str, Any]) -> Any:
        """The same model on other samples: one that predicts, of which nothing else is known."""
        (one,) = clone(self)._along(given, [{"alpha": self.alpha_}])
        return one

    def _along(
        self, given: Mapping[str, Any], grid: Sequence[Mapping[str, Any]], checkpoint: Any = None
    ) -> list[Any]:
        """Models that predict, for each alpha of a grid. An interrupt ends it: some of them are of no use."""
        alphas = [float(place["alpha"]) for place in grid]
        models, solutions = self._along_with(given, alphas, checkpoint)
        if any(one.status is Status.INTERRUPTED for parts in solutions for one in parts):
            raise KeyboardInterrupt
        return models

    def _along_with(
        self, given: Mapping[str, Any], alphas: Sequence[float], checkpoint: Any = None
    ) -> tuple[list[Any], list[tuple[Solution, ...]]]:
        """Those, and the solutions of the parts of each."""
        self.alpha_ = alphas[0]  # problems of all alphas are made from one of them
        parts = LinearParts(self, self._posed(**given))
        solver = seeded(self._solver(), self.random_state)
        max_time = np.inf if self.max_time is None else as_number("max_time", self.max_time)
        how = {
            "tol": self.tol, "max_iter": self.max_iter, "resumable": False, "checkpoint": checkpoint,
        }  # fmt: skip
        paths = [
            path(parts.problem(k), alphas, solver, max_time=limits.remaining(max_time), **how)
            for k in range(parts.count)
        ]
        solutions = list(zip(*paths, strict=True))
        models = []
        for alpha, several in zip(alphas, solutions, strict=True):
            one = copy(self)
            one.__dict__ |= {
                "alpha_": alpha,
                **self._point(parts, [s.w for s in several], [s.intercept for s in several]),
            }
            models.append(one)
        return models, solutions


def as_alphas(alphas: Any) -> Vector:
    """Positive numbers."""
    asked = np.atleast_1d(as_numbers("alphas", alphas)).astype(np.float64)
    if asked.ndim != 1 or not len(asked) or not ((asked > 0) & np.isfinite(asked)).all():
        raise ValueError(f"alphas must be positive and finite, got {alphas!r}")
    return np.asarray(asked)


def _offsets(model: Any) -> Any:
    return np.asarray(model.intercept_ if hasattr(model, "intercept_") else model.thresholds_)
