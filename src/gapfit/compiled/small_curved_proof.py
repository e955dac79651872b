"""What is proved of a small fit of the losses of `small_curved`; see `small_proof`, whose sums are used.

A dual point has slopes in the scores of classes, or in each threshold. They are moved onto
multiples of a power of two, which add up without rounding: those of a sample to zero over its classes, and
those of all samples to zero for each offset, exactly.
"""

import math
from typing import Any, NamedTuple

from gapfit.compiled._jit import jit
from gapfit.compiled.small_curved import CLASSES, NEIGHBOURS, respond
from gapfit.compiled.small_feasible import balanced, into_the_box, is_inside, unit_of
from gapfit.compiled.small_margins import cost_of, loss_of
from gapfit.compiled.small_model import Losses, Net
from gapfit.compiled.small_proof import LOGARITHMS, TINY, Proved, entropy_of, gamma, omega_of, put_slope
from gapfit.compiled.small_simplices import put_shares, shares_entropy


class Proof(NamedTuple):
    """What a proof writes to."""

    dual: Any  # slopes in the scores of classes; else minus the slopes, a column for each offset
    column: Any  # of a dual point
    features: Any  # X' times it, how far each entry may be from the exact one, and the largest weights
    f: Any  # scores of a sample,
    answer: Any


@jit(inner=True)
def _risk(task, margins, W, b, proof):
    """At W and b: `small_proof._risk`, for several scores."""
    data, indices, indptr = task.rows
    most, f, answer, d, m = proof.features[2], proof.f, proof.answer, task.d, proof.f.size
    risk, rise, highest = 0.0, 0.0, 0.0
    for j in range(d):
        most[j] = 0.0
        for k in range(m):
            most[j] = max(most[j], abs(W[j * m + k]))
    for k in range(b.size):
        highest = max(highest, abs(b[k]))
    for i in range(len(task.p)):
        size, start, p, y = highest, indptr[i], task.p[i], task.y[i]
        for k in range(m):
            f[k] = 0.0
        for a in range(start, indptr[i + 1]):
            x, j = data[a], indices[a] if indices.size else a - start
            size += abs(x) * most[j]
            for k in range(m):
                f[k] += x * W[j * m + k]
        terms = indptr[i + 1] - start + 16
        slack = 1.01 * gamma(terms) * size + terms * TINY
        loss = (
            loss_of(margins, i, f, b, int(y))
            if margins is not None
            else respond(task, margins, i, f, b, answer)
        )
        risk += p * loss
        # of classes, the score of one against that of the truth
        rise += p * slack * (2.0 if task.kind == CLASSES else b.size)
    return risk, 1.01 * (rise + gamma(len(task.p) + m + LOGARITHMS) * risk) + len(task.p) * TINY


@jit(inner=True)
def _put_columns(task, answers, proof, box):
    """Write a dual point of thresholds. Could it be made feasible?"""
    v, lower, upper = proof.column, box[0], box[1]
    n, q = len(task.p), proof.dual.shape[1]
    losses = Losses(v, v, v, lower, upper, v, task.p)
    unit, size = 0.0, 0.0
    sound = True
    for turn in range(2):
        for k in range(q):
            for i in range(n):
                p, y = task.p[i], task.y[i]
                here = p if task.kind != NEIGHBOURS or y == k or y == k + 1 else 0.0
                lower[i], upper[i] = (0.0, here) if y > k else (-here, 0.0)
                v[i] = p * answers[i, k] if y > k else -p * answers[i, k]
                if turn == 1:
                    v[i] = proof.dual[i, k]
            if turn == 0:
                size += into_the_box(losses, v, task.free)
            elif task.free and unit > 0.0:
                sound &= balanced(losses, v, unit)
            sound &= is_inside(losses, v)
            for i in range(n):
                proof.dual[i, k] = v[i]
        unit = unit_of(size)
    return sound and (unit > 0.0 or size == 0.0)


@jit(inner=True)
def _conjugates(task, margins, i, dual):
    """The conjugate at the slopes of a sample, divided by its share; and what was added up to it."""
    p, y, value, size = task.p[i], task.y[i], 0.0, 0.0
    if margins is not None:
        return cost_of(margins, i, dual, p, int(y))
    if task.kind == CLASSES:
        return shares_entropy(dual, p, int(y))
    for k in range(dual.size):
        a = abs(dual[k]) / p
        value += entropy_of(a) + entropy_of(1.0 - a)
        size += 2.0
    return value, size + abs(value)


@jit(inner=True)
def _height(task, margins, dual):
    """Minus the conjugate of the risk."""
    height = made = 0.0
    for i in range(len(dual)):
        value, size = _conjugates(task, margins, i, dual[i])
        height -= task.p[i] * value
        made += task.p[i] * size
    n = len(dual)
    return height, gamma(n + dual.shape[1] + LOGARITHMS) * made + n * TINY


@jit(inner=True)
def prove_curved(task, margins, answers, W, b, proof, excess, box):
    """What is proved of weights, feature by feature, and offsets, by the dual point of these answers.

    There are two lines of a number for each class, `excess`, or of one for each sample, `box`: the other is
    None, and then code for it is left out.
    """
    net = Net(0.0, task.alpha, task.free, 0.0, 0.0, 0.0)
    omega, omega_error = omega_of(net, W)
    risk, risk_error = _risk(task, margins, W, b, proof)
    conjugate = conjugate_error = 0.0
    m = proof.f.size
    sound = False
    if box is not None:
        sound = _put_columns(task, answers, proof, box)
    if excess is not None:
        sound = put_shares(task, answers, proof.dual, excess[0], excess[1])
    column, slope, spread = proof.column, proof.features[0], proof.features[1]
    for k in range(m):
        for i in range(len(task.p)):
            column[i] = proof.dual[i, k]
            for j in range(m, proof.dual.shape[1]):  # thresholds of one score: without rounding
                column[i] += proof.dual[i, j]
        put_slope(task.rows, column, slope, spread)
        for j in range(task.d):
            conjugate += slope[j] * slope[j]
            conjugate_error += (2.0 * abs(slope[j]) + spread[j]) * spread[j]
    conjugate *= 0.5 / task.alpha
    conjugate_error *= 0.51 / task.alpha
    conjugate_error += gamma(len(W) + 16) * (conjugate + conjugate_error) + len(W) * TINY
    if not sound:
        conjugate = conjugate_error = math.inf
    height, height_error = _height(task, margins, proof.dual)
    return Proved(omega, omega_error, risk, risk_error, height, height_error, conjugate, conjugate_error)
