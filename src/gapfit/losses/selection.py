"""Contingency losses that are linear in the table: each sample is chosen, or not, on its own merit.

Delta = base + miss * fn + alarm * fp. Labelling a unit of weight positive adds alarm + 2 f / n for a negative
and -miss + 2 score_weight f / n for a positive. Without a limit, all samples with a positive gain are chosen;
where tp + fp = k is asked for, those with the k highest gains, found in O(n). Sharing the last place among
equals changes nothing, so weights need not be whole numbers.
"""

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Vector
from gapfit.errors import as_positive
from gapfit.losses.base import FREE, NONE, Risk
from gapfit.losses.contingency import ContingencyLoss, ContingencyRisk
from gapfit.losses.weighted_quantile import weighted_quantile


class Prices(NamedTuple):
    """Delta = base + miss * fn + alarm * fp, over the labellings with tp + fp = chosen (None: all)."""

    base: float
    miss: float
    alarm: float
    chosen: float | None = None


class _Linear(ContingencyLoss):
    anywhere = True

    @abstractmethod
    def prices(self, P: float, N: float) -> Prices:
        """Delta, given the weights of the two classes."""

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        return SelectionRisk(self, y, weight)


class ErrorRate(_Linear):
    """(fp + fn) / n. With score_weight = 1 the risk is the mean of max(0, 1 - 2 y f)."""

    unit_free = True

    def prices(self, P: float, N: float) -> Prices:
        return Prices(0.0, 1.0 / (P + N), 1.0 / (P + N))


class BalancedAccuracy(_Linear):
    """(fn / P + fp / N) / 2."""

    unit_free = True

    def prices(self, P: float, N: float) -> Prices:
        return Prices(0.0, 0.5 / P, 0.5 / N)


class _AtK(_Linear):
    def __init__(self, k: float, score_weight: float = 1.0) -> None:
        self.k = as_positive("k", k)
        super().__init__(score_weight)


class PrecisionAtK(_AtK):
    """1 - tp / k over the labellings with tp + fp = k, in units of weight.

    The risk is linear in a common shift of the scores (constant if k = P), so there is no intercept; unless
    k = P it has no lower bound either.
    """

    def prices(self, P: float, N: float) -> Prices:
        return Prices(1.0 - P / self.k, 1.0 / self.k, 0.0, self.k)


class RecallAtK(_AtK):
    """1 - tp / P over the labellings with tp + fp = k, in units of weight.

    No intercept, and a lower bound only if k = P: see `PrecisionAtK`.
    """

    def prices(self, P: float, N: float) -> Prices:
        return Prices(0.0, 1.0 / P, 0.0, self.k)


class Lift(_AtK):
    """The best lift there can be minus the lift, (tp / k) / (P / n), over the labellings with tp + fp = k.

    It is `PrecisionAtK` in units of the share of positives. No intercept.
    """

    def prices(self, P: float, N: float) -> Prices:
        unit = (P + N) / (P * self.k)
        return Prices((min(self.k, P) - P) * unit, unit, 0.0, self.k)


class BreakEven(_Linear):
    """1 - tp / P over the labellings with tp + fp = P: where precision equals recall.

    The risk does not change with a common shift of the scores, so there is no intercept.
    """

    unit_free = True

    def prices(self, P: float, N: float) -> Prices:
        return Prices(0.0, 1.0 / P, 0.0, P)


class SelectionRisk(ContingencyRisk):
    """The risk of a loss that is linear in the table."""

    def __init__(self, loss: _Linear, y: Any, weight: Vector) -> None:
        super().__init__(loss, y, weight)
        self.prices = loss.prices(self.P, self.N)
        base, miss, alarm, chosen = self.prices
        self.offsets = FREE if chosen is None else NONE
        if chosen is not None and not 1e-9 * (self.P + self.N) <= chosen <= self.P + self.N:
            raise ValueError(f"k is {chosen!r}, but there are {self.P + self.N:g} samples (by weight)")
        self.infimum = base if chosen in (None, self.P) else -np.inf  # ybar = y is allowed
        self.slope = np.where(self.positive, *self.scale)
        self.price = np.where(self.positive, -miss, alarm)

    def constants(self, u: Vector) -> float:
        """Delta is a sum whose terms may cancel, and a weight is chosen up to rounding."""
        base, miss, alarm, chosen = self.prices
        costs = miss * (self.P + (chosen or 0.0)) + alarm * (self.N + (chosen or 0.0))
        return super().constants(u) + abs(base) + costs

    def delta(self, tp: Any, fp: Any) -> Any:
        base, miss, alarm, chosen = self.prices
        if chosen is not None and chosen != round(chosen):
            raise ValueError(f"k must be a whole number to smooth {self.loss!r}")
        cost = base + miss * (self.P - tp) + alarm * fp
        return np.asarray(cost if chosen is None else np.where(tp + fp == chosen, cost, -np.inf))

    def best_labelling(self, scores: Vector, b: float) -> tuple[float, Vector]:
        base, miss, alarm, chosen = self.prices
        gain = self.price + self.slope * (scores + b)
        if chosen is None:
            share = (gain > 0.0).astype(np.float64)
        else:
            share = self.highest(gain, chosen)
        # each kind of error summed up by itself: differences would lose small weights
        missed = float((self.weight * (1.0 - share))[self.positive].sum())
        alarms = float((self.weight * share)[~self.positive].sum())
        return base + miss * missed + alarm * alarms, share

    def highest(self, gain: Vector, amount: float) -> Vector:
        """Shares that add up to a weight of `amount`, of the samples with the highest gains."""
        mark = -weighted_quantile(-gain, self.weight, amount)[0]
        above, level = gain > mark, gain == mark
        room, width = amount - float(self.weight @ above), float(self.weight @ level)
        if 0 <= room <= width:
            return np.where(level, room / width, above)
        # a quantile has thirteen digits of the whole weight: small ones that it has not seen, one by one
        order = np.argsort(-gain, kind="stable")
        reached = np.cumsum(self.weight[order]) - self.weight[order]
        share = np.empty_like(gain)
        share[order] = np.clip((amount - reached) / self.weight[order], 0.0, 1.0)
        return share
