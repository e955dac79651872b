"""One-class novelty detection with kernels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from gapfit._types import Vector
from gapfit.estimators.base import Samples, all_or_nothing
from gapfit.estimators.kernel import KernelModel
from gapfit.estimators.kernel_parts import Machine, Part
from gapfit.losses import Novelty

_ON_IT = 1e-9  # of the threshold: the optimum puts some samples right on it, where rounding must not decide


class KernelNoveltyDetector(OutlierMixin, KernelModel):
    """A one-class support vector machine with a kernel, with a proof of how close to optimal the fit is.

    It looks for a function f and the threshold rho that most samples exceed, and minimises ::

        J(f, rho) = alpha / 2 |f|^2 - rho + sum_i s_i max(0, rho - f(x_i)) / (nu * sum_i s_i)

    over functions f in the kernel's space and rho, which is not penalised. s_i are the weights, and
    alpha = 1 / (nu * sum_i s_i), which gives f and rho the scale that they have in scikit-learn's
    `OneClassSVM`, whose parameters and attributes it has. A sample of weight k counts as k samples, one of
    weight 0 is absent.

    Parameters
    ----------
    nu : float, default=0.5
        0 < nu <= 1. At the optimum at most a share nu of the weight lies below the threshold.
    kernel : str or function, default="rbf"
        "rbf" (exp(-gamma |x - z|^2)), "poly" ((gamma <x, z> + coef0)^degree), "linear",
        "sigmoid" (tanh(gamma <x, z> + coef0)), "precomputed" (then X is the kernel matrix), or a function of
        two matrices of samples that returns their kernel values. Matrices and functions must be positive
        semidefinite. Those of "sigmoid" may not be: then the fit is a stationary point, `status_` is LOCAL
        and `dual_gap_` infinite.
    degree : int, default=3
        Of "poly".
    gamma : "scale", "auto" or float, default="scale"
        "scale" is 1 / (d * variance of X), each sample counted by its weight; "auto" is 1 / d.
    coef0 : float, default=0.0
        Of "poly" and "sigmoid".
    cache_size : float, default=1000
        Megabytes that the fit may use beside X: for tiles of the kernel matrix, copies of X and factors.
    solver : str or function, default="auto"
        "auto" and "smo" are sequential minimal optimisation; "bundle" works as well, and takes longer.
    tol : float, default=1e-4
        Stop when the duality gap is at most tol times the objective.
    max_iter : int, default=10_000
        The most steps a solver may take; a step of "smo" is one working set or several.
    max_time : float or None, default=None
        The most seconds the fit may take.
    checkpoint : path or None, default=None
        A file that keeps what is known while the fit runs; the same fit goes on from it. See the page on
        checkpoints.
    warm_start : bool, default=False
        Start from the last fit. The answer is certified as ever, so it does not depend on the start.
    random_state : int, RandomState or None, default=None
        Seeds the draws of the solver. None is a fixed seed: fits are repeatable.
    n_jobs : int, default=None
        Threads for one fit; None for as many as there are cores, used where the work is worth it. The model
        is the same to the last bit for any number.
    verbose : int, default=0
        1 shows the log (logger "gapfit") on stderr while fitting, 2 every step.

    Attributes
    ----------
    support_ : array of shape (n_SV,)
        The support vectors, as rows of X.
    support_vectors_ : array or sparse matrix of shape (n_SV, d)
        These rows; empty if the kernel is precomputed.
    n_support_ : array of shape (1,)
        How many there are.
    dual_coef_ : array of shape (1, n_SV)
        Their coefficients.
    intercept_ : array of shape (1,)
        -rho.
    coef_ : array of shape (1, d)
        The weights of the features, for kernel="linear".
    offset_ : float
        The threshold rho.
    objective_, dual_objective_ : float
        J at the returned function, and a lower bound of its minimum.
    dual_gap_ : float
        J is at most this far above its minimum.
    converged_ : bool
        Whether tol was certified.
    status_ : Status
        How the fit ended, in words: `status_.value`.
    fit_status_ : int
        0 if `converged_`, else 1.
    n_iter_ : int
        Steps of the solver.
    history_ : list of Record
        The bounds after each look at them: (n_iter, time, primal, dual, gap).
    certificates_ : list of Certificate
        The certificate, in a list of one.
    support_status_ : array of str of shape (n,)
        What is proved of each training sample at the exact optimum: "zero" (no support vector), "bound" (one,
        with its coefficient at the bound), "support" (one), or "undecided".
    identified_at_ : array of int of shape (n,)
        After how many steps on pairs of coefficients each sample last came to a bound or left one; -1 if
        the solver does not tell.
    alpha_, gamma_ : float
        1 / (nu * sum of weights), and gamma as a number (None where the kernel has none).
    n_features_in_ : int
    feature_names_in_ : array of str, if X had names

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = KernelNoveltyDetector(nu=0.05).fit(X)
    >>> model.predict([[0.0, 0.0], [5.0, 5.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        cache_size: float = 1000,
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
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.cache_size = cache_size
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
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelNoveltyDetector":
        """Fit the model; if that fails, the estimator stays as it was.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the kernel matrix (n, n)
        y : ignored
        sample_weight : array of shape (n,), default=None

        Returns
        -------
        self
        """
        loss = Novelty(self.nu)
        samples = self._samples(X, np.ones, sample_weight)
        alpha = 1.0 / (loss.nu * float(samples.weight.sum()))
        self._fit_one(samples, Part(np.arange(len(samples.y)), samples.y), loss, alpha)
        return self

    def _support_of(
        self, samples: Samples, order: Any, machines: Sequence[Machine]
    ) -> tuple[dict[str, Any], Vector]:
        found, each = super()._support_of(samples, order, machines)
        return {**found, "offset_": -float(machines[0].b)}, each

    def score_samples(self, X: Any) -> Vector:
        """f(x): the larger, the more like the training samples."""
        return self.decision_function(X) + self.offset_

    def decision_function(self, X: Any) -> Vector:
        """f(x) - offset_: negative for outliers, and zero where only rounding parts it from the threshold."""
        X = self._checked(X)
        scores = self._expansions(X, self.dual_coef_)[:, 0] + self.intercept_[0]
        return np.where(np.abs(scores) <= _ON_IT * abs(self.offset_), 0.0, scores)

    def predict(self, X: Any) -> NDArray[np.intp]:
        """+1 for rows that resemble the training samples, -1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def certified(self, X: Any) -> NDArray[np.bool_]:
        """Which predictions are provably those of the exact optimum (of every one, if there are several)."""
        lo, hi = self.score_bounds(X)
        return np.where(self.decision_function(X) >= 0, lo >= 0, hi < 0)
