"""Callbacks for the estimators of gapfit, by scikit-learn's protocol: `set_callbacks` takes them."""

from time import perf_counter
from typing import Any

from sklearn.metrics import check_scoring

from gapfit.errors import as_count
from gapfit.progress import Pace

__all__ = ["EarlyStopping", "LiveProgress"]


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


class LiveProgress:
    """Shows a fit while it runs, in a terminal or a notebook: step, objective, lower bound, gap, how fast the
    gap falls, and how long the fit may still take. It needs `rich`, as scikit-learn's `ProgressBar` does.

    A fit that is watched is looked at more often, and takes a little longer.

    Parameters
    ----------
    console : rich.console.Console, default=None
        Where to show it; by default on stderr, or below the cell of a notebook.

    Examples
    --------
    >>> import gapfit
    >>> live = gapfit.callbacks.LiveProgress()
    >>> X = [[0.0, 1.0], [2.0, 1.5], [3.0, 0.5], [1.0, 0.0]]
    >>> model = gapfit.LinearRegressor(alpha=0.1).set_callbacks(live).fit(X, [1.0, 2.0, 3.5, 0.5])
    >>> live.lines_[-1].startswith("step")
    True
    """

    def __init__(self, *, console: Any = None) -> None:
        self.console = console
        self.lines_: list[str] = []
        self._live: Any = None

    def setup(self, estimator: Any, context: Any) -> None:
        """A fit begins."""
        from rich.console import Console
        from rich.live import Live

        self.lines_ = []
        self._began, self._pace = perf_counter(), Pace(estimator.tol)
        plain = Console(stderr=True)
        console = self.console or (Console() if plain.is_jupyter else plain)
        self._live = Live(console=console, refresh_per_second=8)
        self._live.start()

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """A step begins."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """A step has ended."""
        progress = getattr(context, "progress", None)
        if progress is None:
            return
        line = self._pace.line(progress.n_iter, perf_counter() - self._began, *progress[2:5])
        self.lines_.append(line)
        self._live.update(line)

    def teardown(self, estimator: Any, context: Any) -> None:
        """The fit is over; its last line stays."""
        self._live.stop()
        self._live = None
