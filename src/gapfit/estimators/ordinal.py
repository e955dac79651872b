"""Linear models for ordered levels: grades, stages, stars."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from gapfit._types import Maybe, Slope, Target, Vector
from gapfit.declaration import attribute, declared, parameter
from gapfit.elsewhere import fetched
from gapfit.estimators.along import WithPath
from gapfit.estimators.blocks import by_blocks
from gapfit.estimators.classes import WeightedClasses
from gapfit.estimators.fitting import all_or_nothing
from gapfit.estimators.judged import Judged
from gapfit.estimators.level_cuts import cuts_of
from gapfit.estimators.linear_parts import LinearParts, Posed
from gapfit.estimators.probabilities import Probabilities
from gapfit.estimators.products import products
from gapfit.estimators.targets import Levels, as_labels, check_loss, target_of
from gapfit.losses import OrdinalPairs, OrdinalThresholds
from gapfit.losses.base import Loss
from gapfit.losses.ordinal import least_error_thresholds
from gapfit.persistence.objects import named_loss
from gapfit.persistence.values import LEVELS, floats

# what the names of losses stand for here
NAMES: dict[str, Loss] = {
    "thresholds": OrdinalThresholds("all", "hinge"),
    "immediate_thresholds": OrdinalThresholds("immediate", "hinge"),
    "logistic_thresholds": OrdinalThresholds("all", "logistic"),
    "pairs": OrdinalPairs(),
}
_ALL, _IMMEDIATE = OrdinalThresholds("all", "logistic"), OrdinalThresholds("immediate", "logistic")


def _named(loss: Any) -> Any:
    return NAMES.get(loss, loss) if isinstance(loss, str) else loss


def _of_all_logistic(classifier: "OrdinalClassifier") -> bool:
    if _named(classifier.loss) == _ALL:
        return True
    raise AttributeError(f"these probabilities need loss={_ALL!r}, not {classifier.loss!r}")


@declared
class OrdinalClassifier(Judged, ClassifierMixin, Probabilities, WeightedClasses, WithPath):
    """A linear model of ordered levels whose fit carries a proof of how close to optimal it is.

    A sample's score x'w is compared with thresholds b_1 <= ... <= b_(m-1), one between each of the m levels
    and the next: the level is that of the interval in which the score lies. It minimises ::

        J(w, b) = alpha * Omega(w) + sum_i s_i sum over k in K_i of phi(t_ik (x_i'w - b_k)) / sum_i s_i

    over w and ordered b, which are *not* penalised. t_ik is +1 if the level of sample i is above threshold k,
    and -1 if it is below; s_i are the weights, `sample_weight` times `class_weight`. K_i are all thresholds,
    or the one or two next to the level of sample i. A sample of weight k counts as k samples, one of weight 0
    is absent.

    `predict` cuts scores at `cuts_`. These are the thresholds, with one exception: all logistic thresholds
    have one slope in common, and where levels differ in their spread a slope for each threshold would put the
    cut elsewhere. If that lowers the absolute error of the training samples, by a margin, it is cut there.

    Notes
    -----
    The levels are in the order of an ordered pandas Categorical, if y is one. Other labels are sorted as
    numbers or words are: "high" < "low" < "middle" is hardly the order you mean. Only their order counts,
    not their distances.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> model = OrdinalClassifier(alpha=0.01, tol=1e-8).fit(X, [1, 1, 2, 2, 3, 3])
    >>> model.predict([[-1.0], [2.4], [9.0]])
    array([1, 2, 3])
    >>> model.converged_
    True
    """

    loss: Any = parameter(
        """"logistic_thresholds": all thresholds, with phi(z) = log(1 + exp(-z)), which gives
        `probability_above`. "thresholds": all and the hinge, so that the sum bounds the number of levels by
        which a prediction is off. "immediate_thresholds": the adjacent ones and the hinge; it bounds the
        share of wrong predictions. Or an object: `losses.OrdinalThresholds(kind, base)`; "immediate" with
        "logistic" gives `predict_proba`, as `calibrate` does for all. "pairs", or
        `losses.OrdinalPairs(cost)`: a ranking by pairs of different levels; the thresholds are chosen
        afterwards, so that the mean absolute error on the training data is least.""",
        "str or Loss", default="logistic_thresholds", form=named_loss(*NAMES),
    )  # fmt: skip

    _or_else = f", or loss={_IMMEDIATE!r}"

    positive: bool = parameter(
        "Allow only coefficients w >= 0: levels can only rise with each feature.", default=False
    )

    classes_: NDArray[Any] = attribute(LEVELS, "array of shape (m,)", "The levels, from the lowest on.")
    thresholds_: Vector = attribute(floats(1), "array of shape (m - 1,)", "b, in ascending order.")
    cuts_: Vector = attribute(
        floats(1), "array of shape (m - 1,)", "Where `predict` cuts scores, in ascending order.",
        optional=True,
    )  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn's checks have classes that lie in no order along any direction: it is not for those
        tags.classifier_tags.poor_score = True
        return tags

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike, sample_weight: Maybe = None) -> "OrdinalClassifier":
        """y : labels of shape (n,), whose sorted order is that of the levels
        Or an ordered Categorical of pandas, whose own order counts.
        """
        self._solve(self._posed(X, y, sample_weight))
        self._calibrate({"X": X, "y": y, "sample_weight": sample_weight})
        return self

    def _posed(self, X: Any, y: Any, sample_weight: Any = None) -> Posed:
        loss = check_loss(self.loss, Target.LEVELS, NAMES)
        levels = Levels.of(y)
        samples = self._samples(X, levels.y, as_labels, sample_weight)
        samples, labels = samples.weighed(levels.numbered(self.class_weight))
        self.classes_, self.class_weight_ = levels.named(labels.classes), labels.factors
        level = np.searchsorted(labels.classes, samples.y).astype(np.float64)
        return Posed(samples, [level], loss, True)

    def _point(self, parts: LinearParts, w: Sequence[Slope], b: Sequence[Any]) -> dict[str, Any]:
        thresholds = np.atleast_1d(b[0]).astype(np.float64)
        cuts, level, weight = thresholds, parts.targets[0].astype(np.intp), parts.samples.weight
        if parts.n_offsets != len(self.classes_) - 1:  # the loss has no thresholds of its own
            thresholds = cuts = least_error_thresholds(_scores_of(parts.samples.X, w[0]), level, weight)
        elif parts.loss == _ALL:
            cuts = cuts_of(_scores_of(parts.samples.X, w[0]), level, weight, thresholds)
        return {"coef_": w[0], "thresholds_": thresholds, "cuts_": cuts}

    @property
    def _cuts(self) -> Vector:
        """Those of the thresholds for models of older files."""
        return np.asarray(fetched(getattr(self, "cuts_", self.thresholds_)))

    @property
    def _thresholds(self) -> Vector:
        return np.asarray(fetched(self.thresholds_))

    @by_blocks
    def latent(self, X: Any) -> Vector:
        """The score x'coef_ of each row of X, to be compared with `cuts_`."""
        return _scores_of(self._checked(X), self._dense_coef()[0])

    @by_blocks
    def decision_function(self, X: Any) -> Vector:
        """How far inside the interval of each level the score is: (n, m), positive for the predicted level.

        Negative numbers say how far outside. With two levels (n,): the score minus the threshold.
        """
        above = self.latent(X)[:, None] - self._cuts
        if len(self.classes_) == 2:
            return above[:, 0]
        ends = np.full((len(above), 1), np.inf)
        return np.minimum(np.hstack([ends, above]), np.hstack([-above, ends]))

    @by_blocks
    def predict(self, X: Any) -> NDArray[Any]:
        """The level of each row of X."""
        above = self.latent(X)[:, None] > self._cuts
        return np.asarray(self.classes_[above.sum(axis=1)])

    @available_if(_of_all_logistic)  # type: ignore[untyped-decorator]
    @by_blocks
    def probability_above(self, X: Any) -> Vector:
        """The probability of a level above each threshold, of shape (n, m - 1), for all logistic thresholds:

        P(level > k) = 1 / (1 + exp(b_k - x'w)). The loss is the likelihood of these m - 1 events, each by
        itself. They fall with k, as thresholds are in order, so their differences are probabilities of the
        levels. `predict` gives the median of these, and not always the most probable, where `cuts_` are the
        thresholds.
        """
        return np.asarray(expit(self.latent(X)[:, None] - self._thresholds))

    @property
    def _own_probabilities(self) -> bool:
        return bool(_named(self.loss) == _IMMEDIATE)

    def _own_log_proba(self, X: Any) -> Vector:
        """P(level) is proportional to exp(sum over the thresholds below it of x'w - b_k): the model whose
        likelihood of being above a threshold, for samples of the two adjacent levels, is the loss. `predict`
        gives the most probable level."""
        above = np.pad(self._to_calibrate(X), ((0, 0), (1, 0)))
        return np.asarray(log_softmax(np.cumsum(above, axis=1), axis=1))

    def _own_proba(self, X: Any) -> Vector:
        above = np.pad(self._to_calibrate(X), ((0, 0), (1, 0)))
        return np.asarray(softmax(np.cumsum(above, axis=1), axis=1))

    @classmethod
    def _n_curves(cls, fit: dict[str, Any]) -> int:
        return len(fit["classes_"]) - 1

    def _to_calibrate(self, X: Any) -> Vector:
        """How far above each threshold the score is."""
        return np.asarray(self.latent(X)[:, None] - self._thresholds)

    def _events(self, places: NDArray[np.intp], count: int) -> list[NDArray[np.bool_]]:
        return [places > k for k in range(count)]

    def _from_scores(self, scores: Vector) -> Vector:
        """Each threshold is calibrated by itself; the probabilities of being above them are made to fall."""
        return _steps(np.minimum.accumulate(self._curves_at(scores), axis=1))

    def score_bounds(self, X: Any) -> tuple[Vector, Vector]:
        """Bounds lo, hi on x'w - b_k of the exact optimum, for each threshold k; true of every optimal model.

        With loss="pairs", which has no thresholds of its own, bounds on x'w.
        """
        return super().score_bounds(X)

    def certified(self, X: Any) -> NDArray[np.bool_]:
        """Which predictions are provably those of the exact optimum (of every one, if there are several),
        cut as far from its thresholds as `cuts_` are from these.

        With loss="pairs" none are: its thresholds are not part of what is minimised.
        """
        lo, hi = (bounds.reshape(len(bounds), -1) for bounds in self.score_bounds(X))
        if Target.RELEVANCE in target_of(_named(self.loss)) or lo.shape[1] != len(self.thresholds_):
            return np.zeros(len(lo), bool)
        above, moved = fetched(self.latent(X))[:, None] > self._cuts, self._cuts - self._thresholds
        return np.asarray(np.where(above, lo > moved, hi < moved).all(axis=1))


def _steps(above: Vector) -> Vector:
    """Probabilities of levels, from those of being above each threshold."""
    return -np.diff(np.pad(above, ((0, 0), (1, 1)), constant_values=((0, 0), (1, 0))), axis=1)


def _scores_of(X: Any, w: Slope) -> Vector:
    return products(X, w[None].astype(np.float64))[:, 0]
