"""Measures of binary predictions and their best thresholds, against scikit-learn and brute force."""

import doctest
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    fbeta_score,
    jaccard_score,
    matthews_corrcoef,
    precision_score,
    recall_score,
    roc_auc_score,
)

from gapfit import losses, metrics
from gapfit.metrics import as_metric, best_threshold, sweep


def youden(tp, fp, fn, tn):
    return tp / (tp + fn) - fp / (fp + tn)


SKLEARN = {
    "f1": f1_score,
    "jaccard": jaccard_score,
    "matthews": matthews_corrcoef,
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
    losses.FBeta(0.5): lambda y, p, **w: fbeta_score(y, p, beta=0.5, **w),
    youden: lambda y, p, **w: recall_score(y, p, **w) + recall_score(~y, ~p, **w) - 1,
}


def draw(rng, n=11):
    """Few scores with ties, both classes, weights."""
    positive = rng.random(n) < 0.4
    positive[:2] = True, False
    return rng.integers(0, 6, n) / 4.0, positive, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("metric", SKLEARN, ids=lambda metric: getattr(metric, "__name__", str(metric)))
def test_the_best_threshold_is_that_of_brute_force(metric):
    rng = np.random.default_rng(0)
    for _ in range(40):
        scores, positive, weight = draw(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = [
                SKLEARN[metric](positive, scores > cut, sample_weight=weight) for cut in np.r_[-1.0, scores]
            ]
            threshold, value = best_threshold(metric, scores, positive, weight)
            there = SKLEARN[metric](positive, scores > threshold, sample_weight=weight)
        assert abs(value - max(values)) < 1e-12 and abs(there - value) < 1e-12
        assert as_metric(metric).value(scores, positive, weight, threshold) == value


@pytest.mark.parametrize("metric", SKLEARN, ids=lambda metric: getattr(metric, "__name__", str(metric)))
def test_a_unit_of_weight_changes_no_measure(metric):
    rng = np.random.default_rng(4)
    for _ in range(40):
        scores, positive, weight = draw(rng, 30)
        value = best_threshold(metric, scores, positive, weight)[1]
        assert_allclose(best_threshold(metric, scores, positive, weight / 7.3)[1], value, atol=1e-9)


def test_floors_by_brute_force():
    rng = np.random.default_rng(1)
    cases = {
        losses.PrecisionAtRecall(0.6): (precision_score, recall_score),
        losses.RecallAtPrecision(0.6): (recall_score, precision_score),
    }
    for _ in range(30):
        scores, positive, weight = draw(rng)
        for metric, (value, floored) in cases.items():
            options = dict(sample_weight=weight, zero_division=0)
            best = max(
                value(positive, scores > cut, **options)
                * (floored(positive, scores > cut, **options) >= 0.6 - 1e-12)
                for cut in np.r_[-1.0, scores]
            )
            assert abs(best_threshold(metric, scores, positive, weight)[1] - best) < 1e-12


def test_at_k_equals_copies_and_shares_ties():
    rng = np.random.default_rng(2)
    for _ in range(100):
        scores, positive, weight = draw(rng)
        copies = np.repeat(np.arange(len(scores)), weight.astype(int))
        ones = np.ones(len(copies))
        k = int(rng.integers(1, len(copies)))
        for loss in (losses.PrecisionAtK(k), losses.RecallAtK(k), losses.Lift(k), losses.BreakEven()):
            metric = as_metric(loss)
            value = metric.value(scores, positive, weight)
            assert_allclose(metric.value(scores[copies], positive[copies], ones), value)
            chosen = positive.dot(weight) if isinstance(loss, losses.BreakEven) else k
            orders = [np.argsort(-scores[copies] + 1e-9 * rng.random(len(copies))) for _ in range(400)]
            hits = np.mean([positive[copies][order[: int(chosen)]].sum() for order in orders])
            found = value * chosen if isinstance(loss, losses.PrecisionAtK) else None
            assert found is None or abs(found - hits) < 0.4


@pytest.mark.parametrize("max_fpr", [1.0, 0.3])
def test_areas(max_fpr):
    rng = np.random.default_rng(3)
    for _ in range(100):
        scores, positive, weight = draw(rng)
        value = as_metric(losses.PartialRocArea(max_fpr)).value(scores, positive, weight)
        if max_fpr == 1.0:
            assert_allclose(value, roc_auc_score(positive, scores, sample_weight=weight))
        else:  # scikit-learn's is standardised
            least, area = max_fpr**2 / 2, value * max_fpr
            standard = 0.5 * (1 + (area - least) / (max_fpr - least))
            expected = roc_auc_score(positive, scores, sample_weight=weight, max_fpr=max_fpr)
            assert_allclose(standard, expected)


def test_thresholds_between_neighbouring_numbers():
    one = np.nextafter(1.0, 2.0)
    cuts = sweep(np.array([1.0, one]), np.array([False, True]), np.ones(2))
    assert_array_equal([[s > t for s in (1.0, one)] for t in cuts.thresholds], [[1, 1], [0, 1], [0, 0]])


def test_examples():
    results = doctest.testmod(metrics)
    assert results.attempted >= 1 and results.failed == 0


@pytest.mark.parametrize("name", metrics.NAMES)
def test_every_name_is_a_measure_that_the_perfect_order_maximises(name):
    positive = np.array([False, False, True, True, True])
    value = best_threshold(name, [0.0, 1.0, 2.0, 3.0, 4.0], positive)[1]
    assert value == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("metric", "match"),
    [
        ("f2", "metric must be one of f1"),
        ("fbeta", r"write losses.FBeta\(beta\)"),
        (losses.Hinge(), "contingency table"),
        (losses.FBeta, "contingency table"),
        (3, "function"),
    ],
)
def test_what_is_no_measure_is_refused_by_name(metric, match):
    with pytest.raises(ValueError, match=match):
        as_metric(metric)


def test_a_function_that_gives_no_value_for_each_table_is_refused():
    with pytest.raises(ValueError, match="a value for each table"):
        best_threshold(lambda tp, fp, fn, tn: 1.0, [0.0, 1.0], [False, True])
