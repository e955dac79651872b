"""Losses whose subgradient at a tie is fixed by a rule.

Where a risk has a kink its subgradient is a matter of choice, and the lower bounds for cutting plane methods
rest on the choice that helps least. These losses have the values of the ordinary ones and make that choice.
A tie is a tie up to rounding, since iterates are computed in floating point.
"""

from typing import Any

import numpy as np

from gapfit._types import Vector
from gapfit.losses.base import Loss, Risk
from gapfit.losses.f_measure import FBeta
from gapfit.losses.margin import Hinge
from gapfit.rounding import gamma

TIE = 1e-13


class TiedHinge(Hinge):
    """The mean of max(0, 1 - y f). If no sample is inside the margin, the lowest-numbered one on it counts.

    Elsewhere the subgradient is the ordinary one, of the samples with 1 - y f > 0.
    """

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        del groups
        return _TiedHingeRisk(self, *self.prepare(y, weight))


class _TiedHingeRisk(Risk):
    infimum = 0.0

    def __init__(self, loss: Loss, y: Vector, p: Vector) -> None:
        self.loss, self.y, self.p = loss, y, p

    def rise(self, slack: Vector) -> float:
        return float(self.p @ slack) * (1 + gamma(len(slack) + 8))

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        inside = 1.0 - self.y * scores
        share = (inside > TIE).astype(np.float64)
        tied = np.flatnonzero(np.abs(inside) <= TIE)
        if len(tied) and not share.any():
            share[tied[0]] = 1.0
        return float(self.p @ np.maximum(inside, 0.0)), -share * self.p * self.y, np.zeros_like(b)


class TiedF1(FBeta):
    """1 - F1. If labelling a single negative as positive is among the best labellings, that one is taken.

    Of several such negatives, the lowest-numbered one.
    """

    def __init__(self) -> None:
        super().__init__(beta=1.0)

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        if (weight != np.rint(weight)).any():
            raise ValueError(f"sample_weight must hold whole numbers for {self!r}: they count copies")
        return _TiedF1Risk(super().bind(y, weight, groups), np.asarray(y, dtype=np.float64), weight)


class _TiedF1Risk(Risk):
    infimum = 0.0

    def __init__(self, risk: Risk, y: Vector, weight: Vector) -> None:
        self.risk, self.loss, self.y = risk, risk.loss, y
        self.step = 2.0 / float(weight.sum())
        positives = float(weight[y > 0].sum())
        self.delta = 1.0 - 2.0 * positives / (2.0 * positives + 1.0)  # of a single false positive

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        value, u, e = self.risk.value_and_subgradient(scores, b)
        alone = np.where(self.y < 0, self.delta + self.step * scores, -np.inf)
        tied = np.flatnonzero(alone >= value - TIE)
        if len(tied):
            u = np.zeros_like(scores)
            u[tied[0]] = self.step
        return value, u, e


class LargestScore(Loss):
    """max_i f_i, or max(0, max_i f_i) with a floor; of several largest scores the lowest-numbered counts.

    With the floor, a score that ties with it goes before it. The targets are ignored.
    """

    def __init__(self, *, floor: bool) -> None:
        self.floor = floor

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        del y, weight, groups
        return _LargestScoreRisk(self)


class _LargestScoreRisk(Risk):
    def __init__(self, loss: LargestScore) -> None:
        self.loss: LargestScore = loss
        self.infimum = 0.0 if loss.floor else -np.inf

    def rise(self, slack: Vector) -> float:
        return float(slack.max(initial=0.0))

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        value = float(scores.max())
        if self.loss.floor:
            value = max(value, 0.0)
        u = np.zeros_like(scores)
        tied = np.flatnonzero(scores >= value - TIE)
        if len(tied):
            u[tied[0]] = 1.0
        return value, u, np.zeros_like(b)
