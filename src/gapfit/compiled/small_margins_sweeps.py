"""Dual coordinate ascent for the multiclass support vector machine on small data.

All shares of a sample at a time, as in `multiclass`, without what pays on larger data only. It ends when the
gap is small, or falls slowly.
"""

import math

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import TINY, dense_dot
from gapfit.compiled.simplices import project
from gapfit.compiled.small_curved_newton import POINTS

INNER = 6  # sweeps over active samples, at most, before all are visited again
ACTIVE = 0.1  # of the gap, left in the active samples: then all are visited
PATIENCE = 4  # visits to all samples, by which their progress is judged


@jit(inner=True)
def shuffle(order, count, state):
    for last in range(count - 1, 0, -1):
        state = (state * 1103515245 + 12345) % 2147483648
        other = (state >> 8) % (last + 1)
        held = order[last]
        order[last] = order[other]
        order[other] = held
    return state


@jit(inner=True)
def seems_far(gaps, turn, aim, ahead):
    """Will it take more than so many turns until the gap is so small? By the least ones before and within the
    last third of the way, for gaps swing."""
    before, since, then = gaps[0], gaps[turn], turn - min(max(turn // 3, PATIENCE), turn)
    for at in range(turn):
        if at <= then:
            before = min(before, gaps[at])
        else:
            since = min(since, gaps[at])
    fall = math.log(since / before) / (turn - then)
    return not fall < 0.0 or math.log(aim / since) < ahead * fall


@jit(fast=True, inner=True)
def _sweep(task, margins, A, W, room, curvature, count):
    """Visit so many samples. Returns how many of them remain active, and the gap as it was met."""
    data, indices, indptr = task.rows
    order, m, g, new = margins.order, A.shape[1], room[0], room[1]
    kept, gap = 0, 0.0
    for at in range(count):
        i = order[at]
        a, cost, p, start = A[i], margins.costs[margins.row[i]], task.p[i], indptr[i]
        for k in range(m):
            g[k] = cost[k]
        for entry in range(start, indptr[i + 1]):
            x, j = data[entry], m * np.int64(indices[entry] if indices.size else entry - start)
            for k in range(m):
                g[k] += x * W[j + k]
        top, mean = g[0], 0.0
        for k in range(m):
            top = max(top, g[k])
            mean += a[k] * g[k]
        if not top > mean:
            continue  # it has the best class alone
        gap += p * (top - mean)
        order[at], order[kept] = order[kept], i
        kept += 1
        for k in range(m):
            new[k] = a[k] + (g[k] - top) / max(curvature[i], TINY)
        project(new)
        for k in range(m):
            g[k] = p * (a[k] - new[k]) / task.alpha
            a[k] = new[k]
        for entry in range(start, indptr[i + 1]):
            x, j = data[entry], m * np.int64(indices[entry] if indices.size else entry - start)
            for k in range(m):
                W[j + k] += x * g[k]
    return kept, gap


@jit(inner=True)
def begin(task, margins, work, W, curvature):
    """With no weights."""
    work.passed[0] = 0
    for j in range(len(W)):
        W[j] = 0.0
    for i in range(len(task.p)):
        margins.order[i] = i
        square = 0.0
        for a in range(task.rows.indptr[i], task.rows.indptr[i + 1]):
            square += task.rows.data[a] * task.rows.data[a]
        curvature[i] = task.p[i] * square / task.alpha
        for j in range(work.answers.shape[1]):
            work.answers[i, j] = 1.0 if j == task.y[i] else 0.0


@jit(inner=True)
def sweeps(task, margins, work, W, curvature, aim, ahead):
    """Go on. Has the gap become that share of J, as far as it was met? No, if more than so many sweeps ahead
    seem to be needed."""
    n, A, state = len(task.p), work.answers, 1 + work.passed[0]
    for turn in range(work.passed[0], POINTS):
        state = shuffle(margins.order, n, state)
        count, gap = _sweep(task, margins, A, W, work.offsets, curvature, n)
        J = gap - 0.5 * task.alpha * dense_dot(W, W)
        for i in range(n):
            J += task.p[i] * dense_dot(margins.costs[margins.row[i]], A[i])
        work.way[0, turn], work.way[1, turn] = J, gap
        work.passed[0] = turn + 1
        if gap <= aim * J:
            return True
        if turn >= PATIENCE and seems_far(work.way[1], turn, aim * J, ahead):
            return False
        left = gap
        for _ in range(INNER):
            if left <= ACTIVE * gap or 2 * count > n:
                break
            state = shuffle(margins.order, count, state)
            count, left = _sweep(task, margins, A, W, work.offsets, curvature, count)
    return False
