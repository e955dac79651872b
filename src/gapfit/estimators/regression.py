"""Linear regression: least squares, quantiles, support vector regression, Huber's loss, counts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d

from gapfit._types import Slope, Vector
from gapfit.checks import as_column
from gapfit.estimators.base import LinearModel, all_or_nothing, check_flag, check_loss, naming
from gapfit.losses import Poisson

LOSSES = (
    "squared",
    "absolute",
    "quantile",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "huber",
    "poisson",
)


class LinearRegressor(RegressorMixin, LinearModel):
    """A linear regression whose fit carries a proof of how close to optimal it is.

    It minimises ::

        J(w, b) = alpha * Omega(w) + sum_i s_i phi(y_i, x_i'w + o_i + b) / sum_i s_i

    over w and the intercept b, which is *not* penalised. s_i are the weights, o_i known offsets, zero unless
    given. The loss is a weighted mean, so `C = 1 / (alpha * sum_i s_i)` gives the C of libraries that
    minimise Omega(w) + C * sum_i s_i phi_i. A sample of weight k counts as k samples, one of weight 0 is
    absent.

    Parameters
    ----------
    loss : str or Loss, default="squared"
        phi: "squared" (r^2 / 2), "absolute", "quantile", "epsilon_insensitive",
        "squared_epsilon_insensitive", "huber", "poisson" (the mean is exp of the score), or an object of
        `gapfit.losses`, such as `Quantile(q=0.9)` or `Huber(delta=2)`, or a loss of your own.
    penalty : str or Penalty, default="l2"
        Omega: "l2" (1/2 |w|^2), "l1", "elastic_net", "squared_lp", "entropy", "simplex_entropy", or an object
        of `gapfit.penalties`, such as `ElasticNet(l1_ratio=0.1)` or `Box(L2(), -1, 1)`.
    alpha : float, default=1e-4
        Multiplies the penalty.
    positive : bool, default=False
        Allow only coefficients w >= 0.
    fit_intercept : bool, default=True
        Whether to have the intercept b.
    solver : str or function, default="auto"
        "auto", "bundle", "line_search_bundle", "dual_cd", "pegasos" or "lbfgs". All reach the same optimum.
    tol : float, default=1e-4
        Stop when the duality gap is at most tol times the objective.
    max_iter : int, default=10_000
        The most steps a solver may take.
    max_time : float or None, default=None
        The most seconds the fit may take.
    checkpoint : path or None, default=None
        A file that keeps what is known while the fit runs; the same fit goes on from it. See the page on
        checkpoints.
    warm_start : bool, default=False
        Start from the last fit. The answer is certified as ever, so it does not depend on the start.
    random_state : int, RandomState or None, default=None
        Seeds the solvers that visit samples in random order. None is a fixed seed: fits are repeatable.
    n_jobs : int, default=None
        Threads for one fit; None for as many as there are cores, used where the work is worth it. The model
        is the same to the last bit for any number.
    verbose : int, default=0
        1 shows the log (logger "gapfit") on stderr while fitting, 2 every step.

    Attributes
    ----------
    coef_ : array of shape (d,)
        w, in the precision of X.
    intercept_ : float
        b.
    objective_, dual_objective_ : float
        J at the returned point, and a lower bound of its minimum.
    dual_gap_ : float
        J is at most this far above its minimum.
    converged_ : bool
        Whether tol was certified.
    status_ : Status
        How the fit ended, in words: `status_.value`.
    n_iter_ : int
        Steps of the solver.
    history_ : list of Record
        The bounds after each step: (n_iter, time, primal, dual, gap).
    certificates_ : list of Certificate
        The certificate, in a list of one.
    support_status_ : array of str of shape (n,)
        What is proved of each training sample at the exact optimum: "zero" (no support vector), "bound" (one,
        with its dual coefficient at the bound), "support" (one), or "undecided".
    alpha_, C_ : float
        alpha, and 1 / (alpha * sum of weights).
    n_features_in_ : int
    feature_names_in_ : array of str, if X had names

    Examples
    --------
    >>> import numpy as np
    >>> from gapfit.losses import Quantile
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> y = 3 * X[:, 0] + np.tile([0.0, 1.0], 10)
    >>> model = LinearRegressor(loss=Quantile(q=0.9), alpha=1e-6, tol=1e-8).fit(X, y)
    >>> model.predict([[30.0]]).round(2)
    array([91.])
    >>> lo, hi = model.score_bounds([[30.0]])  # true of the exact optimum
    >>> bool(90 < lo[0] <= hi[0] < 92)
    True
    """

    def __init__(
        self,
        *,
        loss: Any = "squared",
        penalty: Any = "l2",
        alpha: float = 1e-4,
        positive: bool = False,
        fit_intercept: bool = True,
        solver: Any = "auto",
        tol: float = 1e-4,
        max_iter: int = 10_000,
        max_time: float | None = None,
        checkpoint: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.positive = positive
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss == "poisson" or isinstance(self.loss, Poisson)
        return tags

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> "LinearRegressor":
        """Fit the model; if that fails, the estimator stays as it was.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), default=None
        offset : array of shape (n,), default=None
            Known numbers added to the scores while fitting (and not when predicting), such as the logarithm
            of the exposure for loss="poisson".

        Returns
        -------
        self
        """
        loss = check_loss(self.loss, LOSSES)
        check_flag("fit_intercept", self.fit_intercept)
        samples = self._samples(X, lambda n: _check_target(y, n), sample_weight, offset)
        self._exponential_mean = isinstance(loss, Poisson)
        self._solve(samples, [samples.y], loss, self.fit_intercept)
        return self

    def _point(self, w: Sequence[Slope], b: Sequence[float]) -> dict[str, Any]:
        return {"coef_": w[0], "intercept_": b[0], "_exponential_mean": self._exponential_mean}

    def predict(self, X: Any) -> Vector:
        """The prediction for each row of X: x'coef_ + intercept_, and its exponential for loss="poisson"."""
        scores = self._scores(X)
        return self._mean(scores)

    def score_bounds(self, X: Any) -> tuple[Vector, Vector]:
        """Bounds on the predictions of the exact optimum, true of every optimal model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        lo, hi : arrays of shape (n,)
        """
        lo, hi = super().score_bounds(X)
        return self._mean(lo), self._mean(hi)

    def _mean(self, scores: Vector) -> Vector:
        """The inverse link."""
        with np.errstate(over="ignore"):
            return np.exp(scores) if self._exponential_mean else scores


def _check_target(y: Any, n: int) -> NDArray[Any]:
    with naming("y"):
        y = column_or_1d(y, warn=True)
    return as_column("y", y, n)
