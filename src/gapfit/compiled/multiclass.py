"""Coordinate steps on simplices: all dual variables of one sample at a time.

Samples are rows as in `rows.py`. Sample i has shares a_i >= 0 of the classes that add up to one, and b_i =
p_i (e_y - a_i) is its part in the weights: W = (1 / alpha) sum_i x_i b_i', a row for each feature. With an
intercept, W stands for W - mean s' / alpha, s = sum_i b_i, whose scores are

    f_i = W'x_i - along_i s / alpha + h,     along_i = <x_i, mean>,

where h holds the intercepts and what the mean does to all samples alike.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit, prefetch
from gapfit.compiled.class_weights import LANES, add, add_rows, add_some, entries, scores, some_scores
from gapfit.compiled.rows import longest
from gapfit.compiled.simplices import project

__all__ = ["LANES", "SAMPLE", "Live", "Losses", "Point", "Terms", "add_rows", "readmit", "sweep"]

AHEAD = 4  # samples are asked for from memory so many steps before their turn
LINE = 8  # numbers in a cache line
ASKED = 64  # numbers of a row that are asked for: the rest comes by itself


# What is read together lies together, since samples come in random order and memory is what a step waits for:
# the weight p_i, the curvature of the sample's part of the dual, and along_i.
SAMPLE = np.dtype([(name, np.float64) for name in ("p", "curvature", "along")], align=True)


class Losses(NamedTuple):
    """costs[row[i]] + known[i] is what the classes have before any weights, for sample i."""

    costs: Any
    row: Any
    known: Any  # a line for each sample, or one for all
    entropic: bool


class Point(NamedTuple):
    """The dual point and what follows from it."""

    A: Any  # shares
    entropy: Any  # sum of a log a
    W: Any
    s: Any
    h: Any


class Terms(NamedTuple):
    """Numbers of the dual."""

    inv_alpha: float
    rho: float
    mean_sq: float  # |mean|^2


class Live(NamedTuple):
    """Sample i looks at the first ``number[i]`` of ``classes[i]`` only."""

    classes: Any
    number: Any


@jit(fast=True)
def _towards_margin(g, a, q, new):
    """The maximiser of <new, g> - q |new - a|^2 / 2 over the simplex; returns max g - <a, g>.

    A class can have a share only if it has one now, or if its g is within q of the largest.
    """
    best, mean = 0, 0.0
    for k in range(g.size):
        mean += a[k] * g[k]
        if g[k] > g[best]:
            best = k
    top = g[best]
    if q > 0.0:
        for k in range(g.size):
            new[k] = a[k] + (g[k] - top) / q
        project(new)
    else:
        new[:] = 0.0
        new[best] = 1.0
    return top - mean


@jit(fast=True)
def _drop(g, a, new, some, threshold):
    """Keep in ``some`` the classes that matter to a sample, and return how many these are.

    Those that have no share, had none, and are behind all that have one by more than the threshold, do not.
    """
    least = np.inf
    for k in range(g.size):
        if new[k] > 0.0:
            least = min(least, g[k])
    count = 0
    for k in range(g.size):
        some[count] = some[k]
        if new[k] > 0.0 or a[k] > 0.0 or g[k] >= least - threshold:
            count += 1
    return count


@jit(fast=True)
def _towards_softmax(f, a, q, entropy, new, logs):
    """The maximiser of <new, f> - sum new log new - q |new - a|^2 / 2 over the simplex, by Newton's method
    in the logarithms; returns log sum exp f - <a, f> + sum a log a, and sum new log new.

    Where it is, log new_k + q new_k = f_k + q a_k + t, for the t with which the sum is one.
    """
    K = f.size
    top = f[0]
    for k in range(1, K):
        top = max(top, f[k])
    total, mean = 0.0, 0.0
    for k in range(K):
        new[k] = np.exp(f[k] - top)
        total += new[k]
        mean += a[k] * f[k]
    gap = top + np.log(total) - mean + entropy
    # between the answers for q = 0 and for q = inf, and never zero where one of them is not
    for k in range(K):
        new[k] = max((new[k] / total + q * a[k]) / (1.0 + q), 1e-300)
        logs[k] = np.log(new[k])
    for _ in range(10):
        # linearised: the step in log new_k is (r_k + t) / (1 + q new_k)
        moved, give, total = 0.0, 0.0, 0.0
        for k in range(K):
            share = new[k] / (1.0 + q * new[k])
            moved += share * (f[k] - top + q * (a[k] - new[k]) - logs[k])
            give += share
            total += new[k]
        t = (1.0 - total - moved) / give
        largest = 0.0
        total = 0.0
        for k in range(K):
            step = (f[k] - top + q * (a[k] - new[k]) - logs[k] + t) / (1.0 + q * new[k])
            step = min(step, 2.0)
            logs[k] += step
            new[k] = np.exp(logs[k])
            total += new[k]
            largest = max(largest, abs(step))  # of tiny shares, too: they make up a small gap
        if largest < 1e-3:
            break
    log_total = np.log(total)
    after = 0.0
    for k in range(K):
        new[k] /= total
        after += new[k] * (logs[k] - log_total)
    return gap, after


@jit(fast=True)
def sweep(rows, losses, table, point, terms, live, order, threshold):
    """Steps on the samples of ``order``. Updates the point.

    For margin losses the classes that have no share and are behind by more than the threshold are dropped: a
    sample that is left with one class has nothing to choose, it rests. Returns the sum of p_i times what
    sample i could gain, and that without p_i, as it was met.
    """
    data, indices, indptr = rows
    costs, row, known, entropic = losses
    A, entropy, W, s, h = point
    inv_alpha, rho, mean_sq = terms
    classes, number = live
    K, wide = A.shape[1], W.shape[1]
    all_scores, a, new, logs, steps = np.zeros(wide), np.empty(K), np.empty(K), np.empty(K), np.zeros(wide)
    room = longest(indptr, 0, indptr.size - 1) + 1
    all_values, all_columns = np.empty(room, data.dtype), np.empty(room, np.uint32)
    shares = A.ravel()
    gap = pulls = 0.0
    for n in range(order.size):
        if n + AHEAD < order.size:  # in place: a prefetch in a function of its own is optimised away
            i = order[n + AHEAD]
            prefetch(table, i)
            prefetch(classes, i)
            start, stop = indptr[i], min(indptr[i + 1], indptr[i] + ASKED)
            for entry in range(start, stop, LINE):
                prefetch(data, entry)
            if indices.size:
                for entry in range(start, stop, 2 * LINE):
                    prefetch(indices, entry)
            for at in range(i * K, i * K + K, LINE):
                prefetch(shares, at)
        i = order[n]
        p, q, along = table[i]["p"], table[i]["curvature"], table[i]["along"]
        count = np.intp(number[i])
        some, f = classes[i, :count], all_scores[:count]
        cost, base, drag = costs[row[i]], known[i % known.shape[0]], along * inv_alpha
        for m in range(count):
            k = some[m]
            f[m] = h[k] + base[k] - drag * s[k] + cost[k]
            a[m] = A[i, k]
        size = entries(rows, i, all_values, all_columns)
        values, columns = all_values[:size], all_columns[:size]
        if count == K:  # in their order, then
            scores(values, columns, W, all_scores)
        else:
            some_scores(values, columns, W, some, f)
        if entropic:
            pull, entropy[i] = _towards_softmax(f, a, q, entropy[i], new, logs)
        else:
            pull = _towards_margin(f, a[:count], q, new[:count])
        gap += p * pull
        pulls += pull
        give, changes = rho - (along - mean_sq) * inv_alpha, 0
        for m in range(count):
            k = some[m]
            away = p * (a[m] - new[m])
            A[i, k] = new[m]
            s[k] += away
            h[k] += away * give
            steps[m] = away * inv_alpha
            changes += away != 0.0
        if count == K and 2 * changes > K:
            add(values, columns, steps, W)
        elif changes > 0:
            add_some(values, columns, steps[:count], some, W)
        if not entropic:
            number[i] = _drop(f, a[:count], new[:count], some, threshold)
    return gap, pulls


@jit
def readmit(samples, A, live):
    """Let samples look at all classes again where one that was dropped has got a share from outside."""
    classes, number = live
    K = A.shape[1]
    for n in range(samples.size):
        i = samples[n]
        shares = 0
        for k in range(K):
            shares += A[i, k] != 0.0
        for m in range(number[i]):
            shares -= A[i, classes[i, m]] != 0.0
        if shares > 0:
            number[i] = K
            for k in range(K):
                classes[i, k] = k
