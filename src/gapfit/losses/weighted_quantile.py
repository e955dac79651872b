"""Where a weighted count passes a target: the best intercept of every polyhedral loss."""

import numpy as np

from gapfit import threads
from gapfit._types import Vector
from gapfit.elsewhere import loops_of

_FEW, _SAMPLE = 4096, 2048
_THERE = 2**19, 2**16  # the same on a device, which sorts many at once, and waits for each answer
_WORK = 8  # multiplications for a position


def weighted_quantile(positions: Vector, masses: Vector, target: float) -> tuple[float, float]:
    """The interval of x over which the mass (all positive) at positions <= x passes `target`.

    Moving x from left to right the accumulated mass grows from 0. Returned are the first position at which it
    reaches the target and the first at which it exceeds it; they differ when the target is met exactly (up to
    rounding). An end is infinite if the target is met before the first position or only after the last.
    """
    total = float(masses.sum())
    slack = 1e-13 * total
    if target <= slack:
        return -np.inf, float(positions.min()) if target >= -slack else -np.inf
    if total < target - slack:
        return np.inf, np.inf
    first, mass = _first(positions, masses, total, target - slack)
    if mass > target + slack:
        return first, first
    return first, float(np.where(positions > first, positions, np.inf).min())


def _first(positions: Vector, masses: Vector, total: float, target: float) -> tuple[float, float]:
    """The smallest position up to which the mass reaches `target`, and that mass.

    A sample says roughly where it is. If the target lies in a window around that, so does the answer, and
    most of the candidates go; if not, it lies to one side.
    """
    passed = 0.0
    few, drawn = (_FEW, _SAMPLE) if loops_of(positions) is None else _THERE
    width = int(1.9 * drawn**0.5)  # of half a window: four standard deviations of the middle of a sample
    while len(positions) > few:
        some = slice(None, None, len(positions) // drawn)
        order = np.argsort(positions[some])
        sample, reached = positions[some][order], np.cumsum(masses[some][order])
        last = len(sample) - 1
        middle = min(int(np.searchsorted(reached, reached[-1] * (target - passed) / total)), last)
        below, above = float(sample[max(middle - width, 0)]), float(sample[min(middle + width, last)])
        if 2 * np.count_nonzero((sample >= below) & (sample <= above)) > last:
            below = above = float(sample[middle])  # ties; the answer may be one of them
        window = _Window(positions, masses, below, above)
        before, inside = passed + window.less, window.mass
        if before < target <= before + inside:
            if below == above:
                return below, before + inside
            (positions, masses), passed, total = window.content(), before, inside
        elif target <= before:  # weights or the order of the samples mislead
            left = positions < below
            positions, masses, total = positions[left], masses[left], window.less
        else:
            right = positions > above
            if not right.any():  # but for rounding, all of the mass has passed
                return above, before + inside
            positions, masses, passed = positions[right], masses[right], before + inside
            total = float(masses.sum())
    order = np.argsort(positions, kind="stable")
    positions, reached = positions[order], passed + np.cumsum(masses[order])
    first = positions[min(int(np.searchsorted(reached, target)), len(order) - 1)]
    return float(first), float(reached[np.searchsorted(positions, first, side="right") - 1])


class _Window:
    """What lies between two positions: its mass, and that of all that is less."""

    def __init__(self, positions: Vector, masses: Vector, below: float, above: float) -> None:
        from gapfit.compiled.quantile import narrow  # compiled code is loaded only when it is to run

        if (device := loops_of(positions)) is not None:
            *self.found, self.less, self.mass = device(narrow, positions, masses, below, above)
            return
        self.found = None
        self.kept = np.empty_like(positions), np.empty_like(masses)
        self.parts = threads.parts(len(positions), _WORK * len(positions))
        found = threads.each(
            lambda rows: narrow(positions, masses, below, above, rows.start, rows.stop, *self.kept),
            self.parts,
        )
        self.counts, less, mass = zip(*found, strict=True)
        self.less, self.mass = float(sum(less)), float(sum(mass))

    def content(self) -> tuple[Vector, Vector]:
        """The positions between, and their masses."""
        if self.found is not None:
            return self.found[0], self.found[1]
        chosen = [slice(p.start, p.start + count) for p, count in zip(self.parts, self.counts, strict=True)]
        positions, masses = (np.concatenate([kept[some] for some in chosen]) for kept in self.kept)
        return positions, masses
