"""Losses made of lines and parabolas, rounded off: their response to all scores at once.

Near the centre the rounded loss of a sample at score f is

    phi(f) = max over lower <= v <= upper of
                 (target - f) v - kink |v| - quad v^2 / 2 - (v - centre)^2 / (2 c p).

It arrives as eight numbers, in the rows of ``losses``: what the loops would otherwise divide by is divided
by beforehand, and there are no branches, so that the compiler can work on several samples at a time.

    0 aim = target + centre / (c p)    1 kink    2 lower    3 upper    4 give = 1 / (quad + 1 / (c p))
    5 target    6 quad    7 1 / quad (or a huge number)
"""

from gapfit.kernels._jit import jit


@jit(fast=True, reorder=True)
def slope_along(losses, f, df, t, start, stop):
    """Derivatives of the sum of rounded losses at f + t df with respect to t: the first and the second."""
    aim, kink, lower, upper, give, _, _, _ = losses
    first = 0.0
    second = 0.0
    for i in range(start, stop):
        drive = aim[i] - f[i] - t * df[i]
        free = give[i] * (drive - min(max(drive, -kink[i]), kink[i]))
        v = min(max(free, lower[i]), upper[i])
        first -= v * df[i]
        second += give[i] * df[i] * df[i] if v == free else 0.0
    return first, second


@jit(fast=True, reorder=True)
def respond(losses, f, start, stop, v, curvature):
    """Write the maximisers v and the second derivatives of the rounded losses at f.

    Returns the sum of the true losses at f, minus the sum of their conjugates at v, and the sums of both.
    """
    aim, kink, lower, upper, give, target, quad, sharp = losses
    for i in range(start, stop):  # three loops: the compiler vectorises one that writes to one array
        drive = aim[i] - f[i]
        free = give[i] * (drive - min(max(drive, -kink[i]), kink[i]))
        v[i] = min(max(free, lower[i]), upper[i])
    bend = 0.0
    for i in range(start, stop):
        bent = give[i] if v[i] > lower[i] else 0.0  # one condition at a time, for the compiler's sake
        bent = bent if v[i] < upper[i] else 0.0
        bent = bent if abs(v[i]) + (1.0 if kink[i] == 0.0 else 0.0) > 0.0 else 0.0
        curvature[i] = bent
        bend += bent
    loss = 0.0
    bound = 0.0
    total = 0.0
    for i in range(start, stop):
        bound += target[i] * v[i] - kink[i] * abs(v[i]) - 0.5 * quad[i] * v[i] * v[i]
        total += v[i]
        margin = target[i] - f[i]
        beyond = margin - min(max(margin, -kink[i]), kink[i])
        exact = min(max(beyond * sharp[i], lower[i]), upper[i])
        loss += margin * exact - kink[i] * abs(exact) - 0.5 * quad[i] * exact * exact
    return loss, bound, total, bend
