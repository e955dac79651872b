"""Linear ranking: the answers to queries, in the order of their relevance."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from gapfit._types import Indices, Maybe, Slope, Target, Vector
from gapfit.checks import as_weights
from gapfit.declaration import attribute, declared, parameter
from gapfit.design.given import unpacked
from gapfit.elsewhere import fetched
from gapfit.estimators.assertions import Assertions
from gapfit.estimators.blocks import by_blocks
from gapfit.estimators.fitting import all_or_nothing, warn_caller
from gapfit.estimators.linear import WithIntercept
from gapfit.estimators.linear_parts import LinearParts, Posed
from gapfit.estimators.probabilities import Calibrated, HeldOut
from gapfit.estimators.samples import Samples
from gapfit.estimators.targets import as_real, check_loss
from gapfit.losses import NDCG
from gapfit.persistence.objects import named_loss
from gapfit.persistence.values import FINITE
from gapfit.ranking_metrics import as_queries, mean_ndcg
from gapfit.reductions import Multiset

# what is called otherwise than in the registry
_FOLDS = 5
NAMES = {"pairwise": "pairwise_ranking", "map": "mean_average_precision"}


@declared
class Ranker(WithIntercept, Calibrated, Assertions):
    """A linear ranking whose fit carries a proof of how close to optimal it is.

    Documents i and j of one query with relevances y_i < y_j should have scores f_i < f_j, where f_i = x_i'w.
    It minimises ::

        J(w) = alpha * Omega(w) + R(X w)

    over w. With loss="pairwise" (RankSVM) R is the mean over all such pairs of all queries, ::

        R(f) = sum of s_i s_j max(0, 1 - (f_j - f_i)) / sum of s_i s_j

    where s_i are the weights. With loss="ndcg" it is the mean over the queries that have a relevant document
    of an upper bound of 1 - NDCG@10, made of the same pairs with prices; see `gapfit.losses.NDCG`. Neither
    looks at all pairs: a step takes O(n log n). With loss="map" it is the mean over the same queries of an
    upper bound of 1 - average precision, the largest over all rankings, for documents with y > 0 as the
    relevant ones; see `gapfit.losses.MeanAveragePrecision`. A step looks at every pair of a relevant and
    another document of a query. Only differences within a query count, so there is no intercept. A document
    of weight k counts as k documents of its query, one of weight 0 is absent.

    Queries that have no pair (one document, or all of the same relevance) say nothing about w. The means over
    pairs leave them out, and so do "ndcg" and "map" if nothing in them is relevant; otherwise their measure
    is 1 in any order, and they count as such. If no query has a pair, `fit` raises a ValueError.

    Notes
    -----
    The names of the queries do not matter, and where X has no more than 131,072 entries (of 10,000 documents
    at most) neither does their order: the model is the same to the last bit.

    `fit` and `score` ask for `qid` as metadata. With ``sklearn.set_config(enable_metadata_routing=True)``,
    ``GridSearchCV(Ranker(), grid, cv=GroupKFold()).fit(X, y, qid=qid, groups=qid)`` does what it says.

    Examples
    --------
    >>> X = [[1.0, 0.0], [0.0, 1.0], [3.0, 2.0], [2.0, 4.0]]
    >>> model = Ranker(alpha=0.1, tol=1e-8).fit(X, [1, 0, 2, 1], qid=["a", "a", "b", "b"])
    >>> model.coef_.round(3)
    array([ 0.5, -0.5])
    >>> model.score(X, [1, 0, 2, 1], qid=["a", "a", "b", "b"])
    1.0
    """

    loss: Any = parameter(
        """"pairwise", "ndcg", "map", or an object of `gapfit.losses`: `PairwiseRanking(mean="queries")`
        counts all queries the same, `NDCG(k=5)` looks at five places. `RocArea()`, `PartialRocArea()` and
        `OrdinalPairs()` know no queries and are taken without qid. Or a loss of your own.""",
        "str or Loss", default="pairwise", form=named_loss(*NAMES),
    )  # fmt: skip

    calibrate: str | None = parameter(
        """Fit the probability of relevance, y > 0, to the scores of queries left out: "sigmoid" or
        "isotonic"; see `relevance`.""",
        '"sigmoid", "isotonic" or None', default=None,
    )  # fmt: skip

    intercept_: float = attribute(FINITE, "", "0, as there is none.")

    # what scikit-learn's metadata routing hands on without being asked
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = self.loss == "ndcg" or isinstance(self.loss, NDCG)
        return tags

    @all_or_nothing
    def fit(self, X: Any, y: Maybe = None, qid: Maybe = None, sample_weight: Maybe = None) -> "Ranker":
        """X : array or sparse matrix of shape (n, d)
            A document a row.
        y : array of shape (n,)
            Relevance: the larger, the higher up. For "ndcg" from 0, which has no gain, to 60.
        qid : array of shape (n,), default=None
            The query that each document belongs to: numbers or words, in any order. None: all are one query.
        sample_weight : array of shape (n,), default=None
            For "ndcg" and "map" whole numbers.
        """
        self._solve(self._posed(X, y, qid, sample_weight))
        self._calibrate({"X": X, "y": y, "qid": qid, "sample_weight": sample_weight})
        return self

    def _posed(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> Posed:
        loss = check_loss(self.loss, Target.RELEVANCE, NAMES)
        _, y, sample_weight, qid = unpacked(X, y, sample_weight, qid)
        samples = self._samples(X, y, as_real, sample_weight)
        n = samples.given
        if n == 1:
            raise ValueError("X holds 1 sample only; there is nothing to put in order")
        query, queries = as_queries(qid, n)
        self._queries = queries
        if queries > 1 and loss.one_query:
            raise ValueError(f"{loss!r} knows no queries; leave qid out, or take loss='pairwise'")
        samples = _within_queries(samples, query)
        return Posed(samples, [samples.y], loss, False)

    def _point(self, parts: LinearParts, w: Sequence[Slope], b: Sequence[Any]) -> dict[str, Any]:
        return {"coef_": w[0], "intercept_": 0.0}

    @by_blocks
    def predict(self, X: Any) -> Vector:
        """The score x'coef_ of each row of X: the larger, the higher up among the documents of its query."""
        return self._scores(X)

    @by_blocks
    def relevance(self, X: Any) -> Vector:
        """The probability that each row of X is relevant, y > 0, if `calibrate` is not None.

        It rises with the score, whatever the query: scores of different queries are comparable only as far as
        their documents are.
        """
        check_is_fitted(self)
        if not hasattr(self, "calibration_"):
            raise ValueError("relevance needs a model that was fitted with calibrate='sigmoid' or 'isotonic'")
        return self._curves_at(self._scores(X))[:, 0]

    @classmethod
    def _n_curves(cls, fit: dict[str, Any]) -> int:
        return 1

    def _held_out(self, given: Mapping[str, Any]) -> HeldOut:
        """Whole queries are left out; of a single one, parts."""
        from sklearn.model_selection import GroupKFold, KFold  # most models are not calibrated

        X = self._checked(given["X"])
        n = X.shape[0]
        _, y, weight, qid = unpacked(given["X"], given["y"], given["sample_weight"], given["qid"])
        y, weight = as_real(y, n), as_weights(weight, n)
        query, queries = as_queries(qid, n)
        place, folds = (y > 0).astype(np.intp), min(_FOLDS, queries if queries > 1 else n)
        cut = GroupKFold(folds) if queries > 1 else KFold(folds, shuffle=True, random_state=0)
        splits = list(cut.split(place, place, query if queries > 1 else None))
        samples = {"X": X, "y": y, "sample_weight": weight, "qid": query}
        return HeldOut(samples, place, weight, splits)

    @by_blocks
    def decision_function(self, X: Any) -> Vector:
        """The same as `predict`."""
        return self._scores(X)

    def score(self, X: Any, y: ArrayLike, qid: Maybe = None, sample_weight: Maybe = None) -> float:
        """The mean of NDCG@10 over the queries that have a relevant document (NaN if none has).

        y is the relevance, from 0 to 60; a weight counts copies of a document within its query.
        `gapfit.ranking_metrics` has other measures, and scorers.
        """
        if qid is None and getattr(self, "_queries", 1) > 1:
            warn_caller(
                f"score was given no qid, so that all samples count as one query; fit was given "
                f"{self._queries} queries. Next: pass qid; in GridSearchCV, "
                "sklearn.set_config(enable_metadata_routing=True), cv=GroupKFold() and fit(..., groups=qid).",
                UserWarning,
            )
        y, qid, sample_weight = map(fetched, (y, qid, sample_weight))
        return mean_ndcg(y, fetched(self.predict(X)), qid, sample_weight=sample_weight)


def _within_queries(samples: Samples, query: Indices) -> Samples:
    """The samples, equal ones of different queries apart again, and the query of each."""
    there = np.flatnonzero(samples.origin.place >= 0)
    place, weight = samples.origin.place[there], samples.given_weight[there]
    query = _by_content(query[there], place, weight)
    queries = int(query.max()) + 1
    pairs, first, number = np.unique(place * queries + query, return_index=True, return_inverse=True)
    different, groups = np.divmod(pairs, queries)  # in the order of the samples, which may be canonical
    spread = np.full(len(samples.origin.place), -1)
    spread[there] = number
    merged = np.bincount(number, weight).astype(np.float64, copy=False)
    origin = Multiset(there[first], merged, spread)
    as_they_are = len(pairs) == len(samples.weight)  # no two queries share a sample
    X, y = (part if as_they_are else part[different] for part in (samples.X, samples.y))
    return samples._replace(X=X, y=y, weight=origin.weight, origin=origin, groups=groups)


def _by_content(query: Indices, place: Indices, weight: Vector) -> Indices:
    """Queries numbered by the samples that they hold, whatever they were called."""
    samples = int(place.max()) + 1
    pairs, number = np.unique(query * samples + place, return_inverse=True)
    held = np.empty(len(pairs), dtype=[("place", ">i8"), ("weight", ">f8")])  # bytes that sort as numbers do
    held["place"], held["weight"] = pairs % samples, np.bincount(number, weight)
    starts = np.flatnonzero(np.diff(pairs // samples, prepend=-1)).tolist()
    ends = [*starts[1:], len(pairs)]
    contents = [held[start:end].tobytes() for start, end in zip(starts, ends, strict=True)]
    rank = np.empty(len(contents), np.intp)
    rank[sorted(range(len(contents)), key=contents.__getitem__)] = np.arange(len(contents))
    present = np.unique(query, return_inverse=True)[1]
    return np.asarray(rank[present])
