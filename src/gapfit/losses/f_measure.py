"""The F measures and the Jaccard index: ratios of linear functions of the contingency table."""

from abc import abstractmethod
from typing import Any

import numpy as np

from gapfit._types import Vector
from gapfit.elsewhere import looped
from gapfit.errors import as_number
from gapfit.losses.base import Risk
from gapfit.losses.contingency import ContingencyLoss, SortedRisk


class _Ratio(ContingencyLoss):
    """Delta = 1 - c tp / (x tp + fp + d)."""

    anywhere = True

    @abstractmethod
    def coefficients(self, P: float) -> tuple[float, float, float]:
        """c, x and d for a weight P of positives."""

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        return RatioRisk(self, y, weight)


class FBeta(_Ratio):
    """1 - F_beta, F_beta = (1 + beta^2) tp / ((1 + beta^2) tp + fp + beta^2 fn).

    beta = 1 balances precision and recall; a larger beta stresses recall.
    """

    def __init__(self, beta: float = 1.0, score_weight: float = 1.0) -> None:
        if not 0 < as_number("beta", beta) < 1e8:
            raise ValueError(f"beta must be positive and less than 1e8, got {beta!r}")
        self.beta = beta
        super().__init__(score_weight)

    def coefficients(self, P: float) -> tuple[float, float, float]:
        return 1.0 + self.beta**2, 1.0, self.beta**2 * P


class Jaccard(_Ratio):
    """1 - tp / (tp + fp + fn): the share that the positives found and the positives there have in common."""

    def coefficients(self, P: float) -> tuple[float, float, float]:
        return 1.0, 0.0, P


class RatioRisk(SortedRisk):
    """The risk of Delta = 1 - c tp / (x tp + fp + d)."""

    infimum = 0.0

    def __init__(self, loss: _Ratio, y: Any, weight: Vector) -> None:
        super().__init__(loss, y, weight)
        self.coefficients = loss.coefficients(self.P)

    def delta(self, tp: Any, fp: Any) -> Any:
        c, x, d = self.coefficients
        return np.maximum(1.0 - c * tp / (x * tp + fp + d), 0.0)

    def best_labelling(self, scores: Vector, b: float) -> tuple[float, Vector]:
        from gapfit.compiled.contingency import linear_fractional

        c, x, d = self.coefficients
        classes = self.classes(scores)
        sums = ((part.mass, part.moment) for part in classes)
        search = looped(linear_fractional, scores)
        tp, fp = search(*sums, classes.negative.scores, b, self.scale, c, x, d, self.whole)
        return float(self.delta(tp, fp)), self.label(scores, classes, tp, fp)
