"""Projections onto the sets in which dual points live."""

import numpy as np

from gapfit import threads
from gapfit._types import Vector

_EPS = float(np.finfo(float).eps)


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
    piecewise linear function of t. Newton's method finds its root, within a bracket that is halved where a
    step has not halved the excess; from t = 0, points that nearly satisfy the equality need three or four
    evaluations.
    """
    step = sigma if weights is None else sigma / weights
    low, high = np.where(sigma > 0, lower, upper), np.where(sigma > 0, upper, lower)
    least, most = float(sigma @ low), float(sigma @ high)
    scale = abs(z) + float(np.abs(sigma) @ np.abs(m))
    if not least - 1e-12 * scale <= z <= most + 1e-12 * scale:
        raise ValueError(f"no point of the box satisfies <sigma, a> = {z}: it ranges over [{least}, {most}]")
    if z <= least or z >= most:
        return low if z <= least else high
    t, left, right, before = 0.0, -np.inf, np.inf, np.inf
    while True:
        a, slope = _clip_along(m, step, sigma, lower, upper, t)
        excess = float(sigma @ a) - z
        if abs(excess) <= 4 * _EPS * scale:
            return a
        left, right = (left, t) if excess > 0 else (t, right)
        t = t - excess / slope if slope > 0 else _next_kink(m, lower, upper, step, t, excess < 0)
        slow = abs(excess) > 0.5 * before and right - left < np.inf
        before = abs(excess)
        if not left < t < right or slow:
            t = 0.5 * (left + right)
            if not left < t < right:  # neighbouring floats: what is left is rounding
                return a


def _clip_along(
    m: Vector, step: Vector, sigma: Vector, lower: Vector, upper: Vector, t: float
) -> tuple[Vector, float]:
    """clip(m + t step), and the derivative of <sigma, .> of it in t."""
    from gapfit.kernels.projection import clip_along  # compiled code is loaded only when it is to run

    a = np.empty_like(m)
    slopes = threads.each(
        lambda rows: clip_along(m, step, sigma, lower, upper, t, rows.start, rows.stop, a),
        threads.parts(len(m), 4 * len(m)),
    )
    return a, float(sum(slopes))


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
