"""The threshold for a measure, from scores of samples left out: half counted, half computed.

Counted: where the measure of all of them together is best. That is right in the end, and jagged where
positives are few. Computed: the scores are calibrated by a sigmoid, and the expected table of every threshold
follows from the probabilities; the best of these moves little from sample to sample, but is off where the
sigmoid is. The mean of both did better than each of them on sets that were chosen for that.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import expit

from gapfit._types import Vector
from gapfit.calibration import calibrated
from gapfit.estimators.pool.folds import Seen
from gapfit.metrics import Mask, Metric, best_cut, best_threshold


def threshold_of(metric: Metric, seen: Sequence[Seen]) -> tuple[float, float]:
    """The threshold, and the measure of the samples left out there."""
    scores, positive, weight = together(seen)
    counted, value = best_threshold(metric, scores, positive, weight)
    if not metric.thresholded:
        return counted, value
    computed = expected_threshold(metric, scores, positive, weight)
    threshold = counted if computed is None else 0.5 * (counted + computed)
    return threshold, metric.value(scores, positive, weight, threshold)


def expected_threshold(metric: Metric, scores: Vector, positive: Mask, weight: Vector) -> float | None:
    """Where the measure of the expected table is best; None if scores do not rise with the positives."""
    slope, intercept = line_of(scores, positive, weight)
    if not slope > 0:
        return None
    p = expit(slope * scores + intercept)
    return best_cut(metric, scores, weight * p, weight * (1.0 - p))[0]


def line_of(scores: Vector, positive: Mask, weight: Vector) -> tuple[float, float]:
    """Slope and intercept of the calibrated logarithm of odds; it never falls."""
    curve = calibrated("sigmoid", scores, positive, weight)
    slope, intercept = float(curve.x[0]), float(curve.y[0])
    if slope > 0:
        return slope, intercept
    share = float(weight[positive].sum() / weight.sum())
    return 0.0, float(np.log(share) - np.log1p(-share))


def together(seen: Sequence[Seen]) -> tuple[Vector, Mask, Vector]:
    """Scores, classes and weights of all samples that were left out of some fit."""
    return (
        np.concatenate([part.scores for part in seen]),
        np.concatenate([part.positive for part in seen]),
        np.concatenate([part.weight for part in seen]),
    )
