"""Callbacks for the estimators of gapfit, by scikit-learn's protocol: `set_callbacks` takes them."""

from typing import Any

from sklearn.metrics import check_scoring

from gapfit.errors import as_count

__all__ = ["EarlyStopping"]


class EarlyStopping:
    """Ends a fit when the score on samples of your own has not risen for a while.

    The fit then has the status STOPPED, and its gap says how far from optimal it is: what the score gains by
    that is regularisation by stopping early, of which nothing is proved. Weights are those of the best
    objective so far, as at the end of any fit.

    Parameters
    ----------
    X, y : samples that the fit does not see
    scoring : str or function, default=None
        As in scikit-learn; None is `score` of the estimator.
    patience : int, default=5
        How many looks may pass without a better score.

    Attributes
    ----------
    scores_ : list of float
        The score at each look.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from gapfit import LinearClassifier
    >>> from gapfit.callbacks import EarlyStopping
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> stop = EarlyStopping(X[400:], y[400:], patience=3)
    >>> model = LinearClassifier(solver="pegasos", alpha=1e-4).set_callbacks(stop).fit(X[:400], y[:400])
    >>> model.status_.name, len(stop.scores_) > 3
    ('STOPPED', True)
    """

    def __init__(self, X: Any, y: Any, *, scoring: Any = None, patience: int = 5) -> None:
        self.X, self.y, self.scoring, self.patience = X, y, scoring, as_count("patience", patience, 1)
        self.scores_: list[float] = []

    def setup(self, estimator: Any, context: Any) -> None:
        """A fit begins."""
        self.scores_ = []

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """A step begins."""

    def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any) -> bool:
        """A step has ended: is that enough?"""
        if context.task_name != "step" or fitted_estimator is None:
            return False
        scorer = check_scoring(fitted_estimator, scoring=self.scoring)
        self.scores_.append(float(scorer(fitted_estimator, self.X, self.y)))
        best = max(range(len(self.scores_)), key=self.scores_.__getitem__)
        return len(self.scores_) - 1 - best >= (self.patience or 1)

    def teardown(self, estimator: Any, context: Any) -> None:
        """The fit is over."""
