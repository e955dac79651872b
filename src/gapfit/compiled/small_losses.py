"""Losses of single scores, rounded off, for small fits: see `small`.

The loss of a sample at score f is rounded off around a guess of the dual solution, the centre,

    phi_c(f) = max over lower <= v <= upper of
                   (target - f) v - kink |v| - quad v^2 / 2 - (v - centre)^2 / (2 c p).

One that has an entropy is round already: (target - f) v - entropy h((v - lower) / entropy) is maximised then,
with h(a) = a log a + (1 - a) log(1 - a). So are counts (`small_counts`): their entropy is negative. All
samples are of one kind.
"""

from gapfit.compiled._jit import jit
from gapfit.compiled.exponentials import put_exponentials, put_logarithms
from gapfit.compiled.rows import TINY
from gapfit.compiled.small_counts import of_count


@jit(fast=True, inner=True)
def response(losses, i, f, centre, c):
    """The maximiser v, the curvature of the rounded loss, and the true loss; for no logistic ones."""
    margin, lower = losses.target[i] - f, losses.lower[i]
    if losses.entropy[i] < 0.0:
        return of_count(losses, i, margin)
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
    if losses.entropy[i] != 0.0:
        return 0.0
    return loss - (losses.target[i] - f) * v + losses.kink[i] * abs(v) + 0.5 * losses.quad[i] * v * v


@jit(fast=True)
def _respond_with_entropies(losses, place, t):
    put_exponentials(losses.target, place.f, place.along, t, place.curvature)
    put_logarithms(place.curvature, place.loss)
    for i in range(len(place.f)):
        margin, entropy = losses.target[i] - (place.f[i] + t * place.along[i]), losses.entropy[i]
        large = 1.0 / (1.0 + place.curvature[i])
        small = place.curvature[i] * large
        place.v[i] = losses.lower[i] + entropy * (large if margin > 0.0 else small)
        place.curvature[i] = entropy * small * large
        place.loss[i] = margin * losses.lower[i] + entropy * (max(margin, 0.0) + place.loss[i])


@jit(fast=True, inner=True)
def respond(losses, place, c, t):
    """Write the maximisers, the curvatures and the losses at that share of the step."""
    if losses.entropy[0] > 0.0:
        _respond_with_entropies(losses, place, t)
        return
    for i in range(len(place.f)):
        v, curvature, loss = response(losses, i, place.f[i] + t * place.along[i], place.centre[i], c)
        place.v[i], place.curvature[i], place.loss[i] = v, curvature, loss
