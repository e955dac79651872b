"""Measures of a ranking, query by query, against scikit-learn's."""

import doctest

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import average_precision_score, ndcg_score

from gapfit import ranking_metrics
from gapfit.ranking_metrics import (
    average_precision_per_query,
    mean_average_precision,
    mean_ndcg,
    ndcg_per_query,
)

Y = np.array([0.0, 1.0, 2.0, 0.0, 3.0, 1.0])
QID = np.array([0, 0, 0, 1, 1, 1])
WORDS = np.array([f"query {k}" for k in range(12)])  # "query 10" comes before "query 2"


def draw(rng):
    n = int(rng.integers(2, 40))
    y, scores, qid = rng.integers(0, 4, size=n), rng.normal(size=n), rng.integers(0, 4, size=n)
    if rng.random() < 0.5:
        scores = np.rint(scores)  # ties
    return y, scores, qid


@pytest.mark.parametrize("k", [1, 3, 10, None])
def test_measures_are_those_of_scikit_learn(k):
    rng = np.random.default_rng(0)
    for _ in range(100):
        y, scores, qid = draw(rng)
        ndcg = ndcg_per_query(y, scores, WORDS[qid], k)
        precision = average_precision_per_query(y, scores, qid)
        for value, average, query in zip(ndcg, precision, np.unique(qid), strict=True):
            its = qid == query
            if not y[its].any():
                assert np.isnan(value) and np.isnan(average)
                continue
            assert_allclose(average, average_precision_score(y[its] > 0, scores[its]), rtol=1e-12)
            if its.sum() > 1:  # one document is an error there
                expected = ndcg_score([2.0 ** y[its] - 1], [scores[its]], k=k)
                assert_allclose(value, expected, rtol=1e-12)
            else:
                assert value == 1


def test_weights_of_measures_are_copies():
    rng = np.random.default_rng(0)
    for _ in range(100):
        y, scores, qid = draw(rng)
        weight = rng.integers(0, 4, size=len(y))
        weight[0] = 1
        copies = np.repeat(np.arange(len(y)), weight)
        there = np.isin(np.unique(qid), qid[copies])
        for measure in (ndcg_per_query, average_precision_per_query):
            weighted = measure(y, scores, qid, sample_weight=weight)
            repeated = measure(y[copies], scores[copies], qid[copies])
            assert_allclose(weighted[there], repeated, rtol=1e-12)
            assert np.isnan(weighted[~there]).all()
        assert_allclose(
            average_precision_per_query(y, scores, qid, sample_weight=0.3 * weight),
            average_precision_per_query(y, scores, qid, sample_weight=weight),
            rtol=1e-12,
        )


def test_measures_do_not_depend_on_the_order_and_means_leave_out_what_has_no_value():
    rng = np.random.default_rng(0)
    y, scores, qid = np.array([2, 0, 1, 0, 0, 1]), np.array([1, 1, 0, 3, 2, 1.0]), np.array(list("aabbcc"))
    order = rng.permutation(6)
    for measure in (ndcg_per_query, average_precision_per_query):
        assert_allclose(measure(y, scores, qid), measure(y[order], scores[order], qid[order]), rtol=1e-12)
    none = np.where(qid == "b", 0, y)
    assert_allclose(mean_ndcg(none, scores, qid), ndcg_per_query(none, scores, qid)[[0, 2]].mean())
    precision = average_precision_per_query(none, scores, qid)
    assert_allclose(mean_average_precision(none, scores, qid), precision[[0, 2]].mean())
    assert np.isnan(mean_ndcg(0 * y, scores, qid)) and np.isnan(mean_average_precision(0 * y, scores, qid))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k must"), ({"k": 1.5}, "k must"), ({"k": True}, "k must"), ({"y": Y - 1}, "y must lie"),
        ({"scores": Y[1:]}, "scores"), ({"qid": QID[1:]}, "qid"), ({"scores": Y * np.nan}, "scores"),
        ({"sample_weight": -Y}, "sample_weight"),
    ],
)  # fmt: skip
def test_measures_name_what_they_cannot_take(change, message):
    with pytest.raises(ValueError, match=message):
        ndcg_per_query(**{"y": Y, "scores": Y, "qid": QID, **change})


def test_examples():
    results = doctest.testmod(ranking_metrics)
    assert results.attempted >= 2 and results.failed == 0
