"""Several quantiles of one target, fitted together so that they do not cross."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from gapfit._types import Target, Vector
from gapfit.errors import as_number, as_numbers
from gapfit.losses.atoms import Atoms
from gapfit.losses.base import Loss
from gapfit.losses.forms import Combined
from gapfit.losses.vector import VectorRisk
from gapfit.rounding import gamma


class Quantiles(Loss):
    """sum over k of max(q_k (y - f_k), (1 - q_k) (f_k - y)) + crossing * max(0, f_k - f_(k+1)).

    A score for each quantile. Each unit by which two neighbours cross at a sample costs `crossing` more: with
    enough of that the quantiles of the training samples do not cross. With none, each quantile is what
    `Quantile(q)` finds alone.
    """

    target = Target.REAL

    def __init__(self, quantiles: Any = (0.1, 0.5, 0.9), crossing: float = 10.0) -> None:
        levels = as_numbers("quantiles", quantiles)
        rising = levels.ndim == 1 and len(levels) > 1 and bool((np.diff(levels) > 0).all())
        if not rising or not 0 < levels[0] <= levels[-1] < 1:
            raise ValueError(f"quantiles must rise within (0, 1), two of them at least, got {quantiles!r}")
        if not 0 <= as_number("crossing", crossing) < np.inf:
            raise ValueError(f"crossing must be non-negative and finite, got {crossing!r}")
        self.quantiles = tuple(levels.tolist())
        self.crossing = float(crossing)

    def bind(self, y: Vector, weight: Vector, groups: Any = None) -> "QuantilesRisk":
        return QuantilesRisk(self, y, weight)


class QuantilesRisk(VectorRisk):
    """sum_i p_i phi(y_i, f_i + b)."""

    infimum = 0.0

    def __init__(self, loss: Quantiles, y: Vector, weight: Vector) -> None:
        super().__init__(loss, len(loss.quantiles))
        self.y, self.p = y, weight / weight.sum()
        self.q, self.crossing = np.array(loss.quantiles), loss.crossing

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        F = self.matrix(scores, b)
        rest = self.y[:, None] - F
        over = F[:, :-1] - F[:, 1:]
        terms = np.maximum(self.q * rest, (self.q - 1.0) * rest).sum(axis=1)
        terms += self.crossing * np.maximum(over, 0.0).sum(axis=1)
        U = np.where(rest > 0, -self.q, np.where(rest < 0, 1.0 - self.q, 0.0))
        cross = np.where(over > 0, self.crossing, 0.0)
        U[:, :-1] += cross
        U[:, 1:] -= cross
        return self.flat(float((self.p * terms).sum()), U * self.p[:, None], b)

    def forms(self) -> Iterator[Any]:
        yield from super().forms()
        own = np.eye(self.outputs)
        yield Combined(np.vstack([own, own[:-1] - own[1:]]), self._atoms, self.p)

    def _atoms(self) -> Atoms:
        """Of each sample's quantiles, then of its crossings."""
        n, k, none = len(self.y), self.outputs, np.zeros(self.outputs - 1)
        each = partial(np.tile, reps=n)
        lin = np.concatenate([np.repeat(self.y[:, None], k, axis=1), np.zeros((n, k - 1))], axis=1).ravel()
        sign = each(np.concatenate([np.ones(k), none - 1.0]))
        lo, hi = np.concatenate([self.q - 1.0, none]), np.concatenate([self.q, none + self.crossing])
        return Atoms.each(lin, sign=sign, lin=lin, lo=each(lo), hi=each(hi))

    def rise(self, slack: Vector) -> float:
        """A score is pulled by its own quantile and by both neighbours."""
        own = np.maximum(self.q, 1.0 - self.q) + 2.0 * self.crossing
        most = float(self.p @ (slack.reshape(-1, self.outputs) @ own))
        return most * (1 + gamma(len(self.p) + self.outputs + 8))

    def roundings(self, scores: Vector) -> int:
        return 4 * self.outputs + 16

    def constants(self, u: Vector) -> float:
        return 1.0 + float((1.0 + np.abs(self.y)) @ np.abs(u).reshape(-1, self.outputs).sum(axis=1))

    def first_offsets(self) -> Vector:
        """The quantiles of y."""
        order = np.argsort(self.y)
        place = np.searchsorted(np.cumsum(self.p[order]), self.q)
        return np.asarray(self.y[order][np.minimum(place, len(order) - 1)])
