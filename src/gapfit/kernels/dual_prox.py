"""Losses made of lines and parabolas, seen from their dual: proximal steps of all samples at once.

The loss of a sample at score f is a maximum over its dual variable,

    phi(f) = max over lower <= u <= upper of  (f - target) u - kink |u| - quad u^2 / 2,

and a proximal step of length `step` from a centre adds -(u - centre)^2 / (2 step p) to what is maximised.
The six arrays are the tuple ``pieces``: target, kink, quad, lower, upper, p. There are no branches, so that
the compiler can work on several samples at a time.
"""

from gapfit.kernels._jit import jit

TINY = 1e-300
BLOCK = 1024  # samples whose numbers stay in the cache from one loop to the next


@jit(fast=True, reorder=True)
def respond(pieces, centre, f, step, b, start, stop, u):
    """Write the proximal steps u at the scores f + b.

    Returns their sum, its derivative in b, and the sum of their absolute values.
    """
    target, kink, quad, lower, upper, p = pieces
    total = slope = size = 0.0
    for first in range(start, stop, BLOCK):
        last = min(first + BLOCK, stop)
        for i in range(first, last):
            reach = step * p[i]
            drive = centre[i] + reach * (f[i] + b - target[i])
            corner = reach * kink[i]
            free = (drive - min(max(drive, -corner), corner)) / (1.0 + reach * quad[i])
            u[i] = min(max(free, lower[i]), upper[i])
        for i in range(first, last):  # sums apart from writing, or their order depends on where arrays lie
            x = u[i]
            total += x
            size += abs(x)
            inside = (x > lower[i]) & (x < upper[i]) & ((kink[i] == 0.0) | (x != 0.0))
            slope += step * p[i] / (1.0 + step * p[i] * quad[i]) * inside
    return total, slope, size


@jit(fast=True)
def scale_sides(lower, up, down, start, stop, u):
    """Multiply what is positive in u by up, the rest by down."""
    for i in range(start, stop):
        u[i] = max(max(u[i], 0.0) * up + min(u[i], 0.0) * down, lower[i])


@jit(fast=True, reorder=True)
def values(pieces, f, b, u, start, stop):
    """The sum of the losses at f + b, and of their conjugates at u."""
    target, kink, quad, lower, upper, _ = pieces
    loss = conjugate = 0.0
    for i in range(start, stop):
        margin = f[i] + b - target[i]
        beyond = margin - min(max(margin, -kink[i]), kink[i])
        best = min(max(beyond / max(quad[i], TINY), lower[i]), upper[i])
        loss += margin * best - kink[i] * abs(best) - 0.5 * quad[i] * best * best
        conjugate += target[i] * u[i] + kink[i] * abs(u[i]) + 0.5 * quad[i] * u[i] * u[i]
    return loss, conjugate


@jit(fast=True, reorder=True)
def distance(p, u, other, start, stop):
    """sum of (u - other)^2 / p."""
    total = 0.0
    for i in range(start, stop):
        step = u[i] - other[i]
        total += step * step / p[i]
    return total
