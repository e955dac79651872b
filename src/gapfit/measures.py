"""Measures of a contingency table, as functions of tp, fp, fn and tn: numbers, or arrays of them.

The larger, the better; 0/0 counts as 0. `gapfit.metrics` says what they are called.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gapfit._types import Vector

Counts = float | Vector
Table = Callable[[Any, Any, Any, Any], Any]  # of one's own making: arrays in, an array out

ROUNDING = 1e-12  # a share within this of a floor has reached it; less than this is nothing


def _ratio(over: Counts, under: Counts) -> Vector:
    """over / under, and 0 for 0/0."""
    under = np.asarray(under, dtype=np.float64)
    return np.divide(over, under, out=np.zeros(np.broadcast(over, under).shape), where=under > 0)


def f_beta(tp: Counts, fp: Counts, fn: Counts, tn: Counts, beta: float = 1.0) -> Vector:
    """(1 + beta^2) tp / ((1 + beta^2) tp + fp + beta^2 fn)."""
    del tn
    hits = (1.0 + beta**2) * np.asarray(tp)
    return _ratio(hits, hits + fp + beta**2 * np.asarray(fn))


def jaccard(tp: Counts, fp: Counts, fn: Counts, tn: Counts) -> Vector:
    """tp / (tp + fp + fn)."""
    del tn
    return _ratio(tp, np.asarray(tp) + fp + fn)


def matthews(tp: Counts, fp: Counts, fn: Counts, tn: Counts) -> Vector:
    """The correlation of labels and predictions."""
    tp, fp, fn, tn = (np.asarray(count, dtype=np.float64) for count in (tp, fp, fn, tn))
    # roots one by one: the product of four counts is large
    norm = np.sqrt(tp + fn) * np.sqrt(fp + tn) * np.sqrt(tp + fp) * np.sqrt(fn + tn)
    return _ratio(tp * tn - fp * fn, norm)


def accuracy(tp: Counts, fp: Counts, fn: Counts, tn: Counts) -> Vector:
    """(tp + tn) / n."""
    return _ratio(np.asarray(tp) + tn, np.asarray(tp) + fp + fn + tn)


def balanced_accuracy(tp: Counts, fp: Counts, fn: Counts, tn: Counts) -> Vector:
    """The mean of the shares of both classes that are labelled right."""
    return 0.5 * (recall(tp, fp, fn, tn) + recall(tn, fn, fp, tp))


def f1_macro(tp: Counts, fp: Counts, fn: Counts, tn: Counts) -> Vector:
    """The mean of F1 of both classes."""
    return 0.5 * (f_beta(tp, fp, fn, tn) + f_beta(tn, fn, fp, tp))


def f1_weighted(tp: Counts, fp: Counts, fn: Counts, tn: Counts) -> Vector:
    """The mean of F1 of both classes, weighted by how much of each there is."""
    P, N = np.asarray(tp) + fn, np.asarray(fp) + tn
    return _ratio(P * f_beta(tp, fp, fn, tn) + N * f_beta(tn, fn, fp, tp), P + N)


# of several classes: what of each is labelled right, what is labelled as it and what there is, classes last


def share_right(right: Vector, labelled: Vector, there: Vector) -> Vector:
    """The accuracy, which is micro F1 where every sample has one label."""
    del labelled
    return np.asarray(right.sum(axis=-1) / there.sum())


def mean_recall(right: Vector, labelled: Vector, there: Vector) -> Vector:
    """The mean of the shares of all classes that are labelled right."""
    del labelled
    return np.asarray(_ratio(right, there).mean(axis=-1))


def mean_f1(right: Vector, labelled: Vector, there: Vector) -> Vector:
    """The mean of F1 of all classes."""
    return np.asarray(_ratio(2.0 * right, labelled + there).mean(axis=-1))


def mean_weighted_f1(right: Vector, labelled: Vector, there: Vector) -> Vector:
    """The mean of F1 of all classes, weighted by how much of each there is."""
    return np.asarray(_ratio(2.0 * right, labelled + there) @ there / there.sum())


def precision(tp: Counts, fp: Counts, fn: Counts, tn: Counts) -> Vector:
    """tp / (tp + fp)."""
    del fn, tn
    return _ratio(tp, np.asarray(tp) + fp)


def recall(tp: Counts, fp: Counts, fn: Counts, tn: Counts) -> Vector:
    """tp / (tp + fn)."""
    del fp, tn
    return _ratio(tp, np.asarray(tp) + fn)


def lift(tp: Counts, fp: Counts, fn: Counts, tn: Counts) -> Vector:
    """The precision, in units of the share of positives."""
    tp = np.asarray(tp)
    return _ratio(precision(tp, fp, fn, tn), _ratio(tp + fn, tp + fp + fn + tn))


def precision_at_recall(tp: Counts, fp: Counts, fn: Counts, tn: Counts, floor: float) -> Vector:
    """The precision, if the recall is at least `floor`; else 0."""
    return np.where(recall(tp, fp, fn, tn) >= floor - ROUNDING, precision(tp, fp, fn, tn), 0.0)


def recall_at_precision(tp: Counts, fp: Counts, fn: Counts, tn: Counts, floor: float) -> Vector:
    """The recall, if the precision is at least `floor`; else 0."""
    return np.where(precision(tp, fp, fn, tn) >= floor - ROUNDING, recall(tp, fp, fn, tn), 0.0)


def negative(tp: Counts, fp: Counts, fn: Counts, tn: Counts, f: Table) -> Vector:
    """Minus a measure."""
    return -np.asarray(f(tp, fp, fn, tn))


def regret(tp: Counts, fp: Counts, fn: Counts, tn: Counts, f: Table) -> Vector:
    """How much better the perfect labelling is."""
    nothing = np.zeros_like(tp)
    return np.asarray(f(tp + fn, nothing, nothing, fp + tn) - f(tp, fp, fn, tn))
