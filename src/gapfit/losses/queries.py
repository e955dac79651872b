"""Who should be above whom in the answer to each query: means over pairs, and bounds of list measures."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Indices, Target, Vector
from gapfit.checks import as_groups
from gapfit.elsewhere import fetched, looped
from gapfit.errors import as_count, as_number
from gapfit.losses.base import Loss, Risk
from gapfit.losses.forms import PairList, Pairs
from gapfit.losses.ranking import RankRisk, each_with_lower, with_weights
from gapfit.losses.sorting import descending


class Queries:
    """Samples query by query, and in each level by level, from the lowest up: the order of all arrays."""

    def __init__(self, y: Vector, weight: Vector, groups: Any) -> None:
        from gapfit.compiled.rank import add_others  # compiled code is loaded only when it is to run

        y, weight = fetched(y), fetched(weight)
        query = _numbered(fetched(groups), len(y))
        self.rows: Indices = np.lexsort((y, query))
        self.query, self.y, self.weight = query[self.rows], y[self.rows], weight[self.rows]
        first = np.r_[True, np.diff(self.query) > 0]
        self.starts = np.r_[np.flatnonzero(first), len(y)]
        new_level = np.r_[True, np.diff(self.y) > 0] | first
        block = np.cumsum(new_level) - 1  # levels of all queries, numbered
        self.level: Indices = block - block[self.starts[self.query]]
        # weights of the query's samples on the same level, on lower, and on higher ones; only sums, query by
        # query: the difference of two sums over all would know nothing of small weights
        same = np.add.reduceat(self.weight, np.flatnonzero(new_level))
        lower, higher = np.zeros_like(same), np.zeros_like(same)
        add_others(same, np.r_[block[self.starts[:-1]], len(same)], lower, higher)
        self.same: Vector = same[block]
        self.lower: Vector = lower[block]
        self.higher: Vector = higher[block]

    def sums(self, values: Vector) -> Vector:
        """The sum over the samples of each query."""
        return np.asarray(np.bincount(self.query, values))


def _numbered(groups: Any, n: int) -> Indices:
    """The query of each sample, numbered from zero; one for all without groups."""
    return np.zeros(n, np.intp) if groups is None else as_groups(groups, n).astype(np.intp, copy=False)


class Lists(NamedTuple):
    """What pairs are counted by: all in the order of `Queries`."""

    rows: Indices
    query: Indices
    starts: Indices
    level: Indices
    weight: Vector
    price: Vector
    pairs: float  # of samples of one query, how many there are


def pairs_of_queries(scores: Vector, lists: Lists, u: Vector) -> float:
    """Write to u the slopes of the highest plane, and return the weight of its pairs."""
    from gapfit.compiled.rank import pairs_within_runs

    rows, _, starts, level, weight, price, _ = lists
    order, values = descending(scores[rows], starts)
    parts = np.empty_like(u)
    total = pairs_within_runs(values, starts, level[order], weight[order], price[order], parts)
    u[rows[order]] = parts
    return float(total)


class QueryRisk(RankRisk):
    """sum over the pairs of each query with y_i < y_j of weight_i price_j max(0, 1 - (f_j - f_i)).

    Vectors are where `like` is.
    """

    def __init__(self, loss: Loss, queries: Queries, price: Vector, like: Vector) -> None:
        if not (price * queries.lower).any():
            raise ValueError(f"y must differ between two samples of some query for {loss!r}")
        self.loss = loss
        parts = queries.rows, queries.query, queries.starts, queries.level, queries.weight, price
        sizes = np.diff(queries.starts).astype(np.float64)
        rows, query, starts, level, weight, costs = (np.asarray(part, like=like) for part in parts)
        self.lists = Lists(rows, query, starts, level, weight, costs, float(sizes @ sizes))
        self.steepness = 2.0 * float(price @ queries.lower)

    def highest_plane(self, scores: Vector, u: Vector) -> float:
        return float(looped(pairs_of_queries, u)(scores, self.lists, u))

    def forms(self) -> Iterator[Any]:
        yield Pairs(self._count, self._pairs)

    def _count(self) -> int:
        return int(self._lower.sum())

    @cached_property
    def _lower(self) -> Indices:
        """How many documents should be below each, in the order of all arrays."""
        lists, place = self.lists, np.arange(len(self.lists.price))
        first = np.r_[True, (np.diff(lists.level) != 0) | (np.diff(lists.query) > 0)]
        begins = np.maximum.accumulate(np.where(first, place, 0))  # the place at which its level does
        return np.where(lists.price > 0, begins - lists.starts[lists.query], 0)

    def _pairs(self) -> PairList:
        lists = self.lists
        above, below = each_with_lower(self._lower, lists.starts[lists.query])
        weight = lists.weight[below] * lists.price[above]
        return with_weights(lists.rows[above], lists.rows[below], weight)


class PairwiseRanking(Loss):
    """max(0, 1 - (f_j - f_i)) for all pairs of a query's samples with y_i < y_j, as in RankSVM.

    `groups` says which query each sample belongs to, in any order; without it, all are one query. The levels
    y may be any numbers: only their order within a query counts. O(n log n), never all pairs. Weights
    multiply, so weight k equals k copies. A common shift changes nothing: no intercept.

    Parameters
    ----------
    mean : "pairs" (default), the mean over all pairs of all queries, or "queries", the mean over the queries
        (those with a pair) of the mean over each one's pairs.
    """

    target = Target.RELEVANCE
    anywhere = True

    def __init__(self, mean: Literal["pairs", "queries"] = "pairs") -> None:
        if mean not in ("pairs", "queries"):
            raise ValueError(f"mean must be 'pairs' or 'queries', got {mean!r}")
        self.mean = mean

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        y, _ = self.prepare(y, weight)
        # a power of two leaves whole numbers exact, and products within bounds
        queries = Queries(y, weight / 2.0 ** np.frexp(weight.max())[1], groups)
        pairs = queries.sums(queries.weight * queries.lower)
        if self.mean == "pairs":
            share = np.full(len(pairs), 1.0 / (float(pairs.sum()) or 1.0))
        else:
            share = _mean_over_queries(pairs)
        return QueryRisk(self, queries, queries.weight * share[queries.query], weight)


def _mean_over_queries(units: Vector) -> Vector:
    """What one unit of each query counts if all queries that have any count the same, one altogether."""
    count = int((units > 0).sum())
    return np.asarray(1.0 / np.where(units > 0, units * count, np.inf))


def _check_copies(loss: Loss, weight: Vector) -> None:
    if not (weight == np.rint(weight)).all():
        raise ValueError(f"sample_weight must hold whole numbers for {loss!r}: they count copies")


class NDCG(Loss):
    """1 - NDCG@k, bounded from above by pairs: the mean over queries of

    sum over pairs with y_i < y_j of  price_j max(0, 1 - (f_j - f_i)),

    price_j = (2^y_j - 1) / DCG(ideal) * max over m of (d(p_j) - d(p_j + m)) / m,

    where d(p) = 1 / log2(1 + p) for the places p = 1 to k and 0 below, DCG(ideal) is the sum of gains 2^y - 1
    times d in the best order, and p_j the first place of j's level in it. A sample that m samples of lower
    levels have overtaken is at most m places lower, and has lost at most m times its price. O(n log n).

    `groups` says which query each sample belongs to; queries without gain (y = 0 throughout) are left out.
    Weights must be whole numbers: they count copies of a sample within its query. For linear gains, hand over
    log2(1 + y). A common shift changes nothing: no intercept.

    Parameters
    ----------
    k : whole number of places that count, or None for all
    """

    target = Target.RELEVANCE
    anywhere = True
    unit_free: ClassVar[bool] = False  # twice the copies make a list of twice the length

    def __init__(self, k: int | None = 10) -> None:
        self.k = as_count("k", k, 1)

    def check_target(self, y: Vector) -> None:
        if (y < 0).any() or (y > 60).any():
            raise ValueError(f"y must lie between 0 and 60 for {self!r}, whose gains are 2^y - 1")

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        y, _ = self.prepare(y, weight)
        _check_copies(self, weight)
        queries = Queries(y, weight, groups)
        longest = float((queries.higher + queries.same + queries.lower).max())
        k = int(longest if self.k is None else min(self.k, longest))
        discount = np.r_[1.0 / np.log2(np.arange(2, k + 2)), 0.0]
        total = np.r_[0.0, np.cumsum(discount[:k])]
        # places in the ideal order, counted from zero; all beyond k are alike
        first, second, end = (
            np.minimum(queries.higher + more, k).astype(np.intp) for more in (0.0, 1.0, queries.same)
        )
        gain = np.exp2(queries.y) - 1.0
        ideal = queries.sums(gain * queries.weight * (total[end] - total[first]) / queries.same)
        # discounts fall ever more slowly, but for the drop after place k
        to_the_drop = np.maximum(k - first, 1)
        drop = np.where(to_the_drop <= queries.lower, discount[first] / to_the_drop, 0.0)
        fall = np.maximum(discount[first] - discount[second], drop)
        share = _mean_over_queries(ideal)
        return QueryRisk(self, queries, queries.weight * gain * fall * share[queries.query], weight)


class MeanAveragePrecision(Loss):
    """1 - average precision, bounded from above as SVM-MAP does: the mean over queries of the largest

    1 - AP(ranking) + 2 / (P N) * sum over pairs that the ranking has the wrong way round of (f_j - f_i),

    over all rankings of the query's documents. Such a pair is a relevant i below another document j, and a
    query has P relevant documents and N others. The ranking by scores is one of them, so this is at least
    1 - AP; if scores are tied, for the worst of their orders. O(P N) for each query.

    Relevant are documents with y above `threshold`; other differences of y do not count. `groups` says which
    query each sample belongs to. Queries without a relevant document are left out; those without any other
    count as 0. Weights must be whole numbers: they count copies of a sample within its query, and these are
    made. A common shift changes nothing: no intercept.

    Parameters
    ----------
    threshold : the largest y that is not relevant
    """

    target = Target.RELEVANCE
    unit_free: ClassVar[bool] = False  # the precision at a place depends on the number of copies

    def __init__(self, threshold: float = 0.0) -> None:
        if not np.isfinite(as_number("threshold", threshold)):
            raise ValueError(f"threshold must be finite, got {threshold!r}")
        self.threshold = threshold

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        y, _ = self.prepare(y, weight)
        _check_copies(self, weight)
        if weight.sum() > _COPIES:
            raise ValueError(
                f"sample_weight counts {weight.sum():.3g} copies, too many for {self!r}; scale it down"
            )
        return PrecisionRisk(self, y > self.threshold, weight, _numbered(groups, len(y)))


_COPIES = 1e8


class PrecisionRisk(RankRisk):
    """The mean over queries of a maximum over rankings."""

    steepness = 4.0  # a pair the wrong way round counts twice

    def __init__(
        self, loss: MeanAveragePrecision, relevant: NDArray[np.bool_], weight: Vector, query: Indices
    ) -> None:
        self.loss: Loss = loss
        run = 2 * query + ~relevant  # the relevant documents of each query, then its others
        order = np.argsort(run, kind="stable")
        self.rows: Indices = np.repeat(order, weight[order].astype(np.intp))
        sizes = np.bincount(run, weight, 2 * int(query.max()) + 2).astype(np.intp)
        self.starts: Indices = np.r_[0, np.cumsum(sizes)]
        found, others = sizes[::2], sizes[1::2]
        if not (found * others).any():
            raise ValueError(
                f"y must be above {loss.threshold:g} for some but not all samples of some query for {loss!r}"
            )
        self.queries = int(np.count_nonzero(found))

    def highest_plane(self, scores: Vector, u: Vector) -> float:
        from gapfit.compiled.average_precision import worst_rankings

        order, values = descending(scores[self.rows], self.starts)
        parts = np.empty_like(values)
        constant = worst_rankings(values, self.starts, parts)
        u += np.bincount(self.rows[order], parts, len(u)) / self.queries
        return float(constant) / self.queries
