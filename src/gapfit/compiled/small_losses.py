"""Losses of single scores, rounded off, for small fits: see `small`.

The loss of a sample at score f is rounded off around a guess of the dual solution, the centre,

    phi_c(f) = max over lower <= v <= upper of
                   (target - f) v - kink |v| - quad v^2 / 2 - (v - centre)^2 / (2 c p).

One that has an entropy is round already: (target - f) v - entropy h((v - lower) / entropy) is maximised then,
with h(a) = a log a + (1 - a) log(1 - a).
"""

import math

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import TINY


@jit(fast=True, inner=True)
def response(losses, i, f, centre, c):
    """The maximiser v, the curvature of the rounded loss, and the true loss."""
    margin = losses.target[i] - f
    lower, entropy = losses.lower[i], losses.entropy[i]
    if entropy > 0.0:
        t = math.exp(-abs(margin))
        small, large = t / (1.0 + t), 1.0 / (1.0 + t)
        v = lower + entropy * (large if margin > 0.0 else small)
        return v, entropy * small * large, margin * lower + entropy * (max(margin, 0.0) + math.log1p(t))
    kink, quad, upper = losses.kink[i], losses.quad[i], losses.upper[i]
    pull = 1.0 / (c * losses.p[i])
    drive = margin + pull * centre
    give = 1.0 / max(quad + pull, TINY)
    v = min(max(give * (drive - min(max(drive, -kink), kink)), lower), upper)
    inside = v > lower and v < upper and (kink == 0.0 or v != 0.0)
    beyond = margin - min(max(margin, -kink), kink)
    exact = min(max(beyond / max(quad, TINY), lower), upper)
    return v, give if inside else 0.0, (beyond - 0.5 * quad * exact) * exact


@jit(fast=True, inner=True)
def rounded_part(losses, i, f, v, loss):
    """By how much the loss is above the plane of v at f."""
    if losses.entropy[i] > 0.0:
        return 0.0
    return loss - (losses.target[i] - f) * v + losses.kink[i] * abs(v) + 0.5 * losses.quad[i] * v * v
