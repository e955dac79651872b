"""Where a small fit begins, and how far its losses are rounded off at first. See `small`."""

import math

from gapfit.compiled._jit import jit
from gapfit.compiled.small_columns import largest_square
from gapfit.compiled.small_model import Course, Net, add_rows

TAIL = 8.0  # times the mean distance from the targets is as wide as the first rounding may be
TOLD = 4.0  # times the first c: where to begin with a w that may be anyone's
LITTLE = 1e-6  # of the curvature of all samples is some in b, where none of them is curved
VERY_LITTLE = 1e-9  # the same, in a weight
SHARPEST = 1e12  # the last c, in units of the first


@jit(fast=True)
def _first_rounding(X, losses, net, place, told):
    """How far scores are from targets. The few that are far away shall not be the last to move."""
    n = len(place.f)
    one = two = 0.0
    for i in range(n):
        distance = abs(losses.target[i] - place.f[i])
        one += losses.p[i] * distance
        two += losses.p[i] * distance * distance
    if one > 0.0:
        return one if told else min(two / one, TAIL * one)
    if net.free and net.total == 0.0:  # rows have their mean subtracted
        return 1.0
    if X is not None:  # all targets alike and met: what a step along the mean would change
        add_rows(X, losses.p, place.mean)
        for i in range(n):
            along = 0.0
            for j in range(len(place.mean)):
                along += X[i, j] * place.mean[j]
            one += losses.p[i] * abs(along)
    return one / (net.l1 + net.l2) if one > 0.0 else 1.0


@jit(fast=True)
def _square(X, p, columns):
    """The largest sum of p x^2 of a column."""
    largest = 0.0
    if columns is not None:
        largest = largest_square(columns, p)
    if X is not None:
        for j in range(X.shape[1]):
            square = 0.0
            for i in range(len(p)):
                square += p[i] * X[i, j] * X[i, j]
            largest = max(largest, square)
    return largest


@jit(fast=True)
def begin(X, losses, net, place, b, told):
    """For Python: see `start`."""
    return start(X, losses, net, place, b, told, None)


@jit(fast=True, inner=True)
def start(X, losses, net, place, b, told, columns):
    """Begin at the weights of the place and at b, which is not a number if it is to be chosen. Its scores
    are without b. If the weights were `told`, losses are rounded off less: they may be good. Those that are
    round already need none of that, and c is infinite. X or the columns are None."""
    n = len(place.f)
    if not net.free:
        b = 0.0
    if math.isnan(b):
        b = 0.0
        for i in range(n):
            b += losses.p[i] * (losses.target[i] - place.f[i])
    for i in range(n):
        place.f[i] += b
        place.centre[i] = 0.0
    spread = _first_rounding(X, losses, net, place, told)
    first = curvature = 0.0
    round_already = True
    for i in range(n):
        quad, reach = losses.quad[i], losses.upper[i] - losses.lower[i]
        if losses.entropy[i] > 0.0:
            curvature += 0.25 * losses.entropy[i]
        elif losses.entropy[i] < 0.0:
            curvature += max(losses.upper[i], -losses.entropy[i])
        elif quad > 0.0:
            curvature += 1.0 / quad
            first += min(reach, 2.0 * spread / quad) / (2.0 * spread)
        else:
            round_already = False
            first += reach / (2.0 * spread)
    first = curvature if round_already else first
    least = 0.0
    if net.l2 == 0.0:
        least = VERY_LITTLE * first * _square(X, losses.p, columns)
    c = math.inf if round_already else TOLD * first if told else first
    net = Net(net.l1, net.l2, net.free, net.total, LITTLE * first, least)
    return net, Course(b, c, SHARPEST * first, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, True, False)
