"""Means over pairs of samples: who should be above whom. Weights multiply, so weight k equals k copies.

None of them changes when all scores are shifted, so they have no intercept.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gapfit._types import Indices, Matrix, Target, Vector
from gapfit.elsewhere import finite, looped
from gapfit.errors import as_costs, as_share
from gapfit.losses.base import Loss, Risk
from gapfit.losses.contingency import check_labels
from gapfit.losses.forms import PairList, Pairs
from gapfit.losses.sorting import descending
from gapfit.rounding import EPS
from gapfit.rowwise import is_repeated, once

_MANY = 1000  # levels, for which a table of costs is too large


class RankRisk(Risk):
    """The maximum of planes <u, f> + c, one for each way to rank, none of which knows a common shift."""

    infimum = 0.0
    steepness: float = 2.0  # what all slopes add up to in absolute values, at most: 2 for a mean over pairs

    def rise(self, slack: Vector) -> float:
        return self.steepness * float(slack.max(initial=0.0)) * (1 + 16 * EPS)

    def roundings(self, scores: Vector) -> int:
        """Weights are divided and multiplied, summed up in order, and differences of sums taken."""
        return 16 * scores.size + 256

    @abstractmethod
    def highest_plane(self, scores: Vector, u: Vector) -> float:
        """Write to u (zeros) the slope of the plane that is highest at these scores, and return its c.

        For a mean over pairs of max(0, 1 - (f_j - f_i)) that is the weight of the pairs with f_j - f_i < 1.
        """

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        u = np.zeros_like(scores)
        if not finite(scores):
            return float(np.abs(scores).sum()), u, np.zeros(0)
        c = self.highest_plane(scores, u)
        return max(c + float(u @ scores), 0.0), u, np.zeros(0)


def each_with_lower(lower: Indices, start: Indices) -> tuple[Indices, Indices]:
    """Each sample, and one after the other of those that should be below it: from `start`, so many."""
    before = np.cumsum(lower) - lower
    return np.repeat(np.arange(len(lower)), lower), np.arange(lower.sum()) - np.repeat(before - start, lower)


def with_weights(above: Indices, below: Indices, weight: Vector) -> PairList:
    """The pairs that count: a product of weights may vanish."""
    there = weight > 0
    return PairList(above[there], below[there], weight[there])


class _Area(Loss):
    target = Target.RELEVANCE
    one_query = True
    anywhere = True

    def check_target(self, y: Vector) -> None:
        check_labels(self, y)


class RocArea(_Area):
    """The area above the ROC curve, with a margin: the mean over all pairs of a positive i and a negative j

    of max(0, 1 - (f_i - f_j)).
    """

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        return AreaRisk(self, 1.0, y, weight)


class PartialRocArea(_Area):
    """The area above the part of the ROC curve with false positive rate up to max_fpr, with a margin:

    the mean of max(0, 1 - (f_i - f_j)) over all positives i and the negatives j with the highest scores,
    which make up a share max_fpr of the negatives' weight (the last of them in part). It is the largest such
    mean over all choices of negatives, which makes it convex.
    """

    def __init__(self, max_fpr: float = 0.1) -> None:
        self.max_fpr = as_share("max_fpr", max_fpr)

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        return AreaRisk(self, self.max_fpr, y, weight)


class AreaRisk(RankRisk):
    """The mean over positives and a share of the negatives, those with the highest scores."""

    def __init__(self, loss: Loss, share: float, y: Any, weight: Vector) -> None:
        y = loss.prepare(y, weight)[0]
        self.loss, self.share = loss, share
        P, N = weight[y > 0].sum(), weight[y < 0].sum()
        self.signed = y * (weight / np.where(y > 0, P, share * N))  # of negatives, less than zero
        self.half = 0.5 * y
        # the weights of positives and negatives, if there are no others
        self.units: Vector | None = None
        if is_repeated(once(weight)):
            self.units = np.asarray(np.array([weight[0] / P, -weight[0] / (share * N)]), like=weight)

    def highest_plane(self, scores: Vector, u: Vector) -> float:
        count = looped(wrong_pairs, u)  # i is below j in the order of these where f_i - f_j < 1
        return float(count(scores - self.half, self.signed, self.units, 1.0, u))

    def forms(self) -> Iterator[Any]:
        if self.share == 1.0:  # else which negatives are in a pair depends on the scores
            yield Pairs(self._count, self._pairs)

    def _count(self) -> int:
        positives = int((self.signed > 0).sum())
        return positives * (len(self.signed) - positives)

    def _pairs(self) -> PairList:
        order = np.argsort(self.signed > 0, kind="stable")  # negatives first
        signed = self.signed[order]
        lower = np.where(signed > 0, np.count_nonzero(signed < 0), 0)
        above, below = each_with_lower(lower, np.zeros_like(lower))
        return with_weights(order[above], order[below], signed[above] * -signed[below])


def wrong_pairs(scores: Vector, signed: Vector, units: Vector | None, limit: float, u: Vector) -> float:
    """What `compiled.rank` says of the descending order of scores. Of `units`, two numbers that `signed` is
    made of, others may make use."""
    from gapfit.compiled.rank import positives_below_negatives

    del units
    order, _ = descending(scores)
    return float(positives_below_negatives(order, signed, limit, u))


class OrdinalPairs(Loss):
    """Ordinal regression by pairs: the mean over all pairs with y_i < y_j of

    cost(y_i, y_j) max(0, 1 - (f_j - f_i)).

    Parameters
    ----------
    cost : "difference" (default), y_j - y_i; or a table, cost[y_i][y_j] >= 0, for levels y = 0, 1, 2, ...
        Only entries above the diagonal are used.

    O(n log n + levels * n). The mean is over the weighted number of pairs, whatever they cost.
    """

    target = Target.RELEVANCE | Target.LEVELS
    one_query = True

    def __init__(self, cost: Literal["difference"] | ArrayLike = "difference") -> None:
        if not isinstance(cost, str):
            cost = as_costs("cost", cost)
        elif cost != "difference":
            raise ValueError(f"cost must be 'difference' or a table, got {cost!r}")
        self.cost = cost

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        y, p = self.prepare(y, weight)
        levels, level = levels_of(self, y, _MANY)
        return OrdinalRisk(self, level, p, self.table(levels))

    def table(self, levels: Vector) -> Matrix:
        """The cost of each pair of levels."""
        if isinstance(self.cost, str):
            return levels - levels[:, None]
        table = np.array(self.cost)
        if not np.isin(levels, np.arange(len(table))).all():
            raise ValueError(f"y must hold the levels 0 to {len(table) - 1} that `cost` has rows for")
        chosen = levels.astype(np.intp)
        return np.asarray(table[np.ix_(chosen, chosen)])


def levels_of(loss: Loss, y: Vector, most: int) -> tuple[Vector, Indices]:
    """The levels in y, at least two and not too many, and which of them each sample has."""
    levels, level = np.unique(y, return_inverse=True)
    if len(levels) < 2:
        raise ValueError(f"y holds one level only, {levels[0]:g}, and {loss!r} needs at least two levels")
    if len(levels) > most:
        raise ValueError(
            f"y holds {len(levels)} levels, and {loss!r} is for at most {most}; "
            "cut y into fewer with np.digitize, or fit a regression"
        )
    return levels, level


class OrdinalRisk(RankRisk):
    """A mean over all pairs of different levels, with costs."""

    def __init__(self, loss: OrdinalPairs, level: Any, p: Vector, cost: Matrix) -> None:
        self.loss: Loss = loss
        self.level, self.p = level, p
        mass = np.bincount(level, p)
        self.cost = np.triu(cost, 1) / float(mass[1:] @ np.cumsum(mass)[:-1])
        self.steepness = 2.0 * float(mass @ self.cost @ mass)

    def highest_plane(self, scores: Vector, u: Vector) -> float:
        from gapfit.compiled.rank import pairs_with_costs

        order, values = descending(scores)
        parts = np.empty_like(u)
        total = pairs_with_costs(values, self.level[order], self.p[order], self.cost, parts)
        u[order] = parts
        return float(total)

    def forms(self) -> Iterator[Any]:
        yield Pairs(self._count, self._pairs)

    def _count(self) -> int:
        number = np.bincount(self.level)
        return int(number[1:] @ np.cumsum(number)[:-1])

    def _pairs(self) -> PairList:
        order = np.argsort(self.level, kind="stable")
        level, p = self.level[order], self.p[order]
        lower = np.searchsorted(level, level)  # the place at which a level begins
        above, below = each_with_lower(lower, np.zeros_like(lower))
        weight = p[above] * p[below] * self.cost[level[below], level[above]]
        return with_weights(order[above], order[below], weight)
