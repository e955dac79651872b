"""Sets of labels that contain the true one with a known probability: full conformal prediction."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from gapfit import threads
from gapfit._types import Data, Vector
from gapfit.conformal import Ends, as_large, verdict
from gapfit.design.memory import as_design
from gapfit.elsewhere import fetched
from gapfit.estimators.blocks import by_blocks
from gapfit.estimators.classification import JOINT, LinearClassifier
from gapfit.estimators.conformal import Conformal
from gapfit.estimators.judged import Judged
from gapfit.estimators.linear_parts import LinearParts
from gapfit.estimators.targets import as_labels, target_of
from gapfit.solve import solve
from gapfit.whereabouts import NewtonCertificate, Optima
from gapfit.whereabouts.newton import qualifies

# tolerances of fits with a new sample, one after the other until all is decided
_TIGHTER = (1e-6, 1e-9, 1e-12)


class ConformalLabels(NamedTuple):
    """Labels that conform, a column for each class: all of them are in `outer`, all in `inner` conform."""

    outer: NDArray[np.bool_]
    inner: NDArray[np.bool_]
    lo: Vector  # bounds of the p-values
    hi: Vector
    n_refits: int  # candidates for which models had to be fitted


class ConformalClassifier(Judged, ClassifierMixin, Conformal):
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
    >>> sets = model.predict_sets(X[1::6])
    >>> bool(sets.outer[range(25), y[1::6]].mean() >= 0.8), bool((sets.outer >= sets.inner).all())
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
            raise ValueError(f"{model!r} fits several scores at once; one_vs_rest models have conformal sets")
        self._fit(X, y)
        self.classes_ = self.estimator_.classes_
        self._y = as_labels(y, self._X.shape[0])
        return self

    @by_blocks
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
        y, model = np.append(self._y, label), self.estimator_
        parts = LinearParts(model, clone(model)._posed(rows, y, None, None))
        problems, design = [parts.problem(j) for j in range(parts.count)], as_design(rows)
        places = np.searchsorted(self.classes_, y)
        points = list(zip(model._dense_coef().astype(np.float64), fetched(model.intercept_), strict=True))
        if all(qualifies(problem) for problem in problems):
            answers = [
                NewtonCertificate(problem, w, np.full(problem.n_offsets, b)).between(
                    problem.alpha, problem.alpha
                )
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
