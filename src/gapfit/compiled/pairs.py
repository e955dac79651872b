"""Steps on pairs of variables by the rules of the theory, on a whole matrix.

    minimise  f(x) = 1/2 x'Qx + <p, x>,     lower <= x <= upper,  <y, x> fixed,  y of signs

A step changes x_i and x_j so that the sum stays: x_j += s * (change of x_i), s = -y_i y_j. Its model is f
with the curvature of Q, or with a bound on it for every pair.
"""

import numpy as np

from gapfit.compiled._jit import jit

RANDOM, GREEDY, VIOLATION, SECOND_ORDER = 0, 1, 2, 3


@jit
def _room(i, j, s, x, lower, upper):
    """Between which changes of x_i both stay within their bounds."""
    low, high = lower[i] - x[i], upper[i] - x[i]
    if s > 0:
        return max(low, lower[j] - x[j]), min(high, upper[j] - x[j])
    return max(low, x[j] - upper[j]), min(high, x[j] - lower[j])


@jit
def _change(i, j, Q, g, y, x, lower, upper, bound, least):
    """The change of x_i that minimises the model of the pair, and the model's value there."""
    s = -y[i] * y[j]
    slope = g[i] + s * g[j]
    curvature = bound if bound > 0 else Q[i, i] + Q[j, j] + 2 * s * Q[i, j]
    low, high = _room(i, j, s, x, lower, upper)
    if curvature > least:
        t = min(max(-slope / curvature, low), high)
    else:  # a line: to the end of it
        curvature = 0.0
        t = low if slope > 0 else high if slope < 0 else 0.0
    return t, slope * t + 0.5 * curvature * t * t


@jit
def _extremes(g, y, x, lower, upper):
    """Who violates optimality most: i could follow -y g upwards, j downwards."""
    i = j = -1
    most, least = -np.inf, np.inf
    for k in range(len(x)):
        value = -y[k] * g[k]
        can_rise = x[k] < upper[k] if y[k] > 0 else x[k] > lower[k]
        can_fall = x[k] > lower[k] if y[k] > 0 else x[k] < upper[k]
        if can_rise and value > most:
            i, most = k, value
        if can_fall and value < least:
            j, least = k, value
    return i, j, most - least


@jit
def _choose(rule, draw, Q, g, y, x, lower, upper, bound, least):
    """The pair of this step; (-1, -1) if none would move."""
    n = len(x)
    if rule == RANDOM:
        i = int(draw[0] * n)
        j = int(draw[1] * (n - 1))
        return i, j + 1 if j >= i else j
    if rule == GREEDY:
        pair, lowest = (-1, -1), 0.0
        for i in range(n):
            for j in range(i + 1, n):
                value = _change(i, j, Q, g, y, x, lower, upper, bound, least)[1]
                if value < lowest:
                    pair, lowest = (i, j), value
        return pair
    i, j, violation = _extremes(g, y, x, lower, upper)
    if not violation > 0:
        return -1, -1
    if rule == VIOLATION:
        return i, j
    most, best = -y[i] * g[i], 0.0
    for k in range(n):
        can_fall = x[k] > lower[k] if y[k] > 0 else x[k] < upper[k]
        difference = most + y[k] * g[k]
        if can_fall and difference > 0 and k != i:
            curvature = bound if bound > 0 else Q[i, i] + Q[k, k] - 2 * y[i] * y[k] * Q[i, k]
            gain = difference * difference / max(curvature, least)
            if gain > best:
                j, best = k, gain
    return i, j


@jit
def pair_steps(Q, g, y, x, lower, upper, rule, bound, draws, least):
    """A step for each row of `draws` (used by the random rule); g = Qx + p and x in place.

    Returns the number of steps; fewer than asked for if no pair would move.
    """
    for step in range(len(draws)):
        i, j = _choose(rule, draws[step], Q, g, y, x, lower, upper, bound, least)
        if i < 0:
            return step
        s = -y[i] * y[j]
        t = _change(i, j, Q, g, y, x, lower, upper, bound, least)[0]
        if t == 0:
            continue
        old_i, old_j = x[i], x[j]
        x[i] = old_i + t
        x[j] = old_j + s * t
        for k, room in ((i, t), (j, s * t)):  # exactly on the bound that ended the step
            at = old_i if k == i else old_j
            if room == upper[k] - at:
                x[k] = upper[k]
            elif room == lower[k] - at:
                x[k] = lower[k]
            x[k] = min(max(x[k], lower[k]), upper[k])
        change_i, change_j = x[i] - old_i, x[j] - old_j
        for k in range(len(g)):
            g[k] += Q[k, i] * change_i + Q[k, j] * change_j
    return len(draws)
