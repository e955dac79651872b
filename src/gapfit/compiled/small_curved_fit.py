"""A whole small fit in one call for the losses of `small_curved`: Newton's method, offsets, the proof."""

import math

from gapfit.compiled._jit import jit
from gapfit.compiled.precise import sum_exactly
from gapfit.compiled.small_curved import CLASSES, LEVELS
from gapfit.compiled.small_curved_newton import POINT, STEP, descend, evaluate, settle_offsets
from gapfit.compiled.small_curved_proof import prove_curved
from gapfit.compiled.small_fit import ENOUGH, LARGEST, TRIES, relative_gap
from gapfit.compiled.small_scores import place


@jit(inner=True)
def is_sound(task, weight):
    """Write the shares of the weights. Are all numbers of a reasonable size?"""
    n = len(weight)
    total, lost, _ = sum_exactly(weight, 0, n, 0.0)
    large = 0
    for i in range(n):
        task.p[i] = weight[i] / (total + lost)
        large += not task.y[i] <= LARGEST
    for k in range(task.rows.data.size):
        large += not abs(task.rows.data[k]) <= LARGEST
    return large == 0


@jit
def _begin(task, b, there):
    """Write the best offsets where all scores are zero, from the weights on both sides."""
    for i in range(len(task.p)):
        y, p = task.y[i], task.p[i]
        for k in range(b.size):
            if task.kind == CLASSES:
                b[k] += p if y == k else 0.0
                there[k] = 1.0
            elif task.kind == LEVELS or y == k or y == k + 1:
                b[k] += p if y <= k else 0.0
                there[k] += p if y > k else 0.0
    for k in range(b.size):
        b[k] = math.log(b[k] / there[k])


@jit
def fit(task, margins, weight, tol, work, proof, W, excess, box):
    """What is proved at the end, whatever it is. Weights are written feature by feature, offsets and the dual
    point are where the solver and the proof have them. Of `excess` and `box` one is None."""
    sound = is_sound(task, weight)
    m, d = work.F.shape[1], task.d
    z = work.lines[POINT]
    if task.free:
        _begin(task, z[m * d :], work.lines[STEP])
    risk = evaluate(task, margins, work, z[m * d :])
    aim = ENOUGH * tol if sound else math.inf
    for _ in range(TRIES):
        risk, moving = descend(task, margins, work, risk, aim, 0.0)
        if task.free:
            settle_offsets(task, margins, work, risk)
        for j in range(d):
            for k in range(m):
                W[j * m + k] = z[place(task.rows, d, m, j, k)]
        proved = prove_curved(task, margins, work.answers, W, z[m * d :], proof, excess, box)
        aim *= 0.1
        if relative_gap(proved) <= tol or not moving:
            break
    return proved
