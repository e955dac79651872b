"""Points on a line, pushed back into a box."""

from gapfit.kernels._jit import jit


@jit
def clip_along(m, step, sigma, lower, upper, t, start, stop, a):
    """Write a = clip(m + t step, lower, upper); returns the derivative of <sigma, a> in t."""
    slope = 0.0
    for i in range(start, stop):
        free = m[i] + t * step[i]
        x = min(max(free, lower[i]), upper[i])
        a[i] = x
        slope += sigma[i] * step[i] if lower[i] < x < upper[i] else 0.0
    return slope
