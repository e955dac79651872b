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
    piecewise linear function of t. Newton's method finds its root, within a bracket that it halves where a
    step would not; from t = 0, points that nearly satisfy the equality need two or three evaluations.
    """
    step = sigma if weights is None else sigma / weights
    low, high = np.where(sigma > 0, lower, upper), np.where(sigma > 0, upper, lower)
    least, most = float(sigma @ low), float(sigma @ high)
    scale = abs(z) + float(np.abs(sigma) @ np.abs(m))
    if not least - 1e-12 * scale <= z <= most + 1e-12 * scale:
        raise ValueError(f"no point of the box satisfies <sigma, a> = {z}: it ranges over [{least}, {most}]")
    if z <= least or z >= most:
        return low if z <= least else high
    t, left, right = 0.0, -np.inf, np.inf
    while True:
        a = np.clip(m + t * step, lower, upper)
        excess = float(sigma @ a) - z
        if abs(excess) <= 1e-16 * scale:
            return a
        width = right - left
        left, right = (left, t) if excess > 0 else (t, right)
        free = (a > lower) & (a < upper)
        slope = float(np.sum(sigma * step, where=free))
        t = t - excess / slope if slope > 0 else _next_kink(m, lower, upper, step, t, excess < 0)
        if not left < t < right or 0.5 * width < right - left < np.inf:
            t = 0.5 * (left + right)
            if not left < t < right:  # neighbouring floats: what is left is rounding
                return a


def _next_kink(m: Vector, lower: Vector, upper: Vector, step: Vector, t: float, upwards: bool) -> float:
    """Where the first coordinate comes off its bound when t moves on from a flat piece."""
    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = np.concatenate([(lower - m) / step, (upper - m) / step])
    ahead = kinks[(kinks > t) if upwards else (kinks < t)]
    ahead = ahead[np.isfinite(ahead)]
    nearest = float(ahead.min() if upwards else ahead.max())
    beyond = ahead[ahead != nearest]  # halfway to the one after it, where the piece has a slope
    return (
        0.5 * (nearest + float(beyond.min() if upwards else beyond.max()))
        if len(beyond)
        else nearest + (1.0 if upwards else -1.0)
    )
