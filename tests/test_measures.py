"""Measures of a contingency table, against scikit-learn's of the labels behind it."""

import numpy as np
import pytest
from sklearn import metrics as reference

from gapfit import measures

PAIRS = {
    "f_beta": (measures.f_beta, lambda y, p: reference.f1_score(y, p, zero_division=0)),
    "jaccard": (measures.jaccard, lambda y, p: reference.jaccard_score(y, p, zero_division=0)),
    "matthews": (measures.matthews, reference.matthews_corrcoef),
    "accuracy": (measures.accuracy, reference.accuracy_score),
    "precision": (measures.precision, lambda y, p: reference.precision_score(y, p, zero_division=0)),
    "recall": (measures.recall, lambda y, p: reference.recall_score(y, p, zero_division=0)),
    "balanced_accuracy": (measures.balanced_accuracy, reference.balanced_accuracy_score),
}


def tables(count, seed=0):
    """Counts, few enough that each of them is often zero; both classes are there."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, 4, size=(count, 4))
    return drawn[(drawn[:, 0] + drawn[:, 2] > 0) & (drawn[:, 1] + drawn[:, 3] > 0)]


def labels(tp, fp, fn, tn):
    truth = np.repeat([1, 0, 1, 0], [tp, fp, fn, tn])
    return truth, np.repeat([1, 1, 0, 0], [tp, fp, fn, tn])


@pytest.mark.parametrize("name", PAIRS)
def test_tables_one_by_one_and_together(name):
    ours, theirs = PAIRS[name]
    drawn = tables(200)
    together = ours(*drawn.T.astype(float))
    for table, value in zip(drawn, together, strict=True):
        assert value == pytest.approx(theirs(*labels(*table)), abs=1e-12)
        assert float(ours(*map(float, table))) == value


def test_large_counts_do_not_overflow():
    assert measures.matthews(1e100, 1e100, 1e100, 3e100) == pytest.approx(0.25)


def test_lift_is_precision_over_the_share_of_positives():
    assert measures.lift(2.0, 2.0, 2.0, 4.0) == pytest.approx(0.5 / 0.4)


def test_floors_are_met_by_what_is_within_rounding_of_them():
    third = 1.0 / 3.0
    assert measures.precision_at_recall(third, 0.0, 1.0 - third, 1.0, floor=third) == 1.0
    assert measures.precision_at_recall(0.3, 0.0, 0.7, 1.0, floor=third) == 0.0
    assert measures.recall_at_precision(1.0, 1.0, 1.0, 0.0, floor=0.5) == 0.5
    assert measures.recall_at_precision(1.0, 1.1, 1.0, 0.0, floor=0.5) == 0.0


def test_regret_is_what_the_perfect_labelling_has_more():
    tp, fp, fn, tn = (np.array([value]) for value in (1.0, 2.0, 3.0, 4.0))
    assert measures.regret(tp, fp, fn, tn, f=measures.f_beta)[0] == pytest.approx(1 - 2 / 7)
    assert measures.negative(tp, fp, fn, tn, f=measures.recall)[0] == -0.25
