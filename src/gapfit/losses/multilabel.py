"""Losses over L labels, of which a sample may have any number: a score f_il for each sample i and label l.

Targets are an indicator matrix (n, L): Y_il is 1 where sample i has label l, else 0. A label is predicted
where its score is positive; s_il = 2 Y_il - 1. Each loss bounds a measure of the predictions from above, and
each label has an offset of its own.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from gapfit._types import Matrix, Target, Vector
from gapfit.errors import as_number
from gapfit.losses.base import Loss, Risk
from gapfit.losses.f_measure import FBeta, RatioRisk
from gapfit.losses.forms import Conjugate
from gapfit.losses.margin import Hinge
from gapfit.losses.queries import Queries, QueryRisk
from gapfit.losses.vector import Columns, VectorRisk, as_table
from gapfit.projections import project_dual_box
from gapfit.rounding import EPS, Estimate, plain_sum


class MultilabelLoss(Loss):
    """Targets are an indicator matrix of zeros and ones."""

    target = Target.INDICATORS

    def as_target(self, y: Any, n: int) -> Any:
        Y = as_table("y", y, n)
        if not np.isin(Y, (0.0, 1.0)).all():
            raise ValueError(f"y must hold zeros and ones for {self!r}: a column for each label")
        return Y


class Hamming(MultilabelLoss):
    """(1 / L) sum over labels of max(0, 1 - s_il f_il), and the weighted mean of it over samples.

    It bounds the Hamming loss, the share of wrong label decisions. The labels do not interact: with a penalty
    that is a sum over labels, each could be fitted on its own. Weight k equals k copies.
    """

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        return HammingRisk(self, y, weight)


class LabelRanking(MultilabelLoss):
    """The mean over the pairs (r, t) of a label r that sample i has and a label t that it has not of

    max(0, 1 - (f_ir - f_it)),

    and the weighted mean of that over samples; those with all labels or none have no pairs, and count as
    zero. It bounds the ranking loss, the share of pairs in the wrong order. O(n L log L). Weight k equals k
    copies. A common shift of a sample's scores changes nothing.
    """

    relative = True

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        n, L = y.shape
        queries = Queries(y.ravel(), np.ones(n * L), np.repeat(np.arange(n), L))  # the samples are queries
        pairs = y.sum(axis=1) * (L - y.sum(axis=1))
        share = weight / weight.sum() / np.maximum(pairs, 1.0)
        return TogetherRisk(self, QueryRisk(self, queries, share[queries.query], weight), L)


class _FMeasure(MultilabelLoss):
    unit_free: ClassVar[bool] = False

    def __init__(self, beta: float = 1.0) -> None:
        FBeta(beta)  # says what it does not take
        self.beta = as_number("beta", beta)


class MacroF(_FMeasure):
    """The mean over labels of the multivariate bound of 1 - F_beta of that label:

    (1 / L) sum_l  max over ybar in {-1, +1}^n of  1 - F_beta(s_l, ybar) + (1 / n) sum_i f_il (ybar_i - s_il).

    Weights are multiplicities, as in `FBeta`. Every label needs a sample that has it and one that has not.
    """

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        one_sided = np.flatnonzero(np.ptp(y, axis=0) == 0)
        if len(one_sided):
            label, has = one_sided[0], "every" if y[0, one_sided[0]] else "no"
            raise ValueError(
                f"y: {has} sample has label {label}, so that its F measure says nothing; drop it"
            )
        return MacroFRisk(self, y, weight)


class MicroF(_FMeasure):
    """The multivariate bound of 1 - F_beta over all n L label decisions together:

    max over ybar in {-1, +1}^(n L) of  1 - F_beta(s, ybar) + (1 / (n L)) sum_il f_il (ybar_il - s_il).

    Weights are multiplicities, as in `FBeta`: weight k of a sample counts its L decisions k times.
    """

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        L = y.shape[1]
        decisions = RatioRisk(FBeta(self.beta), 2.0 * y.ravel() - 1.0, np.repeat(weight, L))
        return TogetherRisk(self, decisions, L)


class HammingRisk(VectorRisk):
    """sum_il c_i max(0, 1 - s_il f_il), c_i = p_i / L."""

    infimum = 0.0

    def __init__(self, loss: Loss, Y: Matrix, weight: Vector) -> None:
        super().__init__(loss, Y.shape[1])
        self.sign = 2.0 * Y - 1.0
        self.c = np.repeat(weight / weight.sum() / Y.shape[1], Y.shape[1]).reshape(Y.shape)
        self.columns = Columns([Hinge().bind(sign, weight) for sign in self.sign.T])

    def forms(self) -> Iterator[Any]:
        yield Conjugate(self.conjugate, self.project_dual)

    def offset_parts(self) -> Columns:
        return self.columns

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        short = 1.0 - self.sign * self.matrix(scores, b)
        value = float((self.c * np.maximum(short, 0.0)).sum())
        return self.flat(value, np.where(short > 0, -self.sign * self.c, 0.0), b)

    def rise(self, slack: Vector) -> float:
        return float((self.c.ravel() * slack).sum()) * (1 + 8 * EPS)

    def roundings(self, scores: Vector) -> int:
        return 8

    def conjugate(self, u: Vector) -> float:
        return float((u.reshape(self.sign.shape) * self.sign).sum())

    def conjugate_above(self, u: Vector, *, exact: bool) -> Estimate:
        return plain_sum(u * self.sign.ravel())

    def project_dual(self, u: Vector, *, balanced: bool) -> Vector:
        U, slope = u.reshape(self.sign.shape), -self.sign * self.c
        columns = [
            project_dual_box(m, np.minimum(s, 0.0), np.maximum(s, 0.0), c, 0.0 if balanced else None)
            for m, s, c in zip(U.T, slope.T, self.c.T, strict=True)
        ]
        return np.stack(columns, axis=1).ravel()


class MacroFRisk(VectorRisk):
    """The mean over the columns of their risks."""

    infimum = 0.0

    def __init__(self, loss: MacroF, Y: Matrix, weight: Vector) -> None:
        super().__init__(loss, Y.shape[1])
        self.columns = [RatioRisk(FBeta(loss.beta), 2.0 * column - 1.0, weight) for column in Y.T]

    def offset_parts(self) -> Columns:
        return Columns(self.columns)

    def rise(self, slack: Vector) -> float:
        columns = slack.reshape(-1, self.outputs).T
        return float(np.mean([risk.rise(own) for risk, own in zip(self.columns, columns, strict=True)]))

    def roundings(self, scores: Vector) -> int:
        """Those of a column, and of their mean."""
        return self.outputs + self.columns[0].roundings(scores[: len(scores) // self.outputs])

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        F, L = scores.reshape(-1, self.outputs), self.outputs
        U, total = np.empty(F.shape), 0.0
        for label, risk in enumerate(self.columns):
            value, U[:, label], _ = risk.value_and_subgradient(F[:, label], b[label : label + 1])
            total += value
        return self.flat(total / L, U / L, b)


class TogetherRisk(VectorRisk):
    """One risk for the scores of all labels together, each with the offset of its label."""

    infimum = 0.0

    def __init__(self, loss: Loss, together: Risk, outputs: int) -> None:
        super().__init__(loss, outputs)
        self.together = together

    def rise(self, slack: Vector) -> float | None:
        return self.together.rise(slack)

    def roundings(self, scores: Vector) -> int:
        return 1 + self.together.roundings(scores)

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        F = self.matrix(scores, b)
        value, u, _ = self.together.value_and_subgradient(F.ravel(), np.zeros(0))
        return self.flat(value, u.reshape(F.shape), b)


def least_error_threshold(scores: Matrix, Y: Matrix, weight: Vector) -> float:
    """The threshold above which labels are predicted with the fewest errors, weighted, of all decisions.

    Of several, the middle of the lowest interval.
    """
    flat, wrong = scores.ravel(), _cost_of_predicting(Y, weight)
    values, place = np.unique(flat, return_inverse=True)
    cost = np.bincount(place.ravel(), wrong.ravel())
    above = np.cumsum(cost[::-1])[::-1]  # with the threshold just below each value
    best = int(np.argmin(np.append(above, 0.0)))
    if best == len(values):
        return float(values[-1]) + 1.0
    return float(values[0] - 1.0 if best == 0 else 0.5 * (values[best - 1] + values[best]))


def threshold_range(lo: Matrix, hi: Matrix, Y: Matrix, weight: Vector) -> tuple[float, float]:
    """Where `least_error_threshold` can be for any scores between lo and hi.

    A threshold t is out if its errors, at the best scores for it, exceed those of another at the worst.
    Predicted are certainly the labels with lo > t, and possibly those with hi > t.
    """
    cost = _cost_of_predicting(Y, weight).ravel()
    places = np.unique(np.concatenate([lo.ravel(), hi.ravel()]))
    if not np.isfinite(places).all():
        return -np.inf, np.inf

    def beyond(ends: Matrix, of: Vector) -> Vector:
        """The cost of all scores at or beyond each place; and of none, at the end."""
        each = np.bincount(np.searchsorted(places, ends.ravel()), of, len(places))
        return np.append(np.cumsum(each[::-1])[::-1], 0.0)

    gain, loss = np.minimum(cost, 0.0), np.maximum(cost, 0.0)
    # between two places: what is gained by labels that are possibly predicted, lost by those that surely are
    best = beyond(hi, gain) + beyond(lo, loss)
    worst = beyond(lo, gain) + beyond(hi, loss)
    room = 1e-12 * float(np.abs(cost).sum())
    there = np.flatnonzero(best <= worst.min() + room)
    # a threshold is half way between scores, or beyond all of them by one
    edges = np.concatenate([[places[0] - 1.0], places, [places[-1] + 1.0]])
    return float(edges[there[0]]), float(edges[there[-1] + 1])


def _cost_of_predicting(Y: Matrix, weight: Vector) -> Matrix:
    return np.asarray((1.0 - 2.0 * Y) * weight[:, None])
