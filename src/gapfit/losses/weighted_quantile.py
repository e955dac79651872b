"""Where a weighted count passes a target: the best intercept of every polyhedral loss."""

import numpy as np

from gapfit._types import Vector

_FEW, _SAMPLE = 4096, 1024


def weighted_quantile(positions: Vector, masses: Vector, target: float) -> tuple[float, float]:
    """The interval of x over which the mass at positions <= x passes `target`.

    Moving x from left to right the accumulated mass grows from 0. Returned are the first position at which it
    reaches the target and the first at which it exceeds it; they differ when the target is met exactly (up to
    rounding). An end is infinite if the target is met before the first position or only after the last.
    """
    positions, masses = positions[masses > 0], masses[masses > 0]
    slack = 1e-13 * float(masses.sum())
    if target <= slack:
        return -np.inf, float(positions.min()) if target >= -slack else -np.inf
    if masses.sum() < target - slack:
        return np.inf, np.inf
    first = _first(positions, masses, target - slack)
    if masses[positions <= first].sum() > target + slack:
        return first, first
    return first, float(positions[positions > first].min(initial=np.inf))


def _first(positions: Vector, masses: Vector, target: float) -> float:
    """The smallest position up to which the mass reaches `target`; most of the candidates go each time."""
    while len(positions) > _FEW:
        # a sample says roughly where; if the target lies between its two guesses, so does the answer
        sample = np.sort(positions[:: len(positions) // _SAMPLE])
        middle = int(len(sample) * target / float(masses.sum()))
        below = sample[max(middle - _SAMPLE // 16, 0)]
        above = sample[min(middle + _SAMPLE // 16, len(sample) - 1)]
        left, kept = positions < below, (positions >= below) & (positions <= above)
        mass_left = float(np.sum(masses, where=left))
        inside = float(np.sum(masses, where=kept))
        if not mass_left < target <= mass_left + inside or kept.all():
            break  # weights or ties mislead the sample
        positions, masses, target = positions[kept], masses[kept], target - mass_left
    order = np.argsort(positions, kind="stable")
    reached = int(np.searchsorted(np.cumsum(masses[order]), target))
    return float(positions[order[min(reached, len(order) - 1)]])
