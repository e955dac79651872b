"""Ordered levels by thresholds: one direction w, and an offset between each level and the next."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from gapfit._types import Indices, Matrix, Target, Vector
from gapfit.losses.base import Cone, Loss, Rest, Risk
from gapfit.losses.forms import Curvature, Smooth, ThresholdCurvature
from gapfit.losses.leaning import Leaning
from gapfit.losses.margin import Exponential, Hinge, Logistic, SmoothedHinge, SquaredHinge
from gapfit.losses.ranking import levels_of
from gapfit.losses.vector import Multiple
from gapfit.rounding import UNIT, Estimate, exact_sum

Kind = Literal["all", "immediate"]
BASES: dict[str, type[Loss]] = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "smoothed_hinge": SmoothedHinge,
    "logistic": Logistic,
    "exponential": Exponential,
}
MANY = 100  # levels: beyond that, all pairs of a sample and a threshold are too many


class OrdinalThresholds(Loss):
    """Levels y_1 < ... < y_m of any numbers, told apart by thresholds b_1 <= ... <= b_(m-1):

    R(f, b) = sum_i p_i sum over k in K_i of phi(s_ik (f_i - b_k)),

    s_ik = +1 if sample i is above the k-th threshold, that is y_i > y_k, else -1, and p_i its share of the
    weights. The predicted level is that of the interval between two thresholds in which the score lies.

    The thresholds are the offsets of the problem. They are *compared with* the scores, not added to them, are
    not penalised, and always in order: the minimum is over ordered b only. (With kind="all" that costs
    nothing.) A common shift of scores and thresholds changes nothing. Levels are those that occur in y.

    Parameters
    ----------
    kind : "all" (default), K_i are all thresholds, so that with a phi above the 0/1 loss the sum bounds the
        number of levels by which a prediction is off; or "immediate", the one or two next to the level of
        sample i, where it bounds the 0/1 loss
    base : phi as a function of the margin: "hinge" (default), "squared_hinge", "smoothed_hinge", "logistic"
        or "exponential"
    """

    target = Target.LEVELS

    def __init__(self, kind: Kind = "all", base: str = "hinge") -> None:
        if kind not in get_args(Kind):
            raise ValueError(f"kind must be 'all' or 'immediate', got {kind!r}")
        if not isinstance(base, str) or base not in BASES:
            raise ValueError(f"base must be one of {', '.join(BASES)}, got {base!r}")
        self.kind, self.base = kind, base

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        y, p = self.prepare(y, weight)
        levels, level = levels_of(self, y, MANY)
        return ThresholdRisk(self, level, p, len(levels))


class ThresholdRisk(Risk):
    """A mean over *entries*, pairs of a sample and a threshold, of a loss of the margin.

    Entries stand threshold by threshold, so that some thresholds are a slice of them.
    """

    infimum = 0.0

    def __init__(self, loss: OrdinalThresholds, level: Indices, p: Vector, levels: int) -> None:
        self.loss: OrdinalThresholds = loss
        self.offsets = Cone(levels - 1, ordered=True)
        everyone = np.arange(len(level))
        self.n = len(level)
        rows = [
            everyone if loss.kind == "all" else everyone[(level == k) | (level == k + 1)]
            for k in range(levels - 1)
        ]
        self.starts: Indices = np.cumsum([0, *map(len, rows)])
        self.rows: Indices = np.concatenate(rows)
        self.threshold: Indices = np.repeat(np.arange(levels - 1), np.diff(self.starts))
        self.sign = np.where(level[self.rows] > self.threshold, 1.0, -1.0)
        self.weight = p[self.rows]
        self._risks: dict[tuple[int, int], Multiple] = {}
        self.whole = self._risk(0, levels - 1)

    def forms(self) -> Iterator[Any]:
        if self.whole.risk.has(Smooth):
            yield Smooth()
        if self.whole.risk.has(Curvature):
            yield ThresholdCurvature(self._curvatures)

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        value, u, _ = self.whole.value_and_subgradient(self._margins(scores, b), np.zeros(1))
        return (value, *self.gather(u, len(b)))

    def value_above(self, scores: Vector, low: Vector, b: Vector, slack: Vector) -> Estimate:
        """That of all entries."""
        margins = self._margins(scores + low, b)
        largest = float(np.abs(b).max(initial=0.0))
        reach = (slack + 2 * UNIT * (np.abs(scores) + largest))[self.rows]
        inner = self.whole.risk.value_above(margins, np.zeros_like(margins), np.zeros(1), reach)
        mass = self.whole.factor
        return Estimate(mass * inner.value, mass * (inner.error + 4 * UNIT * abs(inner.value)))

    def best_offset(self, scores: Vector) -> tuple[float, float] | None:
        return self.whole.best_offset(scores[self.rows]) if self.offsets.size == 1 else None

    def offset_hessian(self, scores: Vector, b: Vector) -> Matrix | None:
        curvature = self.whole.risk.form(Curvature)
        if curvature is None:
            return None
        second = curvature.at(self._margins(scores, b), np.zeros(1)) * self.whole.factor
        return np.diag(np.add.reduceat(second, self.starts[:-1]))

    def _curvatures(self, scores: Vector, b: Vector) -> Matrix:
        """The second derivative of each pair of a sample and a threshold; of those that are none, zero."""
        curvature = self.whole.risk.form(Curvature)
        assert curvature is not None
        second = curvature.at(self._margins(scores, b), np.zeros(1)) * self.whole.factor
        if len(second) == self.n * self.offsets.size:  # threshold by threshold, all samples
            return second.reshape(self.offsets.size, self.n).T
        table = np.zeros((self.n, self.offsets.size))
        table[self.rows, self.threshold] = second
        return table

    def leaning(self, scores: Vector, b: Vector) -> Leaning | None:
        """Those of each threshold by itself: the losses of the others are at least zero."""
        size = self.offsets.size
        each = [
            part.leaning(own, b[k : k + 1])
            for k in range(size)
            for part, own in [self.pooled(scores, k, k + 1)]
        ]
        known = [one for one in each if one is not None]
        if len(known) < size or not size:
            return None
        ends = np.cumsum([0, *(len(one.e) for one in known)])
        slopes = np.zeros((ends[-1], size))
        for k, one in enumerate(known):
            slopes[ends[k] : ends[k + 1], k] = one.e[:, 0]

        def mixture(shares: Vector) -> Vector:
            parts = [one.mixture(shares[a:b]) for one, (a, b) in zip(known, pairwise(ends), strict=True)]
            return self.gather(np.concatenate(parts))[0]

        def most() -> Vector:
            return self.gather(np.concatenate([one.most() for one in known]))[0]

        return Leaning(slopes, np.concatenate([one.heights for one in known]), most, mixture)

    def offset_parts(self) -> "ThresholdRisk":
        return self

    def pooled(self, scores: Vector, first: int, last: int) -> tuple["Risk", Vector]:
        """Some thresholds as one, and the scores of their entries."""
        entries = slice(self.starts[first], self.starts[last])
        return self._risk(first, last), scores[self.rows[entries]]

    def gather(self, u: Vector, size: int | None = None) -> tuple[Vector, Vector]:
        """Slopes in the scores of the samples and in b, from those of all entries."""
        e = -np.add.reduceat(u, self.starts[:-1])
        return np.bincount(self.rows, u, self.n).astype(np.float64, copy=False), e[:size]

    def exact_slopes(self, u: Vector) -> Vector:
        return np.array([-exact_sum(u[a:b]).value for a, b in pairwise(self.starts)])

    def left(self, scores: Vector, b: Vector, e: Vector) -> Rest:
        _, u, _ = self.whole.value_and_subgradient(self._margins(scores, b), np.zeros(1))
        slopes = self.exact_slopes(u)
        return Rest(slopes, 4 * UNIT * np.abs(slopes))

    def imbalance(self, u: Vector) -> Rest:
        """Thresholds are subtracted: of a single one the slope is minus the sum."""
        rest = super().imbalance(u)
        return Rest(-rest.e, rest.error)

    def _risk(self, first: int, last: int) -> Multiple:
        """Made once for each threshold, as every step of a solver asks for it; pools come and go."""
        if (first, last) not in self._risks:
            entries = slice(self.starts[first], self.starts[last])
            sign, weight = self.sign[entries], self.weight[entries]
            risk = Multiple(BASES[self.loss.base]().bind(sign, weight), float(weight.sum()), -1.0)
            if last - first > 1:
                return risk
            self._risks[first, last] = risk
        return self._risks[first, last]

    def _margins(self, scores: Vector, b: Vector) -> Vector:
        """Of all entries; without offsets, the thresholds are zero."""
        return scores[self.rows] - b[self.threshold] if len(b) else scores[self.rows]


def least_error_thresholds(scores: Vector, level: Indices, weight: Vector) -> Vector:
    """Ordered thresholds for which the weighted absolute error of the predicted levels 0, 1, ... is least.

    That error counts the thresholds that are on the wrong side of a score, so each is chosen by itself, half
    way between two scores; of several places with the least error the lowest is taken, and these are in
    order.
    """
    places, place = np.unique(scores, return_inverse=True)
    width = float(places[-1] - places[0]) or 1.0
    between = np.r_[places[0] - 0.5 * width, 0.5 * (places[:-1] + places[1:]), places[-1] + 0.5 * width]
    thresholds = []
    for k in range(int(level.max())):
        # raising a threshold past samples that belong above it costs their weights, past others it gains
        change = np.bincount(place, np.where(level > k, weight, -weight))
        thresholds.append(between[np.argmin(np.r_[0.0, np.cumsum(change)])])
    return np.array(thresholds)
