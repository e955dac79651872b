"""One of precision and recall, as long as the other does not fall below a floor."""

from functools import partial
from typing import Any

import numpy as np

from gapfit._types import Vector
from gapfit.errors import as_share
from gapfit.losses.base import Risk
from gapfit.losses.contingency import ContingencyLoss
from gapfit.losses.table import TableRisk

_ROUNDING = 1e-12  # a share within this of the floor has reached it


class _Floor(ContingencyLoss):
    def __init__(self, floor: float, score_weight: float = 1.0) -> None:
        self.floor = as_share("floor", floor)
        super().__init__(score_weight)


class PrecisionAtRecall(_Floor):
    """1 - tp / (tp + fp) where the recall tp / P is at least `floor`, else 1. O(P log N) after sorting.

    Weights must be whole numbers: they count copies.
    """

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        return TableRisk(self, partial(_precision_at_recall, floor=self.floor), "fp", y, weight)


def _precision_at_recall(tp: Vector, fp: Vector, fn: Vector, tn: Vector, floor: float) -> Vector:
    found = tp >= floor * (tp + fn) - _ROUNDING * (tp + fn)
    return np.asarray(1.0 - np.where(found, tp, 0.0) / np.maximum(tp + fp, 1.0))


class RecallAtPrecision(_Floor):
    """1 - tp / P where the precision tp / (tp + fp) is at least `floor`, else 1. O(P) after sorting.

    Weights must be whole numbers: they count copies.
    """

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        return RecallRisk(self, y, weight)


def _recall_at_precision(tp: Vector, fp: Vector, fn: Vector, tn: Vector, floor: float) -> Vector:
    precise = tp >= floor * (tp + fp) - _ROUNDING * (tp + fp)
    return np.asarray(1.0 - np.where(precise, tp, 0.0) / (tp + fn))


class RecallRisk(TableRisk):
    """The risk of `RecallAtPrecision`: each tp allows so many fp, and up to there all cost the same."""

    def __init__(self, loss: RecallAtPrecision, y: Any, weight: Vector) -> None:
        self.floor = loss.floor
        super().__init__(loss, partial(_recall_at_precision, floor=loss.floor), None, y, weight)
        self.search = self.on_both_sides

    def on_both_sides(self, positive: Vector, negative: Vector) -> tuple[float, float]:
        """The best fp is that with the highest sum of scores, or the nearest to it on either side."""
        gain_p, gain_n = (np.concatenate([[0.0], np.cumsum(gains)]) for gains in (positive, negative))
        tp = np.arange(len(gain_p), dtype=np.float64)
        allowed = np.minimum(np.floor(tp * (1.0 / self.floor - 1.0) + _ROUNDING * (1.0 + tp)), self.N)
        dear = np.count_nonzero(negative > 0)  # negatives that add to the sum
        inside = np.minimum(dear, allowed)
        beyond = np.minimum(np.maximum(dear, allowed + 1.0), self.N)  # where there is no table beyond: inside
        tp, fp = np.concatenate([tp, tp]), np.concatenate([inside, beyond])
        value = self.delta(tp, fp) + np.concatenate([gain_p, gain_p]) + gain_n[fp.astype(np.intp)]
        best = int(value.argmax())
        return float(tp[best]), float(fp[best])
