"""Sweeps as in `small_margins_sweeps`, where samples are few enough for their kernel matrix.

The scores of all samples are kept. A change of one sample's share of a class moves the scores of that class,
by one row of the matrix; a visit that changes nothing looks at one number for each class, whatever the number
of features, and the gap of a point costs no more than that for each sample.
"""

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import TINY
from gapfit.compiled.simplices import project
from gapfit.compiled.small_margins_sweeps import seems_far, shuffle

INNER = 3  # sweeps between two looks at all samples, those after the first over samples that could gain,
MORE = 16  # and one more after each so many looks
ACTIVE = 0.1  # of the gap, left to gain: then all are looked at again
LITTLE = 0.1  # of what sweeps may take: so much is tried in any case
PER_VISIT, PER_CLASS, PER_SCORE = 40.0, 6.0, 0.25  # multiply-adds one by one that take as long


@jit(fast=True, inner=True)
def _look(task, margins, A, scores):
    """J, and the gap to the bound of the shares."""
    n, m = A.shape
    gap = bound = square = 0.0
    for i in range(n):
        a, cost, truth, p = A[i], margins.costs[margins.row[i]], int(task.y[i]), task.p[i]
        top, mean = cost[0] + scores[0, i], 0.0
        for k in range(m):
            g = cost[k] + scores[k, i]
            top = max(top, g)
            mean += a[k] * g
            bound += p * a[k] * cost[k]
            square += p * ((1.0 if k == truth else 0.0) - a[k]) * scores[k, i]
        gap += p * (top - mean)
    return gap + bound - 0.5 * square, gap


@jit(fast=True, inner=True)
def _sweep(task, margins, A, scores, kernel, room, count):
    """Visit so many samples. Returns how many of them could gain, the gap as it was met, and the changes."""
    order, (n, m), g, new = margins.order, A.shape, room[0], room[1]
    kept, changes, gap = 0, 0, 0.0
    for at in range(count):
        i = order[at]
        a, cost, p, row = A[i], margins.costs[margins.row[i]], task.p[i], kernel[i]
        top, mean = cost[0] + scores[0, i], 0.0
        for k in range(m):
            g[k] = cost[k] + scores[k, i]
            top = max(top, g[k])
            mean += a[k] * g[k]
        if not top > mean:
            continue  # it has the best class alone
        gap += p * (top - mean)
        order[at], order[kept] = order[kept], i
        kept += 1
        unit = p / task.alpha
        for k in range(m):
            new[k] = a[k] + (g[k] - top) / max(unit * row[i], TINY)
        project(new)
        for k in range(m):
            step = unit * (a[k] - new[k])
            if step != 0.0:
                a[k] = new[k]
                changes += 1
                those = scores[k]
                for j in range(n):
                    those[j] += step * row[j]
    return kept, gap, changes


@jit(fast=True, inner=True)
def _put_weights(task, A, W):
    """Those of the shares."""
    data, indices, indptr = task.rows
    m = A.shape[1]
    for j in range(len(W)):
        W[j] = 0.0
    for i in range(len(A)):
        for k in range(m):
            b = task.p[i] * ((1.0 if k == int(task.y[i]) else 0.0) - A[i, k]) / task.alpha
            if b != 0.0:
                for a in range(indptr[i], indptr[i + 1]):
                    W[(indices[a] if indices.size else a - indptr[i]) * m + k] += data[a] * b


@jit(inner=True)
def kept_sweeps(task, margins, work, kernel, W, aim, most):
    """Begin with no weights, and write those at the end. Has the gap become that share of J? No, if that
    seems to take more than so many multiply-adds."""
    (n, m), A, state, spent, met = work.answers.shape, work.answers, 1, 0.0, False
    scores = work.F.reshape(m, n)
    for i in range(n):
        margins.order[i] = i
        for k in range(m):
            A[i, k] = 1.0 if k == task.y[i] else 0.0
            scores[k, i] = 0.0
    for turn in range(work.way.shape[1]):
        J, gap = _look(task, margins, A, scores)
        work.way[0, turn], work.way[1, turn] = J, gap
        work.passed[0] = turn + 1
        met = gap <= aim * J
        if met:
            break
        if spent > LITTLE * most and seems_far(work.way[1], turn, aim * J, most / spent * turn):
            break
        count, left = n, gap
        for _ in range(INNER + turn // MORE):
            state = shuffle(margins.order, count, state)
            visits = count
            count, left, changes = _sweep(task, margins, A, scores, kernel, work.offsets, visits)
            spent += visits * (PER_VISIT + PER_CLASS * m) + PER_SCORE * changes * n
            if left <= ACTIVE * gap:
                break
    _put_weights(task, A, W)
    return met
