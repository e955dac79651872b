"""What a solver claims of its steps: lines of the history that cost nothing, and prove nothing."""

from collections.abc import Iterator, Sequence
from math import inf, isfinite

import numpy as np
from numpy.typing import ArrayLike

from gapfit.solution import Certificate, Iterate, Record


def claims(iterate: Iterate, n_iter: int, since: float, now: float, *, due: bool) -> list[Record]:
    """Of a step; of its point only if that is not about to be looked at."""
    passed = on_the_way(iterate.way, n_iter, since, now)
    return passed if due else passed + at_its_end(iterate, n_iter, now)


def on_the_way(way: Sequence[Sequence[float]], n_iter: int, since: float, now: float) -> list[Record]:
    """Of points that a step has passed, J and the gap. When it did is not known: they are spread over its
    time."""
    each = (now - since) / (len(way) + 1)
    return [
        Record(n_iter, since + k * each, J, J - gap, gap, False)
        for k, (J, gap) in enumerate(way, 1)
        if isfinite(J) and gap == gap  # where numbers overflow nothing is claimed
    ]


def at_its_end(iterate: Iterate, n_iter: int, now: float) -> list[Record]:
    """Of the point itself, if anything is claimed of it."""
    primal = iterate.objective if iterate.primal is None else iterate.primal
    if primal is None:
        return []
    primal = float(primal() if callable(primal) else primal)
    gap = inf if iterate.estimate is None else float(iterate.estimate)
    return [Record(n_iter, now, primal, primal - gap, gap, False)] if isfinite(primal) and gap == gap else []


class Way:
    """The history of a fit in one call: J and the gap, by guess, at points that were passed, and what is
    proved in the end. Its lines take longer than some fits: they are made by who goes through them."""

    def __init__(self, way: ArrayLike, certificate: Certificate, seconds: float) -> None:
        self.way, self.certificate, self.seconds = way, certificate, seconds

    def __iter__(self) -> Iterator[Record]:
        yield from on_the_way(np.transpose(self.way).tolist(), 1, 0.0, self.seconds)
        yield Record(1, self.seconds, *self.certificate[:3])
