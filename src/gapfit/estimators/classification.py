"""Linear classifiers: support vector machines, logistic regression and their kin."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from gapfit._types import Maybe, Slope, Target, Vector
from gapfit.declaration import attribute, declared, parameter
from gapfit.elsewhere import fetched
from gapfit.estimators.blocks import by_blocks
from gapfit.estimators.classes import WeightedClasses
from gapfit.estimators.fitting import all_or_nothing, warn_caller
from gapfit.estimators.judged import Judged
from gapfit.estimators.linear import WithIntercept
from gapfit.estimators.linear_parts import LinearParts, Posed
from gapfit.estimators.outputs import joint_bounds, rows_of_outputs
from gapfit.estimators.predictions import rows_to_watch
from gapfit.estimators.probabilities import Probabilities
from gapfit.estimators.streams import StreamOfClasses
from gapfit.estimators.targets import (
    Patterns,
    as_codes,
    as_indicators,
    as_labels,
    check_classes,
    check_loss,
    declares,
    target_of,
)
from gapfit.estimators.what_if import WhatIf
from gapfit.losses import CrammerSinger, Hinge, Logistic, Softmax
from gapfit.losses.base import Loss
from gapfit.losses.multilabel import least_error_threshold, threshold_range
from gapfit.persistence.objects import LOSS
from gapfit.persistence.values import FLAG, floats
from gapfit.reductions import Labels

JOINT = Target.CLASSES | Target.INDICATORS  # several scores a sample
TAKES = Target.LABELS | JOINT
_MANY_CLASSES, _MANY_SHARE = 20, 0.2  # and this share of the samples: hardly classes
TOGETHER: dict[type[Loss], type[Loss]] = {Hinge: CrammerSinger, Logistic: Softmax}  # multi_class="joint"


@declared
class LinearClassifier(
    Judged, ClassifierMixin, Probabilities, WithIntercept, WeightedClasses, StreamOfClasses, WhatIf
):
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

    loss: Any = parameter(
        """phi: "hinge", "squared_hinge", "smoothed_hinge", "logistic", "exponential", or an object of
        `gapfit.losses`, such as `SmoothedHinge(gamma=0.5)`, or a loss of your own. Over classes:
        "crammer_singer", "softmax", or `CrammerSinger(costs)` with a table of what each error costs, its rows
        and columns in the order of `classes_`. Over labels: "hamming", "label_ranking", "macro_f",
        "micro_f".""",
        "str or Loss", default="hinge", form=LOSS,
    )  # fmt: skip
    multi_class: str = parameter(
        """With "joint" the loss "hinge" stands for "crammer_singer", and "logistic" for "softmax", which are
        also used for two classes; other losses of two classes have no joint form.""",
        default="one_vs_rest", choices=("one_vs_rest", "joint"),
    )  # fmt: skip
    fit_intercept: bool = parameter("Whether to have the intercept b.", default=True)
    stop_when: str = parameter(
        """"gap": the fit ends at `tol`. "predictions": earlier, as soon as the labels of the rows `watch`
        that `fit` is given (else of the training rows) are proved to be those of the exact optimum; for
        two classes.""",
        default="gap", choices=("gap", "predictions"),
    )  # fmt: skip

    _or_else = ", or loss='logistic' or 'softmax'"

    coef_: NDArray[Any] = attribute(
        floats(2), "array of shape (1, d), or (k, d) for k > 2 classes or for k labels",
        """w, in the precision of X. A joint fit of two classes has the second column of W less the
        first.""",
    )  # fmt: skip
    intercept_: NDArray[Any] = attribute(floats(1), "array of shape (1,) or (k,)", "b.")
    multilabel_: bool = attribute(
        FLAG,
        "",
        "Whether y was an indicator matrix; then `classes_` are 0 to L - 1.",
        default=False,
        optional=True,
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # signs or an origin that are prescribed: no longer any half-space, no good score to be expected
        tags.classifier_tags.poor_score = bool(self.positive or not self.fit_intercept)
        plain = self.class_weight is None and self.calibrate is None
        tags.classifier_tags.multi_label = plain and self.multi_class != "joint"
        return tags

    @all_or_nothing
    def fit(
        self, X: Any, y: Any = None, sample_weight: Maybe = None, offset: Maybe = None, watch: Any = None
    ) -> "LinearClassifier":
        """y : labels of shape (n,), of any kind; or an indicator matrix (n, L) of zeros and ones
        offset : array of shape (n,), default=None
            Known numbers added to the scores of all problems while fitting (and not when predicting). Not for
            joint fits.
        watch : array or sparse matrix of shape (m, d), default=None
            Rows whose labels are to be certain, for stop_when="predictions".
        """
        self._end_stream()
        several = None if y is None else as_indicators(y)
        if several is not None:
            self._fit_labels(X, several, sample_weight, offset)
            return self
        posed = self._posed(X, y, sample_weight, offset)
        if watch is not None or self.stop_when != "gap":
            two = len(self.classes_) == 2 and not target_of(posed.loss).meets(JOINT)
            posed = posed._replace(watched=rows_to_watch(self, X, watch, two=two))
        self._solve(posed)
        self._calibrate({"X": X, "y": y, "sample_weight": sample_weight, "offset": offset})
        return self

    def _posed(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Posed:
        loss = self._loss(offset)
        target = target_of(loss)
        if target.meets(Target.INDICATORS):
            raise ValueError(f"y must be an indicator matrix of shape (n, L), L > 1, for {loss!r}")
        samples = self._samples(X, y, as_labels, sample_weight, offset)
        samples, labels = samples.weighed(self.class_weight)
        self.classes_, self.class_weight_, self.multilabel_ = *labels, False
        _check_plausible(len(labels.classes), samples.given)
        targets = labels.apply(samples.y)
        if target.meets(Target.CLASSES):
            check_classes(loss, len(labels.classes))
            targets = [np.searchsorted(labels.classes, samples.y).astype(np.float64)]
        return Posed(samples, targets, loss, self.fit_intercept)

    def _loss(self, offset: Any = None) -> Loss:
        loss = check_loss(self.loss, TAKES)
        if self.multi_class != "one_vs_rest" and not target_of(loss).meets(JOINT):
            if type(loss) not in TOGETHER:
                raise ValueError(
                    f"multi_class='joint' is for hinge, logistic and losses over classes, not {loss!r}"
                )
            loss = TOGETHER[type(loss)]()
        if offset is not None and target_of(loss).meets(JOINT):
            raise ValueError(f"offset has one number a sample, and {loss!r} has several scores: leave it out")
        return loss

    def _fit_labels(self, X: Any, labels: Patterns, sample_weight: Any, offset: Any) -> None:
        """Fit an indicator matrix: one problem for each label, or one for all if the loss is over labels."""
        loss = self._loss(offset)
        if Target.CLASSES in target_of(loss):
            raise ValueError(f"y is an indicator matrix, and {loss!r} is for classes, of which one is true")
        for name in ("class_weight", "calibrate"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name} must be None where y is an indicator matrix")
        samples = self._samples(X, labels, as_codes, sample_weight, offset)
        Y = labels.patterns[samples.y]
        self.classes_, self.class_weight_, self.multilabel_ = np.arange(Y.shape[1]), np.ones(Y.shape[1]), True
        targets = [Y] if Target.INDICATORS in target_of(loss) else list(2.0 * Y.T - 1.0)
        self._solve(Posed(samples, targets, loss, self.fit_intercept))
        if loss.relative:  # it is blind to a common shift: the one with the fewest errors
            scores, (ball,) = self._scores(samples.X), self._balls
            self.intercept_ = self.intercept_ - least_error_threshold(scores, Y, samples.weight)
            if ball is not None:  # the optimum's own threshold follows from its scores
                bounds = joint_bounds(ball, samples.X, Y.shape[1])
                lowest, highest = threshold_range(*bounds, Y, samples.weight)
                self._balls = [ball._replace(lo=ball.lo - highest, hi=ball.hi - lowest)]

    def _point(self, parts: LinearParts, w: Sequence[Slope], b: Sequence[Any]) -> dict[str, Any]:
        outputs = self._outputs(w[0])
        coef = np.stack(w) if len(w) > 1 else w[0][np.newaxis]
        intercept = np.array(b, dtype=np.float64)
        if outputs > 1:
            blind = parts.loss.relative and not self.multilabel_  # to a common shift: none is added
            coef, intercept = rows_of_outputs(w[0], b[0], outputs, centred=blind)
            if outputs == 2 and not self.multilabel_:
                coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        return {"coef_": coef, "intercept_": intercept}

    def _outputs(self, w: Slope) -> int:
        """How many scores a sample has that one problem determines together."""
        return len(w) // self.n_features_in_

    @by_blocks
    def decision_function(self, X: Any) -> Vector:
        """Scores of shape (n,), positive for the second class; with k > 2 classes (n, k), one for each."""
        return self._scores(X)

    @by_blocks
    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X; an indicator matrix if y was one."""
        scores = self.decision_function(X)
        if self.multilabel_:
            return (scores > 0).astype(np.int64)
        return Labels(self.classes_).invert(scores)

    @property
    def _own_probabilities(self) -> bool:
        return bool(declares(self.loss, "likelihood"))

    def _own_proba(self, X: Any) -> Vector:
        """If y was an indicator matrix, those of having each label."""
        scores = self.decision_function(X)
        if self.multilabel_:
            return np.asarray(expit(scores))
        if scores.ndim == 1:
            return np.stack([expit(-scores), expit(scores)], axis=1)
        return np.asarray(softmax(self._log_odds(scores), axis=1))

    def _own_log_proba(self, X: Any) -> Vector:
        scores = self.decision_function(X)
        if self.multilabel_:
            return np.asarray(log_expit(scores))
        if scores.ndim == 1:
            return np.stack([log_expit(-scores), log_expit(scores)], axis=1)
        return np.asarray(log_softmax(self._log_odds(scores), axis=1))

    def _log_odds(self, scores: Vector) -> Vector:
        """The scores of a joint fit; else logarithms of expit, of which the softmax is expit over its sum."""
        return scores if self._is_joint() else np.asarray(log_expit(scores))

    def _is_joint(self) -> bool:
        """Are several classes told apart by one problem?"""
        return self.multi_class == "joint" or Target.CLASSES in target_of(self.loss)

    def score_bounds(self, X: Any) -> tuple[Vector, Vector]:
        """Bounds lo, hi on the decision function of the exact optimum, true of every optimal model.

        Those of joint fits with intercepts are infinite: the gap says too little about several of them.
        """
        check_is_fitted(self)
        ball = self._balls[0]
        if ball is None or (outputs := self._outputs(ball.centre)) == 1:
            return super().score_bounds(X)
        lo, hi = joint_bounds(ball, self._checked(X), outputs)
        two = outputs == 2 and not self.multilabel_
        return (lo[:, 1] - hi[:, 0], hi[:, 1] - lo[:, 0]) if two else (lo, hi)

    def certified(self, X: Any) -> NDArray[np.bool_]:
        """Which predictions are provably those of the exact optimum (of every one, if there are several).

        If y was an indicator matrix, which of its entries.
        """
        lo, hi = self.score_bounds(X)
        scores = fetched(self.decision_function(X))
        if scores.ndim == 1 or self.multilabel_:
            return np.where(scores > 0, lo > 0, hi < 0)
        rows, winner = np.arange(len(scores)), scores.argmax(axis=1)
        hi[rows, winner] = -np.inf
        return np.asarray(lo[rows, winner] > hi.max(axis=1))


def _check_plausible(k: int, n: int) -> None:
    """Warn where y looks like numbers to be predicted."""
    if k > _MANY_CLASSES and k > _MANY_SHARE * n:
        warn_caller(
            f"y holds {k} classes in {n} samples, each to be told from all others: for numbers to be "
            "predicted take LinearRegressor, for levels OrdinalClassifier",
            UserWarning,
        )
