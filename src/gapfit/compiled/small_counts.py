"""Poisson's loss of a count y, mu - y f + y log y - y with mu = exp(f), for small fits: see `small`.

In terms of the margin, log y less the score f (zero less f, where y is zero), so that large counts do not
cancel. `Losses` have the share of the weights as minus their entropy, and times y as their upper bound: no
dual variable v = y - mu is larger.
"""

import math

from gapfit.compiled._jit import jit

LINES, ENTROPY, COUNTS = range(3)  # what losses are: lines and parabolas, logistic, or these


@jit(inner=True)
def of_count(losses, i, margin):
    """v, the curvature and the loss, all weighted."""
    most = losses.upper[i]
    if most > 0.0:
        grown = math.expm1(-margin)
        return -most * grown, most * (grown + 1.0), most * (grown + margin)
    mean = -losses.entropy[i] * math.exp(-margin)
    return -mean, mean, mean


@jit(inner=True)
def rise_of_count(losses, i, margin, slack):
    """The loss, how much higher it may be within the slack of the score, and the sum of what it is made of,
    in absolute values."""
    v, mean, loss = of_count(losses, i, margin)
    steep, most = abs(v), losses.upper[i]
    rise = slack * (steep + (mean + most) * math.expm1(slack))
    return loss, rise, steep * (1.0 + abs(margin)) + most * abs(margin) + mean + abs(loss)


@jit(inner=True)
def conjugate_of_count(losses, i, v):
    """The conjugate at -v plus v times the target, weighted; and the sum of what it is made of, in absolute
    values."""
    p, most, log = -losses.entropy[i], losses.upper[i], 0.0
    mean = max(most - v, 0.0)  # times p
    if mean > 0.0:
        log = math.log1p(-v / most) if most > 0.0 else math.log(mean / p)
    return mean * log + v, abs(v) * (3.0 + abs(log)) + abs(mean * log) + mean
