"""Choosing alpha by cross-validation over a whole range, with a proof that no other alpha does better."""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gapfit import threads
from gapfit._types import Maybe, Vector
from gapfit.design.elsewhere import is_collection
from gapfit.design.given import unpacked
from gapfit.design.memory import as_design
from gapfit.errors import as_number, as_numbers, as_positive
from gapfit.estimators.held_out import folds_of, model_of, named_alpha
from gapfit.selection import Budget, Search

_SLACK = 1e-12  # of a mean of errors, which is rounded


def _delegates(name: str) -> Callable[[Any], bool]:
    """Has the estimator this method? Its own error says why not."""

    def has(search: Any) -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    return has


class AlphaSearchCV(MetaEstimatorMixin, BaseEstimator):
    """The alpha with the least cross-validated error in a whole range, found and proved.

    For an estimator that minimises alpha * Omega(w) + R(X w + b) on each training fold, E(alpha) is the mean
    over the folds of the error that the exact optimum makes on the samples left out. `fit` finds an alpha
    with E(alpha) <= E(alpha') + eps for *every* alpha' in the range, not only for those of a grid. Where the
    budget ends the search before that, `proven_regret_` and `open_ranges_` say what was proved and what not.

    Parameters
    ----------
    estimator : LinearClassifier or LinearRegressor, or a Pipeline that ends with one
        Its penalty is "l2" or a `QuadraticForm`, its problems have one intercept or none. Its own alpha plays
        no part.
    alpha_range : (float, float), default=(1e-4, 1.0)
        The least and the largest alpha.
    scoring : str, default=None
        "accuracy", "balanced_accuracy", "f1" (of the second class) and "neg_log_loss" for labels;
        "neg_mean_squared_error", "neg_mean_absolute_error" and "neg_mean_pinball_loss" (of the loss's own
        quantile) for numbers. None is accuracy, or the squared error.
    eps : float, default=0.01
        How much better another alpha may be at most, in units of the error. 0 asks for the best.
    cv : int, splitter or list of pairs, default=5
        As in scikit-learn.
    max_fits : int, default=None
        The most fits of problems: an alpha costs one for each fold that is fitted there, and for each class
        of several.
    max_time : float, default=None
        Seconds after which no more is fitted.

    Attributes
    ----------
    best_alpha_ : float
    best_error_ : float
        The cross-validated error at `best_alpha_`: a loss, or 1 - score where a score is better.
    proven_regret_ : float
        No alpha of the range has an error below `best_error_ - proven_regret_`; both speak of exact optima.
    open_ranges_ : list of (float, float)
        Ranges of alphas in which an error below `best_error_ - eps` could not be ruled out.
    n_fits_ : int
        Problems that were solved for this.
    best_estimator_ : the estimator, fitted to all samples at `best_alpha_`
    best_params_ : dict
    alphas_, errors_ : arrays
        What was fitted on all folds, in order, and the error of each.
    floor_ : array of shape (m, 3)
        Ranges (least, most) that cover the whole one, and what no error within each is smaller than.
    classes_, n_features_in_ : as the estimator has them

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from gapfit import AlphaSearchCV, LinearClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = AlphaSearchCV(LinearClassifier(loss="logistic"), alpha_range=(1e-3, 1.0), eps=0.005, cv=3)
    >>> search.fit(scale(X), y).proven_regret_ <= 0.005, search.open_ranges_
    (True, [])
    """

    def __init__(
        self,
        estimator: Any,
        *,
        alpha_range: tuple[float, float] = (1e-4, 1.0),
        scoring: str | None = None,
        eps: float = 0.01,
        cv: Any = 5,
        max_fits: int | None = None,
        max_time: float | None = None,
    ) -> None:
        self.estimator = estimator
        self.alpha_range = alpha_range
        self.scoring = scoring
        self.eps = eps
        self.cv = cv
        self.max_fits = max_fits
        self.max_time = max_time

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = inner.estimator_type, inner.classifier_tags
        tags.regressor_tags, tags.target_tags = inner.regressor_tags, inner.target_tags
        tags.input_tags.sparse, tags.target_tags.multi_output = inner.input_tags.sparse, False
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Maybe = None) -> "AlphaSearchCV":
        """Search, and fit the estimator at the best alpha to all samples.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d); shards or a collection of Dask, whose rows are loaded once
        y : array of shape (n,)
        sample_weight : array of shape (n,), default=None
            For the fits; held-out samples all count the same.

        Returns
        -------
        self
        """
        began = perf_counter()
        least, most = _as_range(self.alpha_range)
        eps = as_number("eps", self.eps)
        if not eps >= 0:
            raise ValueError(f"eps must not be negative, got {self.eps!r}")
        budget = _budget(self.max_fits, self.max_time, began)
        model_of(self.estimator)
        X, y, sample_weight, _ = unpacked(X, y, sample_weight, None)
        X = as_design(X) if is_collection(X) else X
        # the estimator's own checks of X and y come first, and name what is wrong as it always does
        final = clone(self.estimator).set_params(**{named_alpha(self.estimator): most})
        final.fit(X, y, **_weights(self.estimator, sample_weight))
        with threads.using(1):  # fits are small, and each step of the search waits for them
            folds = folds_of(self.estimator, X, y, sample_weight, self.cv, self._scoring())
            search = Search(folds, least, most, eps, budget)
            search.run()
            self._report(search)
        self.best_estimator_ = final.set_params(**self.best_params_)
        self.best_estimator_.fit(X, y, **_weights(self.estimator, sample_weight))
        return self

    def _scoring(self) -> str:
        return self.scoring or ("accuracy" if is_classifier(self.estimator) else "mse")

    def _report(self, search: Search) -> None:
        winner, (_, most) = search.settle_winner()
        self._search = search
        self.best_alpha_, self.n_fits_ = winner, search.n_fits
        self.best_error_ = search.errors[winner]
        regret = max(most, self.best_error_) - search.finish()
        self.proven_regret_ = regret if regret > _SLACK else 0.0
        self.open_ranges_ = [(run.least, run.most) for run in search.runs()]
        self.best_params_ = {named_alpha(self.estimator): winner}
        self.alphas_ = np.array(sorted(search.errors))
        self.errors_ = np.array([search.errors[alpha] for alpha in self.alphas_.tolist()])
        self.floor_ = np.array(sorted((*search.settled, *search.open)))

    def error_bounds(self, alphas: ArrayLike) -> tuple[Vector, Vector]:
        """Bounds lo, hi on the cross-validated error of the exact optima at these alphas."""
        check_is_fitted(self)
        if not hasattr(self, "_search"):
            raise ValueError("error_bounds needs the fits of the folds, which files do not keep: fit again")
        asked = np.atleast_1d(as_numbers("alphas", alphas))
        if not ((asked > 0) & np.isfinite(asked)).all():
            raise ValueError(f"alphas must be positive and finite, got {alphas!r}")
        found = [self._search.bounds(alpha, alpha) for alpha in asked.tolist()]
        lo, hi = np.array(found).reshape(-1, 2).T
        return lo, hi

    @property
    def classes_(self) -> Any:
        """The labels, sorted."""
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """How many columns X has."""
        return int(self.best_estimator_.n_features_in_)

    @available_if(_delegates("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Any:
        """Of the best estimator."""
        return self._best().predict(X)

    @available_if(_delegates("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Of the best estimator."""
        return self._best().decision_function(X)

    @available_if(_delegates("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Of the best estimator."""
        return self._best().predict_proba(X)

    @available_if(_delegates("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Of the best estimator."""
        return self._best().predict_log_proba(X)

    def score(self, X: Any, y: ArrayLike) -> float:
        """Of the best estimator."""
        return float(self._best().score(X, y))

    def _best(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    def __getstate__(self) -> Any:
        """Without the fits of the folds."""
        return {name: value for name, value in super().__getstate__().items() if name != "_search"}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")


def proven_regret(grid: Any, X: Any, y: ArrayLike) -> float:
    """How much better, at most, another alpha between the smallest and largest of a grid search could do.

    A grid search says which of its alphas is best; what lies between them it does not know. The error that is
    cross-validated at its best alpha is compared with a proven bound below the errors of all alphas.

    Parameters
    ----------
    grid : fitted GridSearchCV over alpha alone, of an estimator that `AlphaSearchCV` takes
        Its scoring is one that `AlphaSearchCV` has, its cv splits the same way each time.
    X, y : what it was fitted to

    Returns
    -------
    float
    """
    name = named_alpha(grid.estimator)
    tried = [set(parameters) for parameters in grid.cv_results_["params"]]
    if any(names != {name} for names in tried):
        raise ValueError(f"grid must vary {name} alone, and varies {sorted(set().union(*tried))}")
    alphas = sorted({float(parameters[name]) for parameters in grid.cv_results_["params"]})
    if len(alphas) < 2:
        raise ValueError(f"grid must have two alphas at least, and has {alphas}")
    model_of(grid.estimator)
    scoring = grid.scoring or ("accuracy" if is_classifier(grid.estimator) else None)
    if not isinstance(scoring, str):
        raise ValueError(f"grid must have the name of a scoring, and has {grid.scoring!r}")
    with threads.using(1):
        folds = folds_of(grid.estimator, X, y, None, grid.cv, scoring)
        search = Search(folds, alphas[0], alphas[-1], 0.0, Budget())
        search.fit_all(alphas)
        search.look()
        best = float(grid.best_params_[name])
        _, most = search.bounds(best, best)
        regret = max(most, search.errors[best]) - search.finish()
    return regret if regret > _SLACK else 0.0


def _as_range(alpha_range: Sequence[float]) -> tuple[float, float]:
    try:
        least, most = alpha_range
    except (TypeError, ValueError) as error:
        raise ValueError(f"alpha_range must be two numbers (lo, hi), got {alpha_range!r}") from error
    least, most = float(as_positive("alpha_range", least)), float(as_positive("alpha_range", most))
    if not least < most:
        raise ValueError(f"alpha_range must be two numbers lo < hi, got {alpha_range!r}")
    return least, most


def _budget(max_fits: Any, max_time: Any, began: float) -> Budget:
    fits = np.inf if max_fits is None else as_positive("max_fits", max_fits)
    seconds = np.inf if max_time is None else as_number("max_time", max_time)
    if not seconds >= 0:
        raise ValueError(f"max_time must not be negative, got {max_time!r}")
    return Budget(fits, began + seconds)


def _weights(estimator: Any, sample_weight: Maybe) -> dict[str, Any]:
    """As `fit` of the estimator, or of the last step of a pipeline, takes them."""
    if sample_weight is None:
        return {}
    last = named_alpha(estimator).rpartition("__")[0]
    return {f"{last}__sample_weight" if last else "sample_weight": sample_weight}
