"""Where a weighted count passes a target: the best intercept of every polyhedral loss."""

import numpy as np

from gapfit._types import Vector

_FEW, _SAMPLE = 4096, 1024


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
    return first, float(positions[positions > first].min(initial=np.inf))


def _first(positions: Vector, masses: Vector, total: float, target: float) -> tuple[float, float]:
    """The smallest position up to which the mass reaches `target`, and that mass.

    A sample says roughly where it is; if the target lies between two guesses, so does the answer, and most
    of the candidates go.
    """
    passed = 0.0
    while len(positions) > _FEW:
        sample = np.sort(positions[:: len(positions) // _SAMPLE])
        middle = int(len(sample) * (target - passed) / total)
        below = sample[min(max(middle - _SAMPLE // 16, 0), len(sample) - 1)]
        above = sample[min(middle + _SAMPLE // 16, len(sample) - 1)]
        left = passed + float(masses @ (positions < below))
        kept = np.flatnonzero((positions >= below) & (positions <= above))
        inside = float(masses[kept].sum())
        if 2 * len(kept) > len(positions):  # ties; the answer may be one of them
            guess = sample[min(max(middle, 0), len(sample) - 1)]
            before = passed + float(masses[positions < guess].sum())
            mass = before + float(masses[positions == guess].sum())
            if before < target <= mass:
                return float(guess), mass
        if not left < target <= left + inside or len(kept) == len(positions):
            break  # weights or ties mislead the sample
        positions, masses, passed, total = positions[kept], masses[kept], left, inside
    order = np.argsort(positions, kind="stable")
    positions, reached = positions[order], passed + np.cumsum(masses[order])
    first = positions[min(int(np.searchsorted(reached, target)), len(order) - 1)]
    return float(first), float(reached[np.searchsorted(positions, first, side="right") - 1])
