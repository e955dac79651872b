"""What linear models say of every exact optimum: ranges of weights, orders of rows, measures."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from gapfit import threads
from gapfit._types import Maybe, Vector
from gapfit.checks import as_column
from gapfit.errors import as_count, as_number
from gapfit.estimators.along import WithPath
from gapfit.estimators.linear_parts import LinearParts, Posed
from gapfit.estimators.targets import as_labels
from gapfit.penalties.forms import Euclidean
from gapfit.selection import measure_of
from gapfit.selection.measures import COUNTED
from gapfit.solve import solve
from gapfit.statements import Ball
from gapfit.whereabouts.coefficients import tilted_end
from gapfit.whereabouts.order import Order, Top, order, pair_bounds, top

_TIGHT = 1e-9  # tolerance of the fit from which tilts start


class Assertions(WithPath):
    """A linear model that can be asked what all optima have in common."""

    def coef_range(
        self,
        eps: float = 0.01,
        *,
        relative: bool = True,
        X: Any = None,
        y: Maybe = None,
        sample_weight: Maybe = None,
    ) -> tuple[Vector, Vector]:
        """Bounds lo, hi of every coefficient over all models whose objective is within eps of the optimum.

        Parameters
        ----------
        eps : how much worse than the optimum, in terms of the objective if `relative`
        X, y, sample_weight : what the model was fitted to; not needed where the model keeps a copy. Under L2
            some fits for each coefficient then make the ranges about as narrow as they can be; without data,
            and for other penalties, they follow from the certificate alone and are a few times wider.
        """
        check_is_fitted(self)
        if not as_number("eps", eps) >= 0:
            raise ValueError(f"eps must not be negative, got {eps!r}")
        more = eps * abs(self.objective_) if relative else eps
        lo, hi = self._range_by_balls(more)
        if lo.shape[1] != self.n_features_in_:
            raise ValueError(
                f"coef_range is for scores that are fitted one by one, and {self.loss!r} fits several at once"
            )
        kept = self.__dict__.get("_kept")
        if X is not None:
            kept = clone(self)._posed(X, y, sample_weight, None)
        if kept is not None and self._penalty().has(Euclidean) and more > 0 and len(lo) == len(kept.targets):
            with threads.using(self.n_jobs):
                self._tilt(kept, more, lo, hi)
        shape = np.shape(self.coef_)
        return lo.reshape(shape), hi.reshape(shape)

    def _range_by_balls(self, more: float) -> tuple[Vector, Vector]:
        """The ball that has the optimum, and what models within `more` of it may be away from it."""
        balls = self._all_balls()
        away = [np.sqrt(2 * more / (self.alpha_ * ball.penalty.modulus)) for ball in balls]
        reach = [
            (ball.radius + far) * ball.penalty.stretch * (1 + 1e-12)
            for ball, far in zip(balls, away, strict=True)
        ]
        centres = np.stack([ball.centre for ball in balls])
        return centres - np.array(reach)[:, None], centres + np.array(reach)[:, None]

    def _tilt(self, posed: Posed, more: float, lo: Vector, hi: Vector) -> None:
        parts = LinearParts(self, posed)
        for k, w in enumerate(self._dense_coef().astype(np.float64)):
            problem = parts.problem(k).sealed()
            fit = solve(problem, tol=_TIGHT, start=w.copy())
            for j in range(problem.design.shape[1]):
                lo[k, j] = max(lo[k, j], tilted_end(problem, fit, j, 1.0, more))
                hi[k, j] = min(hi[k, j], tilted_end(problem, fit, j, -1.0, more))

    def _all_balls(self) -> list[Ball]:
        if any(ball is None for ball in self._balls):
            raise ValueError(
                f"penalty {self.penalty!r} is not strongly convex: a small gap confines no optimum"
            )
        return [ball for ball in self._balls if ball is not None]

    def _only_ball(self) -> Ball:
        balls = self._all_balls()
        if len(balls) > 1 or len(balls[0].centre) != self.n_features_in_:
            raise ValueError("rows have one order for a model of one score, and this one has several")
        return balls[0]

    def certified_order(self, X: Any) -> Order:
        """The rows from the highest score to the lowest, and which neighbours every optimum has so.

        Returns `rows`, numbers of rows, and `proved`, one less: whether each is certainly before the next.
        """
        rows = self._checked(X)
        return order(self._only_ball(), rows, _plain(self._scores(X)))

    def certified_top(self, X: Any, k: int) -> Top:
        """The k rows of the highest scores, and which are certainly among the k highest of every optimum."""
        rows = self._checked(X)
        if not 0 < (as_count("k", k, 1) or 0) <= rows.shape[0]:
            raise ValueError(f"k must be at most the number of rows, {rows.shape[0]}, got {k!r}")
        return top(self._only_ball(), rows, _plain(self._scores(X)), int(k))

    def metric_bounds(self, X: Any, y: ArrayLike, metric: str) -> tuple[float, float]:
        """The least and the largest value that a measure can have at an exact optimum, on these samples.

        metric : "accuracy", "balanced_accuracy", "f1", "roc_auc" or "log_loss" for labels, "mse", "mae" or
            "pinball" for numbers
        """
        checked = self._checked(X)
        if metric == "roc_auc":
            return pair_bounds(self._only_ball(), checked, self._numbers(y, checked.shape[0]) == 1)
        lo, hi = self.score_bounds(X)
        labels = is_classifier(self)
        target: NDArray[Any] = (
            self._numbers(y, len(lo)) if labels else as_column("y", y, len(lo))  # as what is predicted
        )
        classes = len(self.classes_) if labels else 0
        measure = measure_of(metric, target, classes, getattr(self._kept_loss(), "q", 0.5))
        least, most = measure.bounds(lo, hi)
        return (1 - most, 1 - least) if metric in COUNTED else (least, most)

    def _kept_loss(self) -> Any:
        return getattr(self, "loss", None)

    def _numbers(self, y: Any, n: int) -> NDArray[np.intp]:
        """Labels by their place among the classes."""
        classes = getattr(self, "classes_", None)
        if classes is None:
            raise ValueError("this measure is for classifiers")
        y = as_labels(y, n)
        if unknown := sorted(set(y.tolist()) - set(classes.tolist())):
            raise ValueError(f"y holds labels that the model does not know: {unknown[:5]}")
        return np.asarray(np.searchsorted(classes, y))


def _plain(scores: Vector) -> Vector:
    return np.asarray(scores, dtype=np.float64)
