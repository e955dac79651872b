"""Linear one-class novelty detection."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from gapfit._types import Slope, Vector
from gapfit.estimators.base import LinearModel, all_or_nothing
from gapfit.losses import Novelty

_ON_IT = 1e-9  # of the threshold: the optimum puts some samples right on it, where rounding must not decide


class NoveltyDetector(OutlierMixin, LinearModel):
    """A linear one-class support vector machine whose fit carries a proof of how close to optimal it is.

    It looks for the direction w and the threshold rho that most samples exceed, and minimises ::

        J(w, rho) = alpha * Omega(w) - rho + sum_i s_i max(0, rho - x_i'w) / (nu * sum_i s_i)

    over w and rho, which is not penalised. s_i are the weights; `C = 1 / (alpha * sum_i s_i)`. With the L2
    penalty, alpha sets the scale of w and rho and nothing else (scikit-learn's OneClassSVM has the scale of
    alpha = 1 / (nu n)). A sample of weight k counts as k samples, one of weight 0 is absent.

    Parameters
    ----------
    nu : float, default=0.5
        0 < nu <= 1. At the optimum at most a share nu of the weight lies below the threshold.
    penalty : str or Penalty, default="l2"
        Omega: "l2" (1/2 |w|^2), "elastic_net", "squared_lp", "entropy", "simplex_entropy", or an object of
        `gapfit.penalties`. With "l1" there may be no minimum.
    alpha : float, default=1.0
        Multiplies the penalty.
    positive : bool, default=False
        Allow only coefficients w >= 0.
    solver : str or function, default="auto"
        "auto", "bundle", "line_search_bundle", "dual_cd" or "pegasos". All reach the same optimum.
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
    offset_ : float
        The threshold rho.
    intercept_ : float
        -rho.
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
        with its dual coefficient at the bound: an outlier), "support" (one), or "undecided".
    alpha_, C_ : float
        alpha, and 1 / (alpha * sum of weights).
    n_features_in_ : int
    feature_names_in_ : array of str, if X had names

    Examples
    --------
    >>> import numpy as np
    >>> X = 5 + np.random.default_rng(0).normal(size=(200, 3))
    >>> model = NoveltyDetector(nu=0.05).fit(X)
    >>> model.predict([[5.0, 5.0, 5.0], [0.0, 0.0, 0.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        penalty: Any = "l2",
        alpha: float = 1.0,
        positive: bool = False,
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
        self.nu = nu
        self.penalty = penalty
        self.alpha = alpha
        self.positive = positive
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "NoveltyDetector":
        """Fit the model; if that fails, the estimator stays as it was.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : ignored
        sample_weight : array of shape (n,), default=None

        Returns
        -------
        self
        """
        loss = Novelty(self.nu)
        samples = self._samples(X, np.ones, sample_weight)
        self._solve(samples, [samples.y], loss, True)
        return self

    def _point(self, w: Sequence[Slope], b: Sequence[float]) -> dict[str, Any]:
        return {"coef_": w[0], "intercept_": b[0], "offset_": -b[0]}

    def score_samples(self, X: Any) -> Vector:
        """x'w: the larger, the more like the training samples."""
        return self.decision_function(X) + self.offset_

    def decision_function(self, X: Any) -> Vector:
        """x'w - offset_: negative for outliers, and zero where only rounding parts it from the threshold."""
        scores = self._scores(X)
        return np.where(np.abs(scores) <= _ON_IT * abs(self.offset_), 0.0, scores)

    def predict(self, X: Any) -> NDArray[np.intp]:
        """+1 for rows that resemble the training samples, -1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def certified(self, X: Any) -> NDArray[np.bool_]:
        """Which predictions are provably those of the exact optimum (of every one, if there are several)."""
        lo, hi = self.score_bounds(X)
        return np.where(self.decision_function(X) >= 0, lo >= 0, hi < 0)
