"""The group lasso: whole groups of weights are zero, or none of them is."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gapfit._types import Indices, Matrix, Slope, Vector
from gapfit.errors import as_number, as_numbers
from gapfit.penalties.base import Penalty
from gapfit.penalties.forms import Everywhere, Grouped
from gapfit.proofs import near_square
from gapfit.rounding import EPS, SUM, Estimate, gamma, length, plain_sum, square_sum

_ROUNDINGS = 24  # on the way to a norm, beside the additions


class Partition:
    """Which group each weight is in, and sums over groups."""

    def __init__(self, codes: Indices) -> None:
        self.codes = codes
        self.order = np.argsort(codes, kind="stable")
        self.sizes = np.bincount(codes.astype(np.intp))
        self.starts = np.cumsum(self.sizes) - self.sizes

    def sums(self, x: Any) -> Any:
        """The sum of x over each group, for vectors or rows of a matrix."""
        return np.add.reduceat(x[self.order], self.starts, axis=0)

    def norms(self, x: Slope) -> Vector:
        """The Euclidean norm of each group; nothing overflows that need not."""
        unit = np.maximum.reduceat(np.abs(x[self.order]), self.starts)
        unit = np.where((unit > 0) & np.isfinite(unit), unit, 1.0)
        return np.asarray(unit * np.sqrt(self.sums((x / unit[self.codes]) ** 2)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Partition) and np.array_equal(self.codes, other.codes)

    __hash__ = None  # type: ignore[assignment]

    @property
    def roundings(self) -> int:
        """On the way of a weight into the norm of its group."""
        return int(self.sizes.max(initial=0)) + _ROUNDINGS


class GroupLasso(Penalty):
    """ratio * sum over groups g of s_g |w_g|_2, plus (1 - ratio) / 2 |w|^2, 0 < ratio <= 1.

    Parameters
    ----------
    groups : the group of each weight, (d,): numbers or names. Losses of several scores a sample have a weight
        for each feature and score, feature by feature.
    weights : s_g > 0, for groups in the order of their sorted names; by default the root of the group's size.
    ratio : the share of the norms; with less than 1 the optimum is unique, and a gap bounds the distance to
        it.
    """

    inner_product = True

    def __init__(self, groups: Any, weights: Any = None, ratio: float = 1.0) -> None:
        names = np.asarray(groups)
        if names.ndim != 1:
            raise ValueError(f"groups must name the group of each weight, (d,); got the shape {names.shape}")
        if names.dtype.kind == "f" and not np.isfinite(names).all():
            raise ValueError("groups holds numbers that are not finite")
        _, self.groups = np.unique(names, return_inverse=True)
        self.part = Partition(self.groups)
        if not 0 < as_number("ratio", ratio) <= 1:
            raise ValueError(f"ratio must lie in (0, 1], got {ratio!r}")
        count = len(self.part.sizes)
        self.weights = np.sqrt(self.part.sizes) if weights is None else as_numbers("weights", weights)
        if self.weights.shape != (count,):
            raise ValueError(f"weights has shape {self.weights.shape} but there are {count} groups")
        if not ((self.weights > 0) & np.isfinite(self.weights)).all():
            raise ValueError("weights of groups must be positive; leave a group out by fitting without it")
        self.ratio, self.modulus = ratio, 1.0 - ratio
        self.strength = ratio * self.weights
        self.conic = ratio == 1

    def forms(self) -> Iterator[Any]:
        yield from super().forms()
        yield Grouped(self.groups, self.strength, self.modulus)
        yield Everywhere()

    def value(self, w: Slope) -> float:
        return float(self.strength @ self.part.norms(w)) + 0.5 * self.modulus * float(w @ w)

    def value_above(self, w: Slope, *, exact: bool = False) -> Estimate:
        norms = plain_sum(self.strength * self.part.norms(w), self.part.roundings)
        square = square_sum(w) if self.modulus else Estimate(0.0, 0.0)
        value = norms.value + 0.5 * self.modulus * square.value
        return Estimate(value, norms.error + 0.5 * self.modulus * square.error + 4 * EPS * value)

    def _beyond(self, mu: Slope) -> tuple[Vector, Vector]:
        """By how much the norm of each group is above what is free, and that norm."""
        norms = self.part.norms(mu)
        return np.maximum(norms - self.strength, 0.0), norms

    def conjugate(self, mu: Slope) -> float:
        return self.conjugate_above(mu, 0.0).value

    def conjugate_above(self, mu: Slope, slack: float, *, exact: bool = False) -> Estimate:
        """Half the square of the length of what is beyond, which moves no farther than mu."""
        if self.modulus == 0:
            return Estimate(np.inf if self.shrinkage(mu, slack) < 1 else 0.0, 0.0)
        square, size = square_sum(self._beyond(mu)[0]), self.length(mu) + length(self.strength)
        half = Estimate(0.5 * square.value, 0.5 * square.error + gamma(SUM) * square.value)
        near = near_square(half, size, slack + gamma(self.part.roundings + 8) * size)
        return Estimate(near.value / self.modulus, near.error / self.modulus)

    def argmax_error(self, mu: Slope, slack: float) -> float:
        move = slack + gamma(self.part.roundings + 16) * (self.length(mu) + length(self.strength))
        return move / self.modulus

    def argmax(self, mu: Slope) -> Slope:
        beyond, norms = self._beyond(mu)
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(beyond > 0, beyond / norms / self.modulus, 0.0)
            return np.asarray(np.where(factor[self.groups] > 0, factor[self.groups] * mu, 0.0))

    def curvature(self, mu: Slope, V: Matrix) -> Matrix:
        """Of a group beyond: the identity across mu's direction shrinks, the one along it does not."""
        beyond, norms = self._beyond(mu)
        there = np.where(beyond > 0, norms, 1.0)
        across = (beyond / there)[self.groups]
        along = self.part.sums((mu / there[self.groups])[:, None] * V)
        whole = (V.T * across) @ V + (along.T * np.where(beyond > 0, self.strength / there, 0.0)) @ along
        return np.asarray(whole / max(self.modulus, EPS))

    def shrinkage(self, mu: Slope, slack: float = 0.0) -> float:
        if self.modulus:
            return 1.0
        with np.errstate(over="ignore"):
            norms = self.part.norms(mu) * (1 + gamma(self.part.roundings))
            excess = float(((norms + slack) * (1 + 8 * EPS) / self.strength).max(initial=0.0))
        return 1.0 if excess <= 1 else (1.0 - gamma(self.part.roundings + 16)) / excess

    def subgradient(self, w: Slope) -> Slope:
        norms = self.part.norms(w)
        slopes = np.where(norms > 0, self.strength, 0.0) / np.where(norms > 0, norms, 1.0)
        return np.asarray((slopes[self.groups] + self.modulus) * w)

    def prox(self, v: Slope, step: float) -> Slope:
        norms = self.part.norms(v)
        keep = np.maximum(norms - step * self.strength, 0.0) / np.where(norms > 0, norms, 1.0)
        return np.asarray(keep[self.groups] * v / (1.0 + step * self.modulus))

    def take(self, columns: Indices) -> "GroupLasso":
        present = np.unique(self.groups[columns])
        return GroupLasso(self.groups[columns], self.weights[present], self.ratio)

    def held(self, ratio: float) -> "GroupLasso":
        return GroupLasso(self.groups, self.weights, ratio)

    def check(self, d: int) -> None:
        if len(self.groups) != d:
            raise ValueError(
                f"groups names the groups of {len(self.groups)} weights but there are {d} "
                "(one for each column of X and score of the loss)"
            )
