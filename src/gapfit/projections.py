"""Projections onto the sets in which dual points live."""

import numpy as np

from gapfit._types import Vector


def project_box_hyperplane(
    m: Vector,
    lower: Vector,
    upper: Vector,
    sigma: Vector,
    z: float,
    weights: Vector | None = None,
) -> Vector:
    """The nearest point to m in a box with one linear equality.

    minimise 1/2 sum_i weights_i (a_i - m_i)^2   subject to  lower <= a <= upper,  <sigma, a> = z

    The solution is a(t) = clip(m + t sigma / weights) for the t at which <sigma, a(t)> = z, a non-decreasing
    piecewise linear function of t: a binary search over its kinks finds the piece, and the piece is solved.
    """
    step = sigma if weights is None else sigma / weights
    low, high = np.where(sigma > 0, lower, upper), np.where(sigma > 0, upper, lower)
    least, most = float(sigma @ low), float(sigma @ high)
    slack = 1e-12 * (abs(z) + float(np.abs(sigma) @ np.abs(m)))
    if not least - slack <= z <= most + slack:
        raise ValueError(f"no point of the box satisfies <sigma, a> = {z}: it ranges over [{least}, {most}]")
    if z <= least or z >= most:
        return low if z <= least else high

    def excess(t: float) -> float:
        return float(sigma @ np.clip(m + t * step, lower, upper)) - z

    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = np.concatenate([(lower - m) / step, (upper - m) / step])
    kinks = np.unique(kinks[np.isfinite(kinks)])
    first, last = 0, len(kinks)  # excess < 0 at kinks before `first`, >= 0 from `last` on
    while first < last:
        middle = (first + last) // 2
        if excess(kinks[middle]) < 0:
            first = middle + 1
        else:
            last = middle
    # inside the piece everything not at a bound moves linearly with t
    inside = _inside(kinks, first)
    a = m + inside * step
    free = (a > lower) & (a < upper)
    slope = float(sigma[free] @ step[free])
    t = inside - excess(inside) / slope if slope > 0 else kinks[min(first, len(kinks) - 1)]
    return np.clip(m + t * step, lower, upper)


def _inside(kinks: Vector, first: int) -> float:
    """A point strictly inside the piece that ends at kink number `first`."""
    if len(kinks) == 0:
        return 0.0
    if first == 0:
        return float(kinks[0] - 1.0 - abs(kinks[0]))
    if first == len(kinks):
        return float(kinks[-1] + 1.0 + abs(kinks[-1]))
    return float(0.5 * (kinks[first - 1] + kinks[first]))
