"""Support vector classification with kernels."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from gapfit._types import Vector
from gapfit.errors import as_choice, as_number
from gapfit.estimators.base import all_or_nothing
from gapfit.estimators.classification import check_target_labels
from gapfit.estimators.kernel import KernelModel
from gapfit.estimators.kernel_parts import Machine, Part
from gapfit.losses import Hinge
from gapfit.losses.nu import NuHinge
from gapfit.reductions import Labels, weigh_classes


class KernelSVC(ClassifierMixin, KernelModel):
    """A support vector machine with a kernel, whose fit carries a proof of how close to optimal it is.

    For two classes, with y_i = +1 for the second of `classes_` and -1 for the first, it minimises ::

        J(f, b) = alpha / 2 |f|^2 + sum_i s_i max(0, 1 - y_i (f(x_i) + b)) / sum_i s_i

    over functions f in the kernel's space and the intercept b, which is *not* penalised; |f| is the norm of
    that space, s_i are the weights, `sample_weight` times `class_weight`, and alpha = 1 / (C * sum_i s_i).
    Times C * sum_i s_i that is the objective of scikit-learn's `SVC`, whose parameters and attributes it has.
    A sample of weight k counts as k samples, one of weight 0 is absent.

    More than two classes are told apart pair by pair, each pair with a certificate of its own.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the losses; alpha = 1 / (C * sum of weights).
    nu : float or None, default=None
        0 < nu <= 1, for `NuSVC`: in place of C, the share of samples that are inside of the margin, at most,
        and the share of support vectors, at least. It minimises
        J(f, b, rho) = alpha / 2 |f|^2 - nu rho + sum_i s_i max(0, rho - y_i (f(x_i) + b)) / sum_i s_i with
        alpha = 1 / sum_i s_i, then divides f and b by rho. nu may be twice the share of the smaller class,
        and no more.
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
    class_weight : dict, "balanced" or None, default=None
        Weights by class. "balanced" gives every class the same total weight.
    decision_function_shape : "ovr" or "ovo", default="ovr"
        With more than two classes: a score for each class, or for each pair.
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
        The support vectors, as rows of X, class by class.
    support_vectors_ : array or sparse matrix of shape (n_SV, d)
        These rows; empty if the kernel is precomputed.
    n_support_ : array of shape (k,)
        How many there are of each class.
    dual_coef_ : array of shape (k - 1, n_SV)
        Their coefficients; with k > 2 classes, of the k - 1 pairs that the class of the support vector is in.
    intercept_ : array of shape (k (k - 1) / 2,)
        b, for each pair of classes.
    coef_ : array of shape (k (k - 1) / 2, d)
        The weights of the features, for two classes and kernel="linear".
    classes_ : array of shape (k,)
        The labels, sorted.
    objective_, dual_objective_ : float
        J at the returned function, and a lower bound of its minimum; with k > 2 classes means over the pairs.
    dual_gap_ : float
        J is at most this far above its minimum; with k > 2 classes, for each pair.
    converged_ : bool
        Whether tol was certified.
    status_ : Status
        How the fit ended, in words: `status_.value`.
    fit_status_ : int
        0 if `converged_`, else 1.
    n_iter_ : int
        Steps of the solver; with k > 2 classes the most.
    history_ : list of Record
        The bounds after each look at them: (n_iter, time, primal, dual, gap); with k > 2 classes, a list
        for each pair.
    certificates_ : list of Certificate
        One for each pair of classes.
    support_status_ : array of str of shape (n,) or (pairs, n)
        What is proved of each training sample at the exact optimum: "zero" (no support vector), "bound" (one,
        with its coefficient at the bound), or "undecided", as those right on the margin always are.
    identified_at_ : array of int of shape (n,) or (pairs, n)
        After how many steps on pairs of coefficients each sample last came to a bound or left one; -1 where
        it does not take part, or the solver does not tell.
    alpha_ : float or array
        1 / (C * sum of weights), for each pair of classes.
    C_, gamma_ : float
        C, or the one that nu amounts to (for more than two classes an array, one for each pair), and gamma as
        a number (None where the kernel has none).
    n_features_in_ : int
    feature_names_in_ : array of str, if X had names

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = KernelSVC(C=10, tol=1e-10).fit(scale(X), y)
    >>> model.converged_, model.dual_gap_ <= 1e-10 * model.objective_
    (True, True)
    >>> model.predict(scale(X)[:3]), bool(model.certified(scale(X)).all())  # the exact optimum's, provably
    (array([0, 0, 0]), True)
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        nu: float | None = None,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        class_weight: Any = None,
        decision_function_shape: str = "ovr",
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
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "KernelSVC":
        """Fit the model; if that fails, the estimator stays as it was.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the kernel matrix (n, n)
        y : labels of shape (n,), of any kind
        sample_weight : array of shape (n,), default=None

        Returns
        -------
        self
        """
        C = as_number("C", self.C) if self.nu is None else 1.0  # the margin's scale is fixed by nu
        loss = Hinge() if self.nu is None else NuHinge(self.nu)
        if not 0 < C < np.inf:
            raise ValueError(f"C must be positive and finite, got {self.C!r}")
        as_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        given: list[Any] = []

        def check(n: int) -> NDArray[Any]:
            given.append(check_target_labels(y, n))
            return given[0]

        samples = self._samples(X, check, sample_weight)
        labels = Labels.of(samples.y)
        kernel = self._kernel(samples)
        weight = weigh_classes(self.class_weight, labels, samples.y, samples.weight)
        samples = samples._replace(weight=weight)
        self.classes_ = labels.classes
        code = np.searchsorted(labels.classes, samples.y)
        k = len(labels.classes)
        parts = []
        for positive, negative in _pairs(k):
            rows = np.flatnonzero((code == positive) | (code == negative))
            parts.append(Part(rows, np.where(code[rows] == positive, 1.0, -1.0)))
        design = self._design(samples, kernel)
        alphas = [1.0 / (C * float(weight[part.rows].sum())) for part in parts]
        everyone = np.searchsorted(labels.classes, given[0])
        order = np.argsort(everyone, kind="stable")

        def finish(machines: Sequence[Machine]) -> dict[str, Any]:
            found, each = self._support_of(samples, order, machines)
            of_support = everyone[found["support_"]]
            table = each if k == 2 else _as_libsvm(each, of_support, k)
            return {
                **found,
                "dual_coef_": table,
                "n_support_": np.bincount(of_support, minlength=k).astype(np.int32),
            }

        machines = self._fit_parts(samples, design, parts, loss, alphas, finish)
        found = np.array([C / (machine.width or 1.0) for machine in machines])
        self.C_: Any = C if self.nu is None else float(found[0]) if k == 2 else found
        return self

    def decision_function(self, X: Any) -> Vector:
        """Scores of shape (n,), positive for the second class; with k > 2 classes (n, k), one for each, or
        (n, k (k - 1) / 2), one for each pair and positive for its first class ("ovo")."""
        scores = self._scores_by_pair(X)
        if len(self.classes_) == 2:
            return scores[:, 0]
        return scores if self.decision_function_shape == "ovo" else self._by_class(scores)

    def _scores_by_pair(self, X: Any) -> Vector:
        X = self._checked(X)
        k, table = len(self.classes_), self.dual_coef_
        each = table if k == 2 else _by_pair(table, np.repeat(np.arange(k), self.n_support_), k)
        return np.asarray(self._expansions(X, each) + self.intercept_)

    def _by_class(self, scores: Vector) -> Vector:
        """The votes of all pairs, and a sum of scores, bounded by 1/3, that decides between equal votes."""
        n, k = len(scores), len(self.classes_)
        votes, sums = np.zeros((n, k)), np.zeros((n, k))
        for column, (first, second) in zip(scores.T, _pairs(k), strict=True):
            votes[:, first] += column > 0
            votes[:, second] += column <= 0
            sums[:, first] += column
            sums[:, second] -= column
        return votes + sums / (3 * (np.abs(sums) + 1))

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X; with k > 2 classes the one that most pairs vote for."""
        scores = self._scores_by_pair(X)
        return Labels(self.classes_).invert(
            scores[:, 0] if len(self.classes_) == 2 else self._by_class(scores)
        )

    def certified(self, X: Any) -> NDArray[np.bool_]:
        """Which predictions are provably those of the exact optimum, for two classes."""
        lo, hi = self.score_bounds(X)
        return np.where(self.decision_function(X) > 0, lo > 0, hi < 0)


def _pairs(k: int) -> list[tuple[int, int]]:
    """Of classes; as in libsvm, the first of a pair is the positive one, unless there are only two."""
    return [(1, 0)] if k == 2 else list(combinations(range(k), 2))


def _as_libsvm(each: Vector, of_support: Any, k: int) -> Vector:
    """Coefficients by pair as a table (k - 1, n_SV): a support vector of class c has row m for its pair with
    class m if m < c, and with class m + 1 otherwise."""
    table = np.zeros((k - 1, each.shape[1]))
    for row, (first, second) in zip(each, _pairs(k), strict=True):
        of_first, of_second = of_support == first, of_support == second
        table[second - 1, of_first] = row[of_first]
        table[first, of_second] = row[of_second]
    return table


def _by_pair(table: Vector, of_support: Any, k: int) -> Vector:
    """What `_as_libsvm` was made from: a row of coefficients for each pair."""
    return np.stack([
        np.where(of_support == first, table[second - 1], np.where(of_support == second, table[first], 0.0))
        for first, second in _pairs(k)
    ])  # fmt: skip
