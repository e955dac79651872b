"""Linear classifiers: support vector machines, logistic regression and their kin."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted

from gapfit._types import Slope, Vector
from gapfit.errors import as_choice
from gapfit.estimators.base import LinearModel, all_or_nothing, check_flag, check_loss, naming
from gapfit.estimators.joint import joint_bounds, outputs_of, weights_and_intercepts
from gapfit.estimators.targets import Indicators, as_indicators
from gapfit.losses import CrammerSinger, Hinge, LabelRanking, Logistic, Softmax
from gapfit.losses.base import Loss
from gapfit.losses.multilabel import MultilabelLoss, least_error_threshold, threshold_range
from gapfit.reductions import Labels, two_numbers, weigh_classes
from gapfit.solution import Solution

BINARY = ("hinge", "squared_hinge", "smoothed_hinge", "logistic", "exponential")
JOINT = ("crammer_singer", "softmax", "hamming", "label_ranking", "macro_f", "micro_f")
LOSSES = (*BINARY, *JOINT)
TOGETHER: dict[type[Loss], type[Loss]] = {Hinge: CrammerSinger, Logistic: Softmax}  # multi_class="joint"
OVER_CLASSES = (CrammerSinger, Softmax)


def _has_probabilities(classifier: "LinearClassifier") -> bool:
    if classifier.loss in ("logistic", "softmax") or isinstance(classifier.loss, Logistic | Softmax):
        return True
    raise AttributeError(f"probabilities need loss='logistic' or 'softmax', not {classifier.loss!r}")


class LinearClassifier(ClassifierMixin, LinearModel):
    """A linear classifier whose fit carries a proof of how close to optimal it is.

    For two classes, with y_i = +1 for the second of `classes_` and -1 for the first, it minimises ::

        J(w, b) = alpha * Omega(w) + sum_i s_i phi(y_i (x_i'w + o_i + b)) / sum_i s_i

    over w and the intercept b, which is *not* penalised. s_i are the weights: `sample_weight` times
    `class_weight`; o_i are known offsets, zero unless given. The loss is a weighted mean, so
    `C = 1 / (alpha * sum_i s_i)` gives the C of libraries that minimise Omega(w) + C * sum_i s_i phi_i.
    A sample of weight k counts as k samples, one of weight 0 is absent.

    More than two classes are told apart one against the rest, each with a certificate of its own; or all at
    once, with a column of W for each class and one certificate, if `multi_class="joint"` or the loss is one
    over classes ::

        J(W, b) = alpha * Omega(W) + sum_i s_i phi(y_i, W'x_i + b) / sum_i s_i

    If y is an indicator matrix (n, L) of zeros and ones, samples may have any number of the L labels. Each is
    then told apart on its own, or all are fitted together if the loss is one over labels.

    Parameters
    ----------
    loss : str or Loss, default="hinge"
        phi: "hinge", "squared_hinge", "smoothed_hinge", "logistic", "exponential", or an object of
        `gapfit.losses`, such as `SmoothedHinge(gamma=0.5)`, or a loss of your own. Over classes:
        "crammer_singer", "softmax", or `CrammerSinger(costs)` with a table of what each error costs, its rows
        and columns in the order of `classes_`. Over labels: "hamming", "label_ranking", "macro_f", "micro_f".
    multi_class : "one_vs_rest" (default) or "joint"
        With "joint" the loss "hinge" stands for "crammer_singer", and "logistic" for "softmax", which are
        also used for two classes; other losses of two classes have no joint form.
    penalty : str or Penalty, default="l2"
        Omega: "l2" (1/2 |w|^2), "l1", "elastic_net", "squared_lp", "entropy", "simplex_entropy", or an object
        of `gapfit.penalties`, such as `ElasticNet(l1_ratio=0.1)` or `Box(L2(), -1, 1)`.
    alpha : float, default=1e-4
        Multiplies the penalty.
    positive : bool, default=False
        Allow only coefficients w >= 0.
    fit_intercept : bool, default=True
        Whether to have the intercept b.
    class_weight : dict, "balanced" or None, default=None
        Weights by class. "balanced" gives every class the same total weight.
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
    coef_ : array of shape (1, d), or (k, d) for k > 2 classes or for k labels
        w, in the precision of X. A joint fit of two classes has the second column of W less the first.
    intercept_ : array of shape (1,) or (k,)
        b.
    classes_ : array of shape (k,)
        The labels, sorted; 0 to L - 1 where y is an indicator matrix.
    multilabel_ : bool
        Whether y was an indicator matrix.
    objective_, dual_objective_ : float
        J at the returned point, and a lower bound of its minimum; with k > 2 classes their means.
    dual_gap_ : float
        J is at most this far above its minimum; with k > 2 classes, for each of them.
    converged_ : bool
        Whether tol was certified.
    status_ : Status
        How the fit ended, in words: `status_.value`.
    n_iter_ : int
        Steps of the solver; with k > 2 classes the most.
    history_ : list of Record
        The bounds after each step: (n_iter, time, primal, dual, gap). With k > 2 classes, a list for each.
    certificates_ : list of Certificate
        One for each problem solved.
    support_status_ : array of str of shape (n,) or (k, n)
        What is proved of each training sample at the exact optimum: "zero" (no support vector), "bound" (one,
        with its dual coefficient at the bound), "support" (one), or "undecided" (as in all joint fits).
    alpha_, C_ : float
        alpha, and 1 / (alpha * sum of weights).
    n_features_in_ : int
    feature_names_in_ : array of str, if X had names

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearClassifier(loss="hinge", alpha=1e-2).fit(scale(X), y)
    >>> model.converged_, model.dual_gap_ <= 1e-4 * model.objective_
    (True, True)
    >>> bool(model.certified(scale(X)).mean() > 0.9)  # predictions that are provably the exact optimum's
    True
    """

    multilabel_: bool = False  # files of earlier versions do not say

    def __init__(
        self,
        *,
        loss: Any = "hinge",
        multi_class: str = "one_vs_rest",
        penalty: Any = "l2",
        alpha: float = 1e-4,
        positive: bool = False,
        fit_intercept: bool = True,
        class_weight: Any = None,
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
        self.multi_class = multi_class
        self.penalty = penalty
        self.alpha = alpha
        self.positive = positive
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
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
        # signs or an origin that are prescribed: no longer any half-space, and no good score to be expected
        tags.classifier_tags.poor_score = bool(self.positive or not self.fit_intercept)
        tags.classifier_tags.multi_label = self.multi_class != "joint" and self.class_weight is None
        return tags

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> "LinearClassifier":
        """Fit the model; if that fails, the estimator stays as it was.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : labels of shape (n,), of any kind; or an indicator matrix (n, L) of zeros and ones
        sample_weight : array of shape (n,), default=None
        offset : array of shape (n,), default=None
            Known numbers added to the scores of all problems while fitting (and not when predicting). Not for
            joint fits.

        Returns
        -------
        self
        """
        loss = self._loss()
        check_flag("fit_intercept", self.fit_intercept)
        several = as_indicators(y)
        joint = _is_joint(loss)
        if joint and offset is not None:
            raise ValueError(f"offset has one number a sample, and {loss!r} has several scores: leave it out")
        if several is not None:
            self._fit_labels(X, several, loss, sample_weight, offset)
            return self
        if isinstance(loss, MultilabelLoss):
            raise ValueError(f"y must be an indicator matrix of shape (n, L), L > 1, for {loss!r}")
        samples = self._samples(X, lambda n: check_target_labels(y, n), sample_weight, offset)
        labels = Labels.of(samples.y)
        weight = weigh_classes(self.class_weight, labels, samples.y, samples.weight)
        samples = samples._replace(weight=weight)
        self.classes_, self.multilabel_ = labels.classes, False
        targets = labels.apply(samples.y)
        if joint:
            loss = _for_classes(loss, len(labels.classes))
            targets = [np.searchsorted(labels.classes, samples.y).astype(np.float64)]
        self._solve(samples, targets, loss, self.fit_intercept)
        return self

    def _loss(self) -> Loss:
        loss = check_loss(self.loss, LOSSES)
        multi_class = as_choice("multi_class", self.multi_class, ("one_vs_rest", "joint"))
        if multi_class == "one_vs_rest" or _is_joint(loss):
            return loss
        if type(loss) not in TOGETHER:
            raise ValueError(
                f"multi_class='joint' is for hinge, logistic and losses over classes, not {loss!r}"
            )
        return TOGETHER[type(loss)]()

    def _fit_labels(self, X: Any, labels: Indicators, loss: Loss, sample_weight: Any, offset: Any) -> None:
        """Fit an indicator matrix: one problem for each label, or one for all if the loss is over labels."""
        if isinstance(loss, OVER_CLASSES):
            raise ValueError(f"y is an indicator matrix, and {loss!r} is for classes, of which one is true")
        if self.class_weight is not None:
            raise ValueError("class_weight must be None where y is an indicator matrix")
        samples = self._samples(X, labels.codes, sample_weight, offset)
        Y = labels.patterns[samples.y]
        self.classes_, self.multilabel_ = np.arange(Y.shape[1]), True
        targets = [Y] if _is_joint(loss) else list(2.0 * Y.T - 1.0)
        self._solve(samples, targets, loss, self.fit_intercept)
        if isinstance(loss, LabelRanking):  # it is blind to a common shift: the one with the fewest errors
            scores, (ball,) = self._scores(samples.X), self._balls
            self.intercept_ = self.intercept_ - least_error_threshold(scores, Y, samples.weight)
            if ball is not None:  # the optimum's own threshold follows from its scores
                bounds = joint_bounds(ball, samples.X, Y.shape[1])
                lowest, highest = threshold_range(*bounds, Y, samples.weight)
                self._balls = [ball._replace(lo=ball.lo - highest, hi=ball.hi - lowest)]

    def _point(self, w: Sequence[Slope], b: Sequence[float]) -> dict[str, Any]:
        outputs = outputs_of(w[0], self.n_features_in_)
        coef, intercept = np.stack(w), np.array(b, dtype=np.float64)
        if outputs > 1:
            coef, intercept = weights_and_intercepts(w[0], b[0], outputs)
            if outputs == 2 and not self.multilabel_:
                coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        known = {"classes_": self.classes_, "multilabel_": self.multilabel_}
        return {"coef_": coef, "intercept_": intercept, **known}

    def _starts(self, d: int, parts: int) -> Sequence[Solution | None]:
        return super()._starts(d * len(self.classes_) if _is_joint(self._loss()) else d, parts)

    def decision_function(self, X: Any) -> Vector:
        """Scores of shape (n,), positive for the second class; with k > 2 classes (n, k), one for each."""
        return self._scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X; an indicator matrix if y was one."""
        scores = self.decision_function(X)
        if self.multilabel_:
            return (scores > 0).astype(np.int64)
        return Labels(self.classes_).invert(scores)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Vector:
        """Probabilities of shape (n, k), for "logistic" and "softmax".

        One against the rest, k > 2 of them are normalised to sum to one. If y was an indicator matrix, those
        of having each label.
        """
        scores = self.decision_function(X)
        if self.multilabel_:
            return np.asarray(expit(scores))
        if scores.ndim == 1:
            return np.stack([expit(-scores), expit(scores)], axis=1)
        if self.multi_class == "joint" or isinstance(check_loss(self.loss, LOSSES), Softmax):
            return np.asarray(softmax(scores, axis=1))
        return np.asarray(softmax(log_expit(scores), axis=1))  # expit / its sum, which may underflow

    def score_bounds(self, X: Any) -> tuple[Vector, Vector]:
        """Bounds on the decision function of the exact optimum, true of every optimal model.

        Those of joint fits with intercepts are infinite: the gap says too little about several of them.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        lo, hi : arrays of the shape of `decision_function(X)`
        """
        check_is_fitted(self)
        ball = self._balls[0]
        outputs = 1 if ball is None else outputs_of(ball.centre, self.n_features_in_)
        if ball is None or outputs == 1:
            return super().score_bounds(X)
        lo, hi = joint_bounds(ball, self._checked(X), outputs)
        if outputs == 2 and not self.multilabel_:
            return lo[:, 1] - hi[:, 0], hi[:, 1] - lo[:, 0]
        return lo, hi

    def certified(self, X: Any) -> NDArray[np.bool_]:
        """Which predictions are provably those of the exact optimum (of every one, if there are several).

        If y was an indicator matrix, which of its entries.
        """
        lo, hi = self.score_bounds(X)
        scores = self.decision_function(X)
        if scores.ndim == 1 or self.multilabel_:
            return np.where(scores > 0, lo > 0, hi < 0)
        rows, winner = np.arange(len(scores)), scores.argmax(axis=1)
        hi[rows, winner] = -np.inf
        return np.asarray(lo[rows, winner] > hi.max(axis=1))


def _is_joint(loss: Loss) -> bool:
    """Does the loss have several scores a sample?"""
    return isinstance(loss, (*OVER_CLASSES, MultilabelLoss))


def _for_classes(loss: Loss, k: int) -> Loss:
    """The loss for k classes, all of which are there."""
    asked = len(loss.costs) if isinstance(loss, CrammerSinger) and loss.costs is not None else None
    asked = asked or getattr(loss, "n_classes", None)
    if asked not in (None, k):
        raise ValueError(f"{loss!r} is for {asked} classes, but y holds {k}")
    return loss


def check_target_labels(y: Any, n: int) -> NDArray[Any]:
    with naming("y"):
        y = column_or_1d(y, warn=True)
        if np.iscomplexobj(y):
            raise ValueError("Complex data not supported")
        assert_all_finite(y, input_name="y")
        if len(y) != n:
            raise ValueError(f"y has {len(y)} values but X has {n} rows")
        pair = two_numbers(y)
        if pair is None or (pair % 1 != 0).any():
            check_classification_targets(y)
    return np.asarray(y)
