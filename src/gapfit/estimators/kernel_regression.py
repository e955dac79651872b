"""Support vector regression with kernels."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from gapfit._types import Vector
from gapfit.checks import as_column
from gapfit.errors import as_number
from gapfit.estimators.base import all_or_nothing, naming
from gapfit.estimators.kernel import KernelModel
from gapfit.estimators.kernel_parts import Part
from gapfit.losses import EpsilonInsensitive
from gapfit.losses.nu import NuTube


class KernelSVR(RegressorMixin, KernelModel):
    """Support vector regression with a kernel, whose fit carries a proof of how close to optimal it is.

    It minimises ::

        J(f, b) = alpha / 2 |f|^2 + sum_i s_i max(0, |f(x_i) + b - y_i| - epsilon) / sum_i s_i

    over functions f in the kernel's space and the intercept b, which is *not* penalised; |f| is the norm of
    that space, s_i are the weights, and alpha = 1 / (C * sum_i s_i). Times C * sum_i s_i that is the
    objective of scikit-learn's `SVR`, whose parameters and attributes it has. A sample of weight k counts as
    k samples, one of weight 0 is absent.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the losses; alpha = 1 / (C * sum of weights).
    epsilon : float, default=0.1
        Errors up to this size cost nothing.
    nu : float or None, default=None
        0 < nu <= 1. Then epsilon is a variable, and nu its price: nu * epsilon is added to J, as in `NuSVR`.
        At most a share nu of the samples is outside of the tube.
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
        b.
    coef_ : array of shape (1, d)
        The weights of the features, for kernel="linear".
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
    alpha_, C_, gamma_ : float
        1 / (C * sum of weights), C, and gamma as a number (None where the kernel has none).
    epsilon_ : float
        epsilon, or what nu made of it.
    n_features_in_ : int
    feature_names_in_ : array of str, if X had names

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 6, 80)[:, None]
    >>> model = KernelSVR(C=10, epsilon=0.01).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.02)
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        nu: float | None = None,
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
        self.C = C
        self.epsilon = epsilon
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "KernelSVR":
        """Fit the model; if that fails, the estimator stays as it was.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the kernel matrix (n, n)
        y : targets of shape (n,)
        sample_weight : array of shape (n,), default=None

        Returns
        -------
        self
        """
        C = as_number("C", self.C)
        loss = EpsilonInsensitive(self.epsilon) if self.nu is None else NuTube(self.nu)
        if not 0 < C < np.inf:
            raise ValueError(f"C must be positive and finite, got {self.C!r}")
        samples = self._samples(X, lambda n: check_target_column(y, n), sample_weight)
        alpha = 1.0 / (C * float(samples.weight.sum()))
        machine = self._fit_one(samples, Part(np.arange(len(samples.y)), samples.y), loss, alpha)
        self.C_ = C
        self.epsilon_ = float(self.epsilon) if machine.width is None else machine.width
        return self

    def predict(self, X: Any) -> Vector:
        """f(x) + b for each row x of X."""
        X = self._checked(X)
        return np.asarray(self._expansions(X, self.dual_coef_)[:, 0] + self.intercept_[0])


def check_target_column(y: Any, n: int) -> Vector:
    """Numbers, one for each sample."""
    from sklearn.utils import column_or_1d

    with naming("y"):
        return as_column("y", column_or_1d(y, warn=True), n)
