"""Samples in the order of their scores, with the sums that oracles over labellings need."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Indices, Vector


class Ranked(NamedTuple):
    """Samples by descending score."""

    rows: NDArray[np.uint32]  # which sample is k-th
    scores: Vector  # its score
    mass: Vector  # the weights of the first k samples, summed: one entry more than there are samples
    moment: Vector  # their weights times their scores, summed


def descending(scores: Vector, starts: Indices | None = None) -> tuple[NDArray[np.uint32], Vector]:
    """The stable order of descending scores, within runs between `starts`, and the scores so ordered."""
    from gapfit.compiled.order import descending as sort

    n = len(scores)
    order, kept = np.empty((2, n), np.uint32)
    words, spare = np.empty((2, n), np.uint64)
    values = np.empty(n)
    runs = np.array([0, n]) if starts is None else starts
    # arrays that must not be written to would be compiled for once more
    sort(np.require(scores, requirements=["C", "W"]), runs, order, values, kept, words, spare)
    return order, values


def ranked(scores: Vector, weight: Vector) -> Ranked:
    """All samples by descending score."""
    from gapfit.compiled.order import prefix_sums

    order, values = descending(scores)
    mass, moment = np.empty((2, len(scores) + 1))
    prefix_sums(values, weight, order, mass, moment)
    return Ranked(order, values, mass, moment)
