"""Several classes: what to add to the score of each, so that the class of the highest is best for a measure.

A measure of several classes is a function of the table: how much of each class is labelled right, how much is
labelled as it, and how much there is. As one offset rises, samples change one after the other from the best
of the other classes to this one, so all its places are looked at in one pass over sorted scores. Offsets take
turns until none changes. As with two classes, once with labels counted and once with labels expected, by
probabilities; the result is the mean of both.
"""

import numpy as np
from scipy.special import softmax

from gapfit._types import Indices, Matrix, Vector
from gapfit.metrics import Several, between, middle_of_best

_TURNS = 10  # of all offsets, at most


def offsets_of(measure: Several, scores: Matrix, labels: Matrix, weight: Vector) -> tuple[Vector, float]:
    """The offsets of the classes, for scores that are logarithms of odds, and the measure there.

    `labels` is one in the column of each sample's class and zero elsewhere.
    """
    counted = _climb(measure, scores, labels * weight[:, None])
    computed = _climb(measure, scores, softmax(scores, axis=1) * weight[:, None])
    offsets = 0.5 * (counted + computed)
    return offsets, value_of(measure, scores + offsets, labels * weight[:, None])


def value_of(measure: Several, scores: Matrix, masses: Matrix) -> float:
    """The measure, if each sample is labelled as the class of its highest score."""
    return float(measure(*_table(scores.argmax(axis=1), masses), masses.sum(axis=0)))


def _table(chosen: Indices, masses: Matrix) -> tuple[Vector, Vector]:
    """What is labelled right of each class, and what is labelled as it."""
    classes, rows = masses.shape[1], np.arange(len(masses))
    of = (masses[rows, chosen], masses.sum(axis=1))
    right, labelled = (np.bincount(chosen, mass, classes).astype(np.float64, copy=False) for mass in of)
    return right, labelled


def _climb(measure: Several, scores: Matrix, masses: Matrix) -> Vector:
    """One offset after the other, from none, until a turn of all gains nothing."""
    classes = scores.shape[1]
    offsets = np.zeros(classes)
    best = value_of(measure, scores, masses)
    for _ in range(_TURNS):
        before = best
        for k in range(classes):
            offset, value = _best_offset(measure, scores + offsets, masses, k)
            if value > best + 1e-12:
                offsets[k] += offset
                best = value
        if best <= before:
            break
    return offsets - offsets.mean()


def _best_offset(measure: Several, scores: Matrix, masses: Matrix, k: int) -> tuple[float, float]:
    """What to add to the scores of class k, and the measure then."""
    others = scores.copy()
    others[:, k] = -np.inf
    second = others.argmax(axis=1)
    ahead = scores[:, k] - others.max(axis=1)  # it is labelled k where that exceeds minus the offset
    order = np.argsort(-ahead, kind="stable")
    rows, total = np.arange(len(order)), masses.sum(axis=1)
    change_right, change_all = np.zeros_like(masses), np.zeros_like(masses)
    change_right[rows, second[order]] = -masses[order, second[order]]
    change_all[rows, second[order]] = -total[order]
    change_right[:, k], change_all[:, k] = masses[order, k], total[order]
    right, labelled = _table(second, masses)
    steps = np.flatnonzero(np.diff(ahead[order], append=-np.inf) < 0)  # equal ones change together
    right = np.vstack([right, right + np.cumsum(change_right, axis=0)[steps]])
    labelled = np.vstack([labelled, labelled + np.cumsum(change_all, axis=0)[steps]])
    values = measure(np.maximum(right, 0.0), np.maximum(labelled, 0.0), masses.sum(axis=0))
    # places from the least offset, at which none is labelled k, to one at which all are
    places = between(-ahead[order][steps])
    places[-1] += max(1.0, abs(float(places[-1])))
    best = middle_of_best(values)
    return float(places[best]), float(values[best])
