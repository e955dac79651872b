"""How good a ranking is, query by query: NDCG@k and average precision, and scorers made of their means.

Documents with equal scores share their places, so no measure depends on the order of the rows. A document of
weight v counts as v copies of it in its query; all queries count the same. A query without a relevant
document (y > 0) has no value: it is NaN here, and is left out of the means.
"""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.metrics import make_scorer

from gapfit._types import Indices, Maybe, Vector
from gapfit.checks import as_column, as_weights

__all__ = ["average_precision_per_query", "map_scorer", "mean_average_precision", "mean_ndcg"]
__all__ += ["ndcg_per_query", "ndcg_scorer"]

_LARGEST = 60.0  # relevance, whose gain is 2^y - 1


def ndcg_per_query(
    y: ArrayLike, scores: ArrayLike, qid: Maybe = None, k: int | None = 10, sample_weight: Maybe = None
) -> Vector:
    """NDCG@k of each query: the discounted gain of the first k places, over that of the ideal order.

    The gain of relevance y is 2^y - 1, the discount of place p is 1 / log2(1 + p). Documents with equal
    scores get the mean discount of the places that they share, as in `sklearn.metrics.ndcg_score`, whose
    gain is linear: ``ndcg_score([2**y - 1], [scores], k=k)`` is the same number for one query.

    Parameters
    ----------
    y : array of shape (n,)
        Relevance, from 0 to 60. For linear gains, hand over log2(1 + y).
    scores : array of shape (n,)
    qid : array of shape (n,), default=None
        The query that each document belongs to, in any order and of any kind; None: all are one query.
    k : int or None, default=10
        How many places count; None for all.
    sample_weight : array of shape (n,), default=None
        Copies of each document within its query. Those in between share a place in part.

    Returns
    -------
    values : array of shape (queries,)
        In the order of ``np.unique(qid)``; NaN for a query without a relevant document.

    Examples
    --------
    >>> ndcg_per_query([2, 0, 1, 0], [0.3, 0.1, 0.9, 0.5], ["b", "a", "b", "a"]).round(3)
    array([  nan, 0.797])
    """
    if k is not None and (isinstance(k, bool) or not isinstance(k, Integral) or k < 1):
        raise ValueError(f"k must be a whole number from 1 on, or None, got {k!r}")
    documents = _Documents.of(y, scores, qid, sample_weight)
    if ((documents.y < 0) | (documents.y > _LARGEST)).any():
        raise ValueError(f"y must lie between 0 and {_LARGEST:g} for NDCG, whose gains are 2^y - 1")
    gain = np.exp2(documents.y) - 1.0
    return _share(_discounted(documents, gain, documents.scores, k), _discounted(documents, gain, gain, k))


def average_precision_per_query(
    y: ArrayLike, scores: ArrayLike, qid: Maybe = None, sample_weight: Maybe = None
) -> Vector:
    """Average precision of each query: the mean, over its relevant documents, of the precision down to them.

    Documents with y > 0 are relevant. Those with equal scores are all there or not at all, as in
    `sklearn.metrics.average_precision_score`, which is the same number for one query. What it takes and
    returns is as in `ndcg_per_query`, but y may be any number.

    Examples
    --------
    >>> average_precision_per_query([2, 0, 1, 0], [0.9, 0.5, 0.3, 0.1]).round(3)
    array([0.833])
    """
    documents = _Documents.of(y, scores, qid, sample_weight)
    relevant = (documents.y > 0).astype(np.float64)
    ties = _Ties.of(documents, documents.scores)
    hits = np.bincount(ties.number, (documents.weight * relevant)[ties.order])
    before = np.r_[0.0, np.cumsum(hits)]
    down_to_here = before[1:] - before[ties.first_of_query]
    summed = np.bincount(ties.query, hits * down_to_here / ties.end, documents.queries)
    return _share(summed, np.bincount(documents.query, documents.weight * relevant, documents.queries))


def mean_ndcg(
    y: ArrayLike, scores: ArrayLike, qid: Maybe = None, k: int | None = 10, sample_weight: Maybe = None
) -> float:
    """The mean of `ndcg_per_query` over the queries with a relevant document; NaN if there is none."""
    return _mean(ndcg_per_query(y, scores, qid, k, sample_weight))


def mean_average_precision(
    y: ArrayLike, scores: ArrayLike, qid: Maybe = None, sample_weight: Maybe = None
) -> float:
    """MAP: the mean of `average_precision_per_query` over the queries with a relevant document, or NaN."""
    return _mean(average_precision_per_query(y, scores, qid, sample_weight))


def ndcg_scorer(k: int | None = 10) -> Any:
    """A scorer for `GridSearchCV` and the like: `mean_ndcg` at k, which asks for `qid`.

    It takes metadata, so ``sklearn.set_config(enable_metadata_routing=True)`` comes first.
    """
    return _asking_for_qid(mean_ndcg, k=k)


def map_scorer() -> Any:
    """A scorer for `GridSearchCV` and the like: `mean_average_precision`, which asks for `qid`.

    It takes metadata, so ``sklearn.set_config(enable_metadata_routing=True)`` comes first.
    """
    return _asking_for_qid(mean_average_precision)


def as_queries(qid: Maybe, n: int) -> tuple[Indices, int]:
    """The query of each document as a number from 0, in the order of np.unique, and how many there are."""
    if qid is None:
        return np.zeros(n, np.intp), 1
    qid = np.asarray(qid)
    if qid.shape != (n,):
        raise ValueError(f"qid must hold one query for each row of X: shape {qid.shape}, not {(n,)}")
    if qid.dtype.kind == "f" and not np.isfinite(qid).all():
        raise ValueError("qid must not hold NaN or infinity")
    try:
        names, query = np.unique(qid, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"qid must hold values of one kind, numbers or words: {error}") from error
    return query.astype(np.intp), len(names)


class _Documents(NamedTuple):
    """What a measure is given, validated; documents without weight are absent."""

    y: Vector
    scores: Vector
    query: Indices
    weight: Vector
    queries: int

    @classmethod
    def of(cls, y: Any, scores: Any, qid: Any, sample_weight: Any) -> "_Documents":
        n = len(np.atleast_1d(np.asarray(y)))
        y, scores, weight = as_column("y", y, n), as_column("scores", scores, n), as_weights(sample_weight, n)
        query, queries = as_queries(qid, n)
        there = weight > 0
        return cls(y[there], scores[there], query[there], weight[there], queries)


class _Ties(NamedTuple):
    """Documents query by query, best first; those that are equal make one tie."""

    order: Indices  # of the documents
    number: Indices  # of the tie that each of them, in this order, belongs to
    query: Indices  # of each tie
    first_of_query: Indices  # the first tie of the query of each tie
    start: Vector  # of each tie: the weight before it in its query
    end: Vector  # and with it

    @classmethod
    def of(cls, documents: _Documents, key: Vector) -> "_Ties":
        order = np.lexsort((-key, documents.query))
        query, key = documents.query[order], key[order]
        new_query = np.r_[True, np.diff(query) > 0]
        new = np.r_[True, np.diff(key) != 0] | new_query
        number = np.cumsum(new) - 1
        starts = number[new_query]  # the first tie of each query that has documents
        first = np.repeat(starts, np.diff(np.r_[starts, number[-1] + 1]))
        before = np.r_[0.0, np.cumsum(np.bincount(number, documents.weight[order]))]
        return cls(order, number, query[new], first, before[:-1] - before[first], before[1:] - before[first])


def _discounted(documents: _Documents, gain: Vector, key: Vector, k: int | None) -> Vector:
    """The discounted gain of each query's documents in the descending order of a key."""
    ties = _Ties.of(documents, key)
    places = int(np.ceil(ties.end.max()))
    places = places if k is None else min(places, int(k))
    down_to = np.r_[0.0, np.cumsum(1.0 / np.log2(np.arange(2, places + 2)))]  # level from the last place on
    discount = np.interp(ties.end, np.arange(places + 1), down_to)
    discount -= np.interp(ties.start, np.arange(places + 1), down_to)
    gains = np.bincount(ties.number, (documents.weight * gain)[ties.order])
    each = gains * discount / (ties.end - ties.start)
    return np.bincount(ties.query, each, documents.queries).astype(np.float64, copy=False)


def _share(part: NDArray[Any], whole: NDArray[Any]) -> Vector:
    """part / whole, or NaN where the whole is nothing."""
    return np.asarray(np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0))


def _mean(values: Vector) -> float:
    valued = values[~np.isnan(values)]
    return float(valued.mean()) if len(valued) else float("nan")


def _asking_for_qid(measure: Any, **options: Any) -> Any:
    scorer = make_scorer(measure, response_method=("decision_function", "predict"), **options)
    with config_context(enable_metadata_routing=True):  # a request may be made before it is of use
        return scorer.set_score_request(qid=True)
