"""Losses of several scores a sample: what those over classes and those over labels have in common."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Matrix, Vector
from gapfit.elsewhere import fetched, loops_of
from gapfit.losses.base import FREE, Cone, Loss, Rest, Risk
from gapfit.losses.leaning import Leaning
from gapfit.rounding import exact_sum, exact_sums


class VectorRisk(Risk):
    """R(F, b) for a matrix F of scores, a row for each sample, and an offset b_k for each column."""

    def __init__(self, loss: Loss, outputs: int) -> None:
        self.loss = loss
        self.outputs = outputs
        self.offsets = Cone(outputs)

    def matrix(self, scores: Vector, b: Vector) -> Matrix:
        """The scores as a matrix, offsets added; b has none where the problem has no intercept."""
        F = scores.reshape(-1, self.outputs)
        return F + b if b.size else F

    def imbalance(self, u: Vector) -> Rest:
        U = u.reshape(-1, self.outputs)
        if loops_of(u) is None:
            return Rest(*exact_sums(U))
        sums = [exact_sum(U[:, k].copy()) for k in range(self.outputs)]
        return Rest(np.array([one.value for one in sums]), np.array([one.error for one in sums]))

    def left(self, scores: Vector, b: Vector, e: Vector) -> Rest:
        return self.imbalance(self.value_and_subgradient(scores, b)[1])

    def flat(self, value: float, U: Matrix, b: Vector) -> tuple[float, Vector, Vector]:
        """What `value_and_subgradient` returns, from a subgradient in the matrix."""
        return value, U.ravel(), fetched(U.sum(axis=0)) if b.size else np.zeros(0)


class Columns:
    """The mean over columns of a risk for each, which has one offset: the offsets separate."""

    def __init__(self, risks: Sequence[Risk]) -> None:
        self.risks = [Multiple(risk, 1.0 / len(risks)) for risk in risks]

    def pooled(self, scores: Vector, first: int, last: int) -> tuple[Risk, Vector]:
        """One column; no two share an offset."""
        assert last == first + 1
        return self.risks[first], np.ascontiguousarray(scores.reshape(-1, len(self.risks))[:, first])

    def gather(self, u: Vector) -> tuple[Vector, Vector]:
        """Column after column becomes row after row."""
        U = u.reshape(len(self.risks), -1)
        return U.T.ravel(), U.sum(axis=1)

    def exact_slopes(self, u: Vector) -> Vector:
        return np.array([exact_sum(own).value for own in u.reshape(len(self.risks), -1)])


class Multiple(Risk):
    """Another risk of one offset times a number; `side` -1: the offset is subtracted instead of added."""

    offsets = FREE

    def __init__(self, risk: Risk, factor: float, side: float = 1.0) -> None:
        self.loss, self.risk, self.factor, self.side = risk.loss, risk, factor, side
        self.infimum = factor * risk.infimum

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        value, u, e = self.risk.value_and_subgradient(scores, self.side * b)
        return self.factor * value, self.factor * u, self.side * self.factor * e

    def best_offset(self, scores: Vector) -> tuple[float, float] | None:
        known = self.risk.best_offset(scores)
        return known if known is None or self.side > 0 else (-known[1], -known[0])

    def leaning(self, scores: Vector, b: Vector) -> Leaning | None:
        known = self.risk.leaning(scores, self.side * b)
        if known is None:
            return None
        factor = self.factor
        return Leaning(
            factor * self.side * known.e,
            factor * known.heights,
            lambda: factor * known.most(),
            lambda shares: factor * known.mixture(shares),
        )


def as_table(name: str, values: Any, n: int) -> Matrix:
    """A finite float64 matrix with n rows."""
    values = np.asarray(values)
    if values.ndim != 2 or len(values) != n:
        raise ValueError(f"{name} must have a row for each of {n} samples, got shape {values.shape}")
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {values.dtype}")
    table = np.asarray(values, dtype=np.float64)
    if not np.isfinite(table).all():
        raise ValueError(f"{name} must hold finite numbers: it contains NaN or infinity")
    return table


def one_hot(truth: NDArray[np.intp], outputs: int) -> Matrix:
    """Rows that are one in the column of the truth and zero elsewhere."""
    if loops_of(truth) is not None:
        there: Matrix = np.equal(truth[:, None], np.arange(outputs)).astype(np.float64)
        return there
    rows = np.zeros((len(truth), outputs))
    rows[np.arange(len(truth)), truth] = 1.0
    return rows


def flat_places(truth: NDArray[np.intp], outputs: int) -> NDArray[np.intp]:
    """Where the entry of each sample's truth is, in a matrix of a row for each, one row after the other."""
    places: NDArray[np.intp] = np.arange(len(truth), like=truth) * outputs + truth
    return places.astype(np.intp, copy=False)


def class_sums(truth: NDArray[np.intp], values: Vector, outputs: int) -> Vector:
    """The sum of the values of each class's samples, in memory."""
    if loops_of(truth) is not None:
        there: Vector = fetched(values @ one_hot(truth, outputs))
        return there
    return np.bincount(truth, values, outputs).astype(np.float64, copy=False)
