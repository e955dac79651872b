"""Weighted quantiles of few positions; of many, a round of a search: what lies below a window, and in it."""

import math

from gapfit.compiled._jit import jit

BLOCK = 1024  # positions that stay in the cache from one loop to the next


@jit(fast=True, reorder=True)
def narrow(positions, masses, below, above, start, stop, kept_positions, kept_masses):
    """Copy what lies from ``below`` to ``above`` to where the part starts; returns how many these are, the
    mass of all that is less, and theirs."""
    less = inside = 0.0
    k = start
    for first in range(start, stop, BLOCK):
        last = min(first + BLOCK, stop)
        for i in range(first, last):  # a sum apart from writing, or its order depends on where arrays lie
            less += masses[i] if positions[i] < below else 0.0
            inside += masses[i] if (positions[i] >= below) & (positions[i] <= above) else 0.0
        for i in range(first, last):  # the next one overwrites what is not to be kept
            x = positions[i]
            kept_positions[k], kept_masses[k] = x, masses[i]
            k += (x >= below) & (x <= above)
    return k - start, less, inside


@jit
def first_reaching(positions, masses, passed, target):
    """The smallest position up to which the mass reaches the target, that mass, and the next position.

    Of those that are left, parted by one of them, the side on which the target lies is kept. What is given is
    put into another order.
    """
    left, right = 0, len(positions)
    above = math.inf
    while True:
        pivot = positions[(left + right) // 2]
        less, equal, i, end = 0.0, 0.0, left, right
        start = left
        while i < end:  # [left, start) is less, [start, i) equal, [end, right) greater
            x, mass = positions[i], masses[i]
            if x < pivot:
                less += mass
                positions[i], masses[i] = positions[start], masses[start]
                positions[start], masses[start] = x, mass
                start += 1
                i += 1
            elif x > pivot:
                end -= 1
                positions[i], masses[i] = positions[end], masses[end]
                positions[end], masses[end] = x, mass
            else:
                equal += mass
                i += 1
        if start > left and passed + less >= target:
            right, above = start, pivot
        elif passed + less + equal >= target or end == right:
            for k in range(end, right):
                above = min(above, positions[k])
            return pivot, passed + less + equal, above
        else:
            passed += less + equal
            left = end


@jit
def best_offset(atoms, scores, start, stop, room):
    """The smallest and largest b that minimise a sum of lines: where its slope, which rises at every kink,
    passes zero. `room` is (2, 2 n)."""
    sign, lin, kink, _, lo, hi, slope = atoms
    positions, masses = room[0], room[1]
    count, total = 0, 0.0
    for i in range(start, stop):
        slope -= hi[i] if sign[i] > 0.0 else -lo[i]
        for mass, shift in ((hi[i], -kink[i]), (-lo[i], kink[i])):
            if mass > 0.0:
                positions[count], masses[count] = sign[i] * (lin[i] + shift) - scores[i], mass
                total += mass
                count += 1
    return passing(positions[:count], masses[:count], total, -slope)


@jit
def passing(positions, masses, total, target):
    """As `weighted_quantile`; what is given is put into another order."""
    slack = 1e-13 * total
    if target <= slack:
        first = math.inf
        for k in range(len(positions)):
            first = min(first, positions[k])
        return -math.inf, first if target >= -slack else -math.inf
    if total < target - slack:
        return math.inf, math.inf
    first, mass, above = first_reaching(positions, masses, 0.0, target - slack)
    return first, first if mass > target + slack else above
