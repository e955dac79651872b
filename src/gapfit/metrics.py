"""Measures of a binary prediction, all to be maximised, and the thresholds at which they are best.

With weights v_i, which count copies, and a sample labelled positive where its score exceeds a threshold, the
contingency table is

    tp = sum of v_i over positives labelled positive      fn = sum of v_i over the other positives
    fp = sum of v_i over negatives labelled positive      tn = sum of v_i over the other negatives

| name                | value                                                            | at k |
|---------------------|------------------------------------------------------------------|------|
| "f1"                | 2 tp / (2 tp + fp + fn)                                          |      |
| "jaccard"           | tp / (tp + fp + fn)                                              |      |
| "matthews"          | (tp tn - fp fn) / sqrt((tp+fn) (fp+tn) (tp+fp) (fn+tn))          |      |
| "accuracy"          | (tp + tn) / (tp + fp + fn + tn)                                  |      |
| "balanced_accuracy" | (tp / (tp + fn) + tn / (fp + tn)) / 2                            |      |
| "break_even"        | tp / P, at tp + fp = P = tp + fn                                 | yes  |
| "roc_area"          | share of the pairs of a positive and a negative that are in order |     |
| "f1_macro"          | mean over the classes of F1 of each against the others            |     |
| "f1_weighted"       | the same, weighted by the classes                                 |     |
| "f1_micro"          | F1 of all decisions together: where every sample has one label, the accuracy | |

The last three, "accuracy" and "balanced_accuracy" (the mean over the classes of the share of each that is
labelled right) are measures of several classes as well.

0/0 counts as 0. Measures with parameters are named by their loss: `losses.FBeta(2)`,
`losses.PrecisionAtK(50)` (tp / k), `losses.RecallAtK(k)`, `losses.Lift(k)`, `losses.PrecisionAtRecall(floor)`
(tp / (tp + fp) where tp >= floor P, else 0), `losses.RecallAtPrecision(floor)`,
`losses.PartialRocArea(max_fpr)` (the area over false positive rates up to max_fpr, divided by max_fpr),
`losses.Contingency(f)` (-f). A function f(tp, fp, fn, tn) of four arrays is a measure of your own.

Measures "at k" label the k highest scores, in units of weight; those at the edge of equal score in part.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gapfit import losses, measures
from gapfit._types import Maybe, Vector
from gapfit.losses.base import Loss
from gapfit.measures import accuracy, balanced_accuracy, f_beta, jaccard, lift, matthews, precision, recall
from gapfit.names import meant

__all__ = ["NAMES", "Metric", "Sweep", "area", "as_metric", "best_threshold", "sweep"]
__all__ += ["accuracy", "balanced_accuracy", "f_beta", "jaccard", "lift", "matthews", "precision", "recall"]

Mask = NDArray[np.bool_]
Several = Callable[[Vector, Vector, Vector], Vector]  # see `measures`


@dataclass(frozen=True)
class Metric:
    """A measure to be maximised, and the loss whose convex risk bounds it."""

    loss: Loss
    table: measures.Table | None  # its value; None for areas
    k: float | None = None  # the weight of the samples to be labelled positive, if given
    as_many_as_positives: bool = False  # or is it the weight of the positives?
    max_fpr: float | None = None  # for areas
    smooth: bool = False  # in the counts, taken as real numbers?
    several: Several | None = None  # its value for several classes

    @property
    def thresholded(self) -> bool:
        """Whether the threshold is for us to choose."""
        return self.table is not None and self.k is None and not self.as_many_as_positives

    @property
    def smoothed(self) -> "Metric | None":
        """A measure with derivatives that stands in for this one: itself, F1 for the break-even, or none."""
        if self.as_many_as_positives:
            return as_metric("f1")  # where as many are predicted as there are, F1 is the precision
        return self if self.smooth else None

    @property
    def of_rates(self) -> bool:
        """Whether it is made of rates within each class: the share of positives does not matter."""
        return self.table is None or isinstance(self.loss, losses.BalancedAccuracy)

    def chosen(self, positive: Mask, weight: Vector, share: float = 1.0) -> float:
        """For measures at k: how much is to be labelled positive in a share of the samples."""
        return float(weight[positive].sum()) if self.k is None else min(self.k * share, float(weight.sum()))

    def value(
        self, scores: Vector, positive: Mask, weight: Vector, threshold: float = 0.0, share: float = 1.0
    ) -> float:
        """The measure on these samples. `share`: of all samples, which k is meant for."""
        if self.table is None:
            return area(scores, positive, weight, self.max_fpr or 1.0)
        if self.thresholded:
            found = weight * (scores > threshold)
        else:
            found = weight * _highest(scores, weight, self.chosen(positive, weight, share))
        tp, fp = float(found[positive].sum()), float(found[~positive].sum())
        P, N = float(weight[positive].sum()), float(weight[~positive].sum())
        return float(self.at(np.array([tp]), np.array([fp]), P, N)[0])

    def at(self, tp: Vector, fp: Vector, P: float, N: float) -> Vector:
        """The measure at some tables; -inf where a function of the user's has no value."""
        assert self.table is not None
        fn, tn = P - tp, N - fp
        fn, tn = np.where(fn > measures.ROUNDING * P, fn, 0.0), np.where(tn > measures.ROUNDING * N, tn, 0.0)
        value = np.asarray(self.table(tp, fp, fn, tn), dtype=np.float64)
        if value.shape != np.shape(tp):
            raise ValueError(
                f"metric must give a value for each table: shape {value.shape} of {np.shape(tp)}"
            )
        return np.where(np.isnan(value), -np.inf, value)


NAMES: dict[str, Callable[[], Loss]] = {
    "f1": losses.FBeta,
    "jaccard": losses.Jaccard,
    "matthews": losses.Matthews,
    "accuracy": losses.ErrorRate,
    "balanced_accuracy": losses.BalancedAccuracy,
    "break_even": losses.BreakEven,
    "roc_area": losses.RocArea,
}
# of classes that are all alike: of two, and of several
BY_CLASS: dict[str, tuple[measures.Table, Several]] = {
    "f1_macro": (measures.f1_macro, measures.mean_f1),
    "f1_weighted": (measures.f1_weighted, measures.mean_weighted_f1),
    "f1_micro": (accuracy, measures.share_right),
}
# what has a parameter is named by its loss, and by name=value on the command line
WITH_PARAMETER: dict[str, type[Loss]] = {
    "f_beta": losses.FBeta,
    "precision_at_k": losses.PrecisionAtK,
    "recall_at_k": losses.RecallAtK,
    "lift": losses.Lift,
    "precision_at_recall": losses.PrecisionAtRecall,
    "recall_at_precision": losses.RecallAtPrecision,
    "partial_roc_area": losses.PartialRocArea,
}
_MADE: dict[type[Loss], Callable[[Any], Metric]] = {
    losses.FBeta: lambda loss: Metric(loss, partial(f_beta, beta=float(loss.beta)), smooth=True),
    losses.Jaccard: lambda loss: Metric(loss, jaccard, smooth=True),
    losses.Matthews: lambda loss: Metric(loss, matthews, smooth=True),
    losses.ErrorRate: lambda loss: Metric(loss, accuracy, smooth=True, several=measures.share_right),
    losses.BalancedAccuracy: lambda loss: Metric(
        loss, balanced_accuracy, smooth=True, several=measures.mean_recall
    ),
    losses.PrecisionAtK: lambda loss: Metric(loss, precision, k=float(loss.k)),
    losses.RecallAtK: lambda loss: Metric(loss, recall, k=float(loss.k)),
    losses.Lift: lambda loss: Metric(loss, lift, k=float(loss.k)),
    losses.BreakEven: lambda loss: Metric(loss, recall, as_many_as_positives=True),
    losses.PrecisionAtRecall: lambda loss: Metric(
        loss, partial(measures.precision_at_recall, floor=float(loss.floor))
    ),
    losses.RecallAtPrecision: lambda loss: Metric(
        loss, partial(measures.recall_at_precision, floor=float(loss.floor))
    ),
    losses.Contingency: lambda loss: Metric(loss, partial(measures.negative, f=loss.f)),
    losses.RocArea: lambda loss: Metric(loss, None, max_fpr=1.0),
    losses.PartialRocArea: lambda loss: Metric(loss, None, max_fpr=float(loss.max_fpr)),
}


def as_metric(metric: str | Loss | measures.Table) -> Metric:
    """A measure from its name, its loss, or a function of (tp, fp, fn, tn) to be maximised."""
    if isinstance(metric, str):
        known = WITH_PARAMETER.get("f_beta" if metric == "fbeta" else metric)
        if known is not None:
            written = f"losses.{known.__name__}({next(iter(signature(known).parameters))})"
            raise ValueError(f"metric {metric!r} has a parameter: write {written}")
        if metric in BY_CLASS:
            table, several = BY_CLASS[metric]
            return Metric(losses.Contingency(partial(measures.regret, f=table)), table, several=several)
        if metric not in NAMES:
            names = [*NAMES, *BY_CLASS]
            raise ValueError(
                f"metric must be one of {', '.join(names)}, a loss or a function, got {metric!r}"
                f"{meant(metric, names)}"
            )
        metric = NAMES[metric]()
    made = next((make(metric) for kind, make in _MADE.items() if isinstance(metric, kind)), None)
    if made is not None:
        return made
    if isinstance(metric, Loss | type) or not callable(metric):
        raise ValueError(
            f"metric must be one of {', '.join(NAMES)}, a loss of a contingency table or an area, or a "
            f"function of (tp, fp, fn, tn), got {metric!r}"
        )
    return Metric(losses.Contingency(partial(measures.regret, f=metric)), metric)


class Sweep(NamedTuple):
    """All tables that a threshold can make: one more than there are different scores, from all to none."""

    thresholds: Vector  # ascending; a sample is labelled positive where its score exceeds the threshold
    tp: Vector
    fp: Vector


def sweep(scores: Vector, positive: Mask, weight: Vector) -> Sweep:
    """Every threshold that makes a difference: below all scores, between two neighbours, at the largest."""
    return _swept(scores, weight * positive, weight * ~positive)


def _swept(scores: Vector, positive: Vector, negative: Vector) -> Sweep:
    levels, level = np.unique(scores, return_inverse=True)
    tp, fp = (
        np.r_[np.cumsum(np.bincount(level, mass, len(levels))[::-1])[::-1], 0.0]
        for mass in (positive, negative)
    )
    return Sweep(between(levels), tp, fp)


def best_cut(metric: Metric, scores: Vector, positive: Vector, negative: Vector) -> tuple[float, float]:
    """The best threshold and the measure there, if each sample is positive and negative in parts."""
    cuts = _swept(scores, positive, negative)
    value = metric.at(cuts.tp, cuts.fp, cuts.tp[0], cuts.fp[0])
    k = middle_of_best(value)
    return float(cuts.thresholds[k]), float(value[k])


def between(levels: Vector) -> Vector:
    """Thresholds around sorted levels: one below all, one between each two, the largest level itself."""
    middle = 0.5 * levels[:-1] + 0.5 * levels[1:]
    middle = np.where(middle < levels[1:], middle, levels[:-1])  # neighbouring numbers have nothing between
    below = levels[0] - max(1.0, abs(float(levels[0])))
    return np.asarray(np.r_[below, middle, levels[-1]])


def best_threshold(
    metric: str | Loss | measures.Table | Metric, scores: ArrayLike, positive: ArrayLike, weight: Maybe = None
) -> tuple[float, float]:
    """The threshold at which the measure is best on these samples, exactly, and its value there.

    For measures at k, the one above which (nearly) k lie; for areas, which have none, that of the best
    balanced accuracy.

    Parameters
    ----------
    metric : name, loss, function of (tp, fp, fn, tn), or Metric
    scores : array of shape (n,)
    positive : array of bool of shape (n,)
    weight : array of shape (n,), default=None

    Returns
    -------
    threshold, value : float
        Samples with scores above the threshold are labelled positive.

    Examples
    --------
    >>> best_threshold("f1", [0.25, 0.75, 0.5, 1.0], [False, False, True, True])
    (0.375, 0.8)
    """
    metric = metric if isinstance(metric, Metric) else as_metric(metric)
    scores, positive = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    weight = np.ones(len(scores)) if weight is None else np.asarray(weight, dtype=np.float64)
    if metric.thresholded:
        return best_cut(metric, scores, weight * positive, weight * ~positive)
    cuts = sweep(scores, positive, weight)
    if metric.table is None:
        k = middle_of_best(balanced_accuracy(cuts.tp, cuts.fp, cuts.tp[0] - cuts.tp, cuts.fp[0] - cuts.fp))
    else:
        k = int(np.abs(cuts.tp + cuts.fp - metric.chosen(positive, weight)).argmin())
    return float(cuts.thresholds[k]), metric.value(scores, positive, weight)


def middle_of_best(value: Vector) -> int:
    """Where the value is largest; in the middle, if that is a plateau."""
    best = int(value.argmax())
    after = np.flatnonzero(value[best:] < value[best])
    return best + ((int(after[0]) if len(after) else len(value) - best) - 1) // 2


def area(scores: Vector, positive: Mask, weight: Vector, max_fpr: float = 1.0) -> float:
    """The area under the ROC curve up to a false positive rate of max_fpr, divided by max_fpr.

    Equal scores share their places: the curve goes straight through them.
    """
    cuts = sweep(scores, positive, weight)
    fpr, tpr = cuts.fp[::-1] / cuts.fp[0], cuts.tp[::-1] / cuts.tp[0]
    last = int(np.searchsorted(fpr, max_fpr, side="right"))
    end = float(np.interp(max_fpr, fpr[last - 1 :], tpr[last - 1 :]))
    return float(np.trapezoid(np.r_[tpr[:last], end], np.r_[fpr[:last], max_fpr])) / max_fpr


def _highest(scores: Vector, weight: Vector, amount: float) -> Vector:
    """Shares, from 0 to 1, that add up to this weight of the highest scores; equal scores share alike."""
    levels, level = np.unique(scores, return_inverse=True)
    mass = np.bincount(level, weight, len(levels))
    above = np.cumsum(mass[::-1])[::-1] - mass
    return np.asarray(np.clip((amount - above) / np.maximum(mass, 1e-300), 0.0, 1.0)[level])
