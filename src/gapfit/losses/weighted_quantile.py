"""Where a weighted count passes a target, in O(n): the best intercept of every polyhedral loss."""

import numpy as np

from gapfit._types import Vector


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
    """The smallest position up to which the mass reaches `target`; half of the candidates go each time."""
    while len(positions) > 1:
        pivot = np.partition(positions, len(positions) // 2)[len(positions) // 2]
        left = positions < pivot
        mass_left = float(masses[left].sum())
        if mass_left >= target:
            positions, masses = positions[left], masses[left]
            continue
        right = positions > pivot
        mass = mass_left + float(masses[positions == pivot].sum())
        if mass >= target or not right.any():
            return float(pivot)
        positions, masses, target = positions[right], masses[right], target - mass
    return float(positions[0])
