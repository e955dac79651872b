"""One round of a search for a weighted quantile: what lies below a window, and what lies in it."""

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
