"""Sets of targets that contain the true one with a known probability: full conformal prediction."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from gapfit import threads
from gapfit._types import Data, Vector
from gapfit.conformal import ConformalSet, Ends, as_large, conformal_set, verdict
from gapfit.design.memory import as_design
from gapfit.errors import as_number
from gapfit.estimators.classification import JOINT, LinearClassifier
from gapfit.estimators.linear import LinearParts
from gapfit.estimators.regression import LinearRegressor
from gapfit.estimators.targets import as_labels, as_real, check_loss, target_of
from gapfit.estimators.regression import TAKES
from gapfit.problem import Problem
from gapfit.solve import solve
from gapfit.whereabouts import NewtonCertificate, Optima
from gapfit.whereabouts.candidates import Candidates, qualifies
from gapfit.whereabouts.newton import qualifies as has_newton

_TIGHTER = (1e-6, 1e-9, 1e-12)  # tolerances of fits with a new sample, one after the other until all is decided


class _Conformal(MetaEstimatorMixin, BaseEstimator):
    """What both have: a linear model, its samples, and the level."""

    _kind: type = LinearRegressor

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.input_tags.sparse, tags.target_tags = inner.input_tags.sparse, inner.target_tags
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
            yield sparse.vstack(both, format="csr") if sparse.issparse(self._X) else np.vstack(
                [part.toarray() if sparse.issparse(part) else part for part in both]
            )

    def predict(self, X: Any) -> NDArray[Any]:
        """Of the model that was fitted to the samples alone."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))


class ConformalRegressor(RegressorMixin, _Conformal):
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
        """For each row the intervals of targets that conform: `outer` contains all of them, `inner` only such;
        `n_fits` models were fitted for it."""
        check_is_fitted(self)
        guess = self.predict(X)
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
        return Problem(X, y, loss, penalty, model.alpha, None, model.fit_intercept)


class ConformalLabels(NamedTuple):
    """Labels that conform, a column for each class: all of them are in `outer`, and all in `inner` conform."""

    outer: NDArray[np.bool_]
    inner: NDArray[np.bool_]
    lo: Vector  # bounds of the p-values
    hi: Vector
    n_refits: int  # candidates for which models had to be fitted


class ConformalClassifier(ClassifierMixin, _Conformal):
    """Sets of labels that contain that of a new sample with a probability of at least 1 - level.

    Full conformal prediction: a label c of a new row x conforms if, in the model fitted to all samples and
    (x, c), the score of c at x, less that of its strongest rival, is not among the floor(level * (n + 1))
    least of all n + 1. If the samples and the new one are exchangeable, the true label conforms with
    probability 1 - level at least. Bounds of the optimum with one more sample replace most of the fits.

    Parameters
    ----------
    estimator : LinearClassifier
        One score for two classes, or one against the rest; with the penalty "l2" or a `QuadraticForm`.
    level : float, default=0.1
        The probability that a set misses the label.

    Attributes
    ----------
    estimator_ : the estimator, fitted to the samples
    classes_ : array of labels
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gapfit import ConformalClassifier, LinearClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConformalClassifier(LinearClassifier(loss="logistic", alpha=0.01)).fit(X[::2], y[::2])
    >>> sets = model.predict_sets(X[1::15])
    >>> bool(sets.outer[range(10), y[1::15]].all()), bool((sets.outer >= sets.inner).all())
    (True, True)
    """

    _kind = LinearClassifier

    def __init__(self, estimator: Any, *, level: float = 0.1) -> None:
        self.estimator = estimator
        self.level = level

    def fit(self, X: Any, y: ArrayLike) -> "ConformalClassifier":
        """Fit the estimator, and keep the samples: every prediction is a fit with all of them.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : labels of shape (n,)

        Returns
        -------
        self
        """
        model = self._checked_model()
        if target_of(model._loss()) & JOINT:
            raise ValueError(
                f"{model!r} fits several scores at once; one_vs_rest models have conformal sets"
            )
        self._fit(X, y)
        self.classes_ = self.estimator_.classes_
        self._y = as_labels(y, self._X.shape[0])
        return self

    def decision_function(self, X: Any) -> Vector:
        """Of the model that was fitted to the samples alone."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    def predict_sets(self, X: Any) -> ConformalLabels:
        """For each row and each class, whether the label conforms."""
        check_is_fitted(self)
        n, found, refits = len(self._y), [], 0
        k = as_large(self.level, n)
        with threads.using(1):
            for rows in self._with(X):
                for label in self.classes_:
                    ends, again = self._ends(rows, label, k)
                    least, most = (ends.lo >= ends.own_hi).sum(), (ends.hi >= ends.own_lo).sum()
                    answer = verdict(ends, k)
                    found.append((answer is not False, answer is True, least + 1, most + 1))
                    refits += again
        outer, inner, lo, hi = np.array(found).reshape(-1, len(self.classes_), 4).transpose(2, 0, 1)
        return ConformalLabels(outer.astype(bool), inner.astype(bool), lo / (n + 1), hi / (n + 1), refits)

    def _ends(self, rows: Data, label: Any, k: int) -> tuple[Ends, bool]:
        """Bounds of how little all samples conform if the last one has this label; was a fit needed?"""
        y = np.append(self._y, label)
        parts = LinearParts(self.estimator_, *clone(self.estimator_)._posed(rows, y, None, None))
        problems, design = [parts.problem(j) for j in range(parts.count)], as_design(rows)
        places = np.searchsorted(self.classes_, y)
        points = list(zip(self.estimator_.coef_.astype(np.float64), self.estimator_.intercept_, strict=True))
        if all(has_newton(problem) for problem in problems):
            answers = [
                NewtonCertificate(problem, w, np.full(problem.n_offsets, b)).between(problem.alpha, problem.alpha)
                for problem, (w, b) in zip(problems, points, strict=True)
            ]
            ends = _strangeness([answer.score_bounds(design) for answer in answers], places)
            if verdict(ends, k) is not None:
                return ends, False
        starts = [w for w, _ in points]
        for tol in _TIGHTER:
            bounds = []
            for j, problem in enumerate(problems):
                solution = solve(problem, tol=tol, start=starts[j].copy(), resumable=False)
                starts[j], optima = solution.w, Optima(problem)
                optima.add(problem.alpha, solution)
                bounds.append(optima.at(problem.alpha).score_bounds(design))
            ends = _strangeness(bounds, places)
            if verdict(ends, k) is not None:
                break
        return ends, True


def _strangeness(bounds: list[tuple[Vector, Vector]], places: NDArray[np.intp]) -> Ends:
    """Bounds of the strongest rival's score less that of the own class; the last sample is the new one."""
    lo, hi = (np.stack(ends, axis=1) for ends in zip(*bounds, strict=True))
    if lo.shape[1] == 1:
        sign = np.where(places == 1, -1.0, 1.0)
        ends = sign * lo[:, 0], sign * hi[:, 0]
        least, most = np.minimum(*ends), np.maximum(*ends)
    else:
        rows = np.arange(len(lo))
        own_lo, own_hi = lo[rows, places], hi[rows, places]
        lo[rows, places] = hi[rows, places] = -np.inf
        least, most = lo.max(axis=1) - own_hi, hi.max(axis=1) - own_lo
    return Ends(least[:-1], most[:-1], float(least[-1]), float(most[-1]))
