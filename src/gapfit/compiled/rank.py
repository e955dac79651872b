"""Counting the pairs that are in the wrong order, or not far enough apart, in sorted scores."""

import numpy as np

from gapfit.compiled._jit import jit


@jit
def positives_below_negatives(order, signed, limit, u):
    """Write to u, for positives, minus the weight of the negatives above them, for negatives the weight of
    the positives below them, each times its own weight. Returns the sum over the pairs of the products.

    Weights of negatives are negative. Only the topmost of these count, up to the weight `limit`, the last one
    in part.
    """
    total = 0.0
    for i in range(len(signed)):
        total += max(signed[i], 0.0)
    above, taken, pairs = 0.0, 0.0, 0.0  # weights of positives and negatives so far
    for k in range(len(order)):
        i = order[k]
        if signed[i] > 0.0:
            above += signed[i]
            u[i] = -signed[i] * taken
            pairs += signed[i] * taken
        else:
            part = max(min(-signed[i], limit - taken), 0.0)
            taken += part
            u[i] = part * max(total - above, 0.0)
    return pairs


@jit
def pairs_within_runs(scores, starts, level, weight, price, u):
    """The sum of weight_i * price_j over the pairs of a run with level_i < level_j and
    scores_j - scores_i < 1; u gets minus the sum over a sample's pairs as j plus that over those as i.

    Scores descend within runs, and levels count from zero. Weights by level are held in a binary indexed
    tree, so many levels cost little more than two.
    """
    tree = np.zeros(2)
    total = 0.0
    for run in range(len(starts) - 1):
        start, stop = starts[run], starts[run + 1]
        size = 0
        for j in range(start, stop):
            size = max(size, level[j] + 1)
        if len(tree) <= size:
            tree = np.zeros(2 * size + 1)
        tree[: size + 1] = 0.0
        k = start
        for j in range(start, stop):  # who should be below, but is not by far enough?
            while k < stop and scores[j] - scores[k] < 1.0:
                _add(tree, size, level[k], weight[k])
                k += 1
            u[j] = -price[j] * _below(tree, level[j])
            total -= u[j]
        tree[: size + 1] = 0.0
        k = stop - 1
        for i in range(stop - 1, start - 1, -1):  # who should be above, but is not by far enough?
            while k >= start and scores[k] - scores[i] < 1.0:
                _add(tree, size, size - 1 - level[k], price[k])
                k -= 1
            u[i] += weight[i] * _below(tree, size - 1 - level[i])
    return total


@jit
def add_others(weight, starts, before, after):
    """Add to `before` and `after` the weights before and after each place of its run."""
    for run in range(len(starts) - 1):
        start, stop = starts[run], starts[run + 1]
        for k in range(start + 1, stop):
            before[k] += before[k - 1] + weight[k - 1]
        for k in range(stop - 2, start - 1, -1):
            after[k] += after[k + 1] + weight[k + 1]


@jit
def _add(tree, size, level, weight):
    k = level + 1
    while k <= size:
        tree[k] += weight
        k += k & -k


@jit
def _below(tree, level):
    """The sum of the weights of all lower levels."""
    total = 0.0
    k = level
    while k > 0:
        total += tree[k]
        k -= k & -k
    return total


@jit
def pairs_with_costs(scores, level, weight, cost, u):
    """As `pairs_within_runs` for one run and weight_i * weight_j * cost[level_i, level_j]."""
    levels = len(cost)
    n = len(scores)
    count = np.zeros(levels)
    total = 0.0
    k = 0
    for j in range(n):
        while k < n and scores[j] - scores[k] < 1.0:
            count[level[k]] += weight[k]
            k += 1
        met = 0.0
        for low in range(level[j]):
            met += cost[low, level[j]] * count[low]
        u[j] = -weight[j] * met
        total -= u[j]
    count[:] = 0.0
    k = n - 1
    for i in range(n - 1, -1, -1):
        while k >= 0 and scores[k] - scores[i] < 1.0:
            count[level[k]] += weight[k]
            k -= 1
        met = 0.0
        for high in range(level[i] + 1, levels):
            met += cost[level[i], high] * count[high]
        u[i] += weight[i] * met
    return total


@jit(fast=True)
def add_differences(X, above, below, weight, spread):
    """Add weight_k (x_i - x_j) to row i of `spread`, and take it from row j, for each pair k of i above j."""
    for k in range(len(weight)):
        i, j = above[k], below[k]
        for c in range(X.shape[1]):
            change = weight[k] * (np.float64(X[i, c]) - np.float64(X[j, c]))
            spread[i, c] += change
            spread[j, c] -= change
