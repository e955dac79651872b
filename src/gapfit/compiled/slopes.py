"""What a working set is chosen by, in one pass over all variables: NumPy would write a vector for each word.

Kernel machines ask for it before every working set, and where a device computes the kernel that took as long
as the steps themselves.
"""

import numpy as np

from gapfit.compiled._jit import jit


@jit
def slopes(v, f, quad, target, kink, lower, upper, fixed, up, down):
    """Write to `up` and `down` the slopes to either side of each variable, infinite where it cannot move.
    Returns the highest of those that can fall and the lowest of those that can rise."""
    highest, lowest = -np.inf, np.inf
    for i in range(len(v)):
        slope = f[i] + quad[i] * v[i] - target[i]
        up[i], down[i] = np.inf, -np.inf
        if not fixed[i]:
            if v[i] < upper[i]:
                up[i] = slope + (kink[i] if v[i] >= 0.0 else -kink[i])
                lowest = min(lowest, up[i])
            if v[i] > lower[i]:
                down[i] = slope + (kink[i] if v[i] > 0.0 else -kink[i])
                highest = max(highest, down[i])
    return highest, lowest


@jit
def free(v, lower, upper, kink, apart, out):
    """Which variables can move both ways along one parabola; zero may be the end of one, `apart` for all."""
    for i in range(len(v)):
        out[i] = v[i] > lower[i] and v[i] < upper[i] and (v[i] != 0.0 or not (kink[i] > 0.0 or apart))


@jit
def note_sides(v, lower, upper, step, sides, since):
    """On which side of zero each variable is, twice as far at a bound; and since which step."""
    for i in range(len(v)):
        side = np.sign(v[i])
        if v[i] == upper[i] or v[i] == lower[i]:
            side *= 2.0
        if side != sides[i]:
            sides[i], since[i] = side, step
