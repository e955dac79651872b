"""Where a weighted count passes a target, in O(n): the best intercept of every polyhedral loss."""

import numpy as np

from gapfit._types import Vector


def weighted_quantile(positions: Vector, masses: Vector, target: float) -> tuple[float, float]:
    """The interval of x at which the mass at positions <= x passes `target`.

    Moving x from left to right, the accumulated mass grows from 0. Returned are the first position at which
    it reaches the target and the first at which it exceeds it; they differ when the target is met exactly
    (up to rounding). An end is infinite if the target is met before the first or after the last position.
    """
    positions, masses = positions[masses > 0], masses[masses > 0]
    slack = 1e-13 * float(masses.sum())
    return _first(positions, masses, target - slack), _first(positions, masses, target + slack)


def _first(positions: Vector, masses: Vector, target: float) -> float:
    """The smallest position up to which the mass reaches `target`, halving the candidates each time."""
    if target <= 0:
        return -np.inf
    if masses.sum() < target:
        return np.inf
    while True:
        pivot = np.partition(positions, len(positions) // 2)[len(positions) // 2]
        below = positions < pivot
        mass_below = masses[below].sum()
        if mass_below >= target:
            positions, masses = positions[below], masses[below]
            continue
        at = positions == pivot
        if mass_below + masses[at].sum() >= target or at.sum() + below.sum() == len(positions):
            return float(pivot)
        above = ~(below | at)
        target -= float(mass_below + masses[at].sum())
        positions, masses = positions[above], masses[above]
