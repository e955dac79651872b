"""Where a score is cut into levels: at the thresholds of the fit, or at those of a slope for each.

All logistic thresholds share one slope: P(level > k) = 1 / (1 + exp(b_k - f)). Where the spread of scores
differs from level to level, that is not so, and b_k is not where both sides are equally likely. So each
threshold is given a slope of its own, P(level > k) = 1 / (1 + exp(-(s_k f + t_k))), and the score is cut at
-t_k / s_k. Two numbers a threshold are little to fit, so the samples that were fitted may say whether that
helps: those cuts are taken if the absolute error there falls by more than a margin.
"""

import numpy as np
from scipy.special import expit

from gapfit._types import Indices, Vector

_STEPS = 3  # of Newton's method, which begins at the common slope: nearly there
_MARGIN = 5e-3  # of the error: what chance makes of thresholds that are right already


def cuts_of(scores: Vector, level: Indices, weight: Vector, thresholds: Vector) -> Vector:
    """Ascending cuts between levels 0, 1, ...: the thresholds, or those by slopes of their own."""
    if len(thresholds) < 2:
        return thresholds
    own = _by_slopes_of_their_own(scores, level, weight / weight.sum(), thresholds)
    before, after = (_error(scores, level, weight, cuts) for cuts in (thresholds, own))
    return own if after < (1.0 - _MARGIN) * before else thresholds


def _error(scores: Vector, level: Indices, weight: Vector, cuts: Vector) -> float:
    return float(weight @ np.abs((scores[:, None] > cuts).sum(axis=1) - level))


def _by_slopes_of_their_own(scores: Vector, level: Indices, p: Vector, thresholds: Vector) -> Vector:
    """A logistic regression of each event on the score alone; the threshold itself where that fails."""
    middle = float(p @ scores)
    spread = float(np.sqrt(p @ (scores - middle) ** 2)) or 1.0
    z = (scores - middle) / spread
    above = level[:, None] > np.arange(len(thresholds))
    slope, constant = np.full(len(thresholds), spread), middle - thresholds
    with np.errstate(all="ignore"):  # events that scores separate have no such slope
        for _ in range(_STEPS):
            probability = expit(z[:, None] * slope + constant)
            rest, curved = p[:, None] * (probability - above), p[:, None] * probability * (1.0 - probability)
            r0, r1 = rest.sum(axis=0), z @ rest
            c0, c1, c2 = curved.sum(axis=0), z @ curved, z**2 @ curved
            determinant = c0 * c2 - c1**2
            slope = slope - (c0 * r1 - c1 * r0) / determinant
            constant = constant - (c2 * r0 - c1 * r1) / determinant
        own = middle - spread * constant / slope
    return np.maximum.accumulate(np.where((slope > 0) & np.isfinite(own), own, thresholds))
