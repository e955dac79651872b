"""Intervals of targets that contain the true one with a known probability: full conformal prediction."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from gapfit import threads
from gapfit._types import Data, Vector
from gapfit.conformal import ConformalSet, as_large, conformal_set
from gapfit.elsewhere import fetched
from gapfit.errors import as_number
from gapfit.estimators.blocks import by_blocks
from gapfit.estimators.choosing import Chooses
from gapfit.estimators.judged import Judged
from gapfit.estimators.regression import TAKES, LinearRegressor
from gapfit.estimators.targets import as_real, check_loss
from gapfit.problem import Problem
from gapfit.whereabouts.candidates import Candidates, qualifies


class Conformal(MetaEstimatorMixin, BaseEstimator):
    """What both have: a linear model, its samples, and the level."""

    _kind: type = LinearRegressor

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.input_tags.sparse, tags.target_tags = inner.input_tags.sparse, inner.target_tags
        tags.target_tags.multi_output = False
        if tags.classifier_tags is not None:
            tags.classifier_tags = inner.classifier_tags
            tags.classifier_tags.multi_label = False
        return tags

    def _checked_model(self) -> Any:
        if not isinstance(self.estimator, self._kind):
            raise TypeError(
                f"estimator must be a {self._kind.__name__}, got {self.estimator!r}; steps in front of it, "
                "fitted without the new sample, would treat that differently from the others"
            )
        if isinstance(self.estimator, Chooses):
            raise TypeError(
                f"estimator must have parameters that are known beforehand; {type(self.estimator).__name__} "
                "would choose them without the new sample. Give its base what it has chosen on other samples"
            )
        if not 0 < as_number("level", self.level) < 1:
            raise ValueError(f"level must lie in (0, 1), got {self.level!r}")
        return clone(self.estimator)

    def _fit(self, X: Any, y: Any) -> None:
        self.estimator_ = self._checked_model().fit(X, y)
        self._X: Data = self.estimator_._checked(X)
        self.n_features_in_ = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_

    def _with(self, X: Any) -> Iterator[Data]:
        """The samples and each of these rows in turn, as the last one."""
        check_is_fitted(self)
        rows = self.estimator_._checked(X)
        for i in range(rows.shape[0]):
            both = [self._X, rows[i : i + 1]]
            yield (
                sparse.vstack(both, format="csr")
                if sparse.issparse(self._X)
                else np.vstack([part.toarray() if sparse.issparse(part) else part for part in both])
            )

    @by_blocks
    def predict(self, X: Any) -> NDArray[Any]:
        """Of the model that was fitted to the samples alone."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))


class ConformalRegressor(Judged, RegressorMixin, Conformal):
    """Intervals that contain the target of a new sample with a probability of at least 1 - level.

    Full conformal prediction: a target z of a new row x conforms if, in the model that minimises ::

        J(w, b) = alpha * Omega(w) + (phi(y_1, f_1) + ... + phi(y_n, f_n) + phi(z, f(x))) / (n + 1)

    the residual |z - f(x)| is not among the floor(level * (n + 1)) largest of all n + 1. If the n samples and
    the new one are exchangeable, the true target conforms with probability 1 - level at least, whatever the
    model is worth. Bounds of the optimum for whole ranges of z replace the fits for every z.

    Parameters
    ----------
    estimator : LinearRegressor
        With the loss "squared", or one of the residual whose slopes are bounded: "absolute", "quantile",
        "epsilon_insensitive", "huber"; and the penalty "l2" or a `QuadraticForm`.
    level : float, default=0.1
        The probability that a set misses the target.
    resolution : float, default=0.01
        How precisely the ends of intervals are found, in terms of the standard deviation of y.

    Attributes
    ----------
    estimator_ : the estimator, fitted to the samples
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from gapfit import ConformalRegressor, LinearRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ConformalRegressor(LinearRegressor(alpha=0.01)).fit(scale(X)[:200], y[:200])
    >>> lo, hi = model.predict_interval(scale(X)[200:230])
    >>> bool(((lo <= y[200:230]) & (y[200:230] <= hi)).mean() > 0.8)
    True
    """

    def __init__(self, estimator: Any, *, level: float = 0.1, resolution: float = 0.01) -> None:
        self.estimator = estimator
        self.level = level
        self.resolution = resolution

    def fit(self, X: Any, y: ArrayLike) -> "ConformalRegressor":
        """Fit the estimator, and keep the samples: every prediction is a fit with all of them.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)

        Returns
        -------
        self
        """
        if not as_number("resolution", self.resolution) > 0:
            raise ValueError(f"resolution must be positive, got {self.resolution!r}")
        self._fit(X, y)
        self._y = as_real(y, self._X.shape[0])
        if not qualifies(self._problem(self._X, self._y)):
            raise ValueError(
                f"estimator must have the squared loss or one of the residual with bounded slopes (absolute, "
                f"quantile, epsilon_insensitive, huber) and an l2 penalty, got {self.estimator!r}"
            )
        return self

    def predict_interval(self, X: Any) -> tuple[Vector, Vector]:
        """lo, hi: the ends of the outer set of each row, infinite where it is not bounded.

        All targets that conform are between them; where the set has gaps, others are as well.
        """
        outer = [found.outer for found in self.predict_sets(X)]
        empty = (np.nan, np.nan)
        ends = np.array([(one[0][0], one[-1][1]) if one else empty for one in outer]).reshape(-1, 2)
        return ends[:, 0], ends[:, 1]

    def predict_sets(self, X: Any) -> list[ConformalSet]:
        """For each row, intervals of targets that conform: `outer` contains all of them, `inner` only such;
        `n_fits` models were fitted for it."""
        check_is_fitted(self)
        guess = fetched(self.predict(X))
        residuals = np.abs(self._y - self.predict(self._X))
        spread = float(np.std(self._y)) or 1.0
        usual = max(float(np.quantile(residuals, 1 - self.level)), 1e-3 * spread)
        k, narrow = as_large(self.level, len(self._y)), self.resolution * spread
        y, sets = np.append(self._y, 0.0), []
        with threads.using(1):  # problems are small, and one waits for the other
            for rows, z in zip(self._with(X), guess.tolist(), strict=True):
                candidates = Candidates(self._problem(rows, y))
                sets.append(conformal_set(candidates, self._y, z, usual, k, narrow))
        return sets

    def _problem(self, X: Data, y: Vector) -> Problem:
        model = self.estimator_
        loss, penalty = check_loss(model.loss, TAKES), model._penalty()
        return Problem(X, y, loss, penalty, model._alpha(float(len(y))), None, model.fit_intercept)
