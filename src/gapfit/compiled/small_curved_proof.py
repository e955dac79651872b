"""What is proved of a small fit of the losses of `small_curved`; see `small_proof`, whose sums are used.

A dual point has slopes in the scores of classes, or in each threshold. They are moved onto
multiples of a power of two, which add up without rounding: those of a sample to zero over its classes, and
those of all samples to zero for each offset, exactly.
"""

import math
from typing import Any, NamedTuple

from gapfit.compiled._jit import jit
from gapfit.compiled.exponentials import LEFT_OUT, ROUNDINGS
from gapfit.compiled.small_classes import answer_classes
from gapfit.compiled.small_curved import CLASSES, NEIGHBOURS, respond
from gapfit.compiled.small_feasible import balanced, into_the_box, is_inside, unit_of
from gapfit.compiled.small_margins import cost_of, loss_of
from gapfit.compiled.small_model import Losses, Net
from gapfit.compiled.small_proof import LOGARITHMS, TINY, Proved, entropy_of, gamma, omega_of
from gapfit.compiled.small_scores import add_slopes, place, put_scores
from gapfit.compiled.small_simplices import put_shares, shares_entropy

EXPONENTIALS = LOGARITHMS + ROUNDINGS


class Proof(NamedTuple):
    """What a proof writes to."""

    dual: Any  # slopes in the scores of classes; else minus the slopes, a column for each offset
    column: Any  # a number a sample
    scores: Any  # of all samples; or slopes in them
    lines: Any  # weights as `small_scores` has them, and the slope in them
    features: Any  # the largest weights, and what is added up to slopes
    answer: Any  # of a sample


@jit(inner=True)
def _put_features(task, W, proof):
    """Put the weights in their places, and write the largest ones of all features."""
    most, weights, m = proof.features[0], proof.lines[0], proof.scores.shape[1]
    for j in range(task.d):
        most[j] = 0.0
        for k in range(m):
            weights[place(task.rows, task.d, m, j, k)] = W[j * m + k]
            most[j] = max(most[j], abs(W[j * m + k]))


@jit(inner=True)
def _risk(task, margins, answers, b, proof):
    """At those weights and b: `small_proof._risk`, for several scores. Answers of classes are written."""
    data, indices, indptr = task.rows
    most, F, n = proof.features[0], proof.scores, len(task.p)
    risk, rise, highest, roundings = 0.0, 0.0, 0.0, LOGARITHMS
    put_scores(task.rows, task.d, proof.lines[0], F)
    for k in range(b.size):
        highest = max(highest, abs(b[k]))
    if margins is None and task.kind == CLASSES:
        risk, roundings = answer_classes(task, F, b, answers, proof.column), EXPONENTIALS
    for i in range(n):
        size, start, p = highest, indptr[i], task.p[i]
        for a in range(start, indptr[i + 1]):
            size += abs(data[a]) * most[indices[a] if indices.size else a - start]
        terms = indptr[i + 1] - start + 16
        slack = 1.01 * gamma(terms) * size + terms * TINY
        # of classes, the score of one against that of the truth
        rise += p * slack * (2.0 if task.kind == CLASSES else b.size)
        if margins is not None:
            risk += p * loss_of(margins, i, F[i], b, int(task.y[i]))
        elif task.kind != CLASSES:
            risk += p * respond(task, margins, i, F[i], b, proof.answer)
    rise += gamma(n + F.shape[1] + roundings) * risk
    return risk, 1.01 * (rise + F.shape[1] * LEFT_OUT) + n * TINY


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
def _put_slopes(task, proof):
    """Write X' times the dual point, and what is added up to no slope of a feature more than."""
    data, indices, indptr = task.rows
    slope, sizes, U = proof.lines[1], proof.features[1], proof.scores
    n, m = U.shape
    for j in range(slope.size):
        slope[j] = 0.0
    for j in range(task.d):
        sizes[j] = 0.0
    for i in range(n):
        largest, start = 0.0, indptr[i]
        for k in range(m):
            U[i, k] = proof.dual[i, k]
            for j in range(m, proof.dual.shape[1]):  # thresholds of one score: without rounding
                U[i, k] += proof.dual[i, j]
            largest = max(largest, abs(U[i, k]))
        for a in range(start, indptr[i + 1]):
            sizes[indices[a] if indices.size else a - start] += largest * abs(data[a])
    add_slopes(task.rows, task.d, U, slope)


@jit(inner=True)
def _conjugate(task, proof):
    """Of the penalty at minus the slope, and its error."""
    n, m = proof.scores.shape
    value = error = 0.0
    for j in range(task.d):
        spread = 1.01 * gamma(n + 4) * proof.features[1, j] + n * TINY
        for k in range(m):
            slope = abs(proof.lines[1, place(task.rows, task.d, m, j, k)])
            value += slope * slope
            error += (2.0 * slope + spread) * spread
    value *= 0.5 / task.alpha
    error *= 0.51 / task.alpha
    return value, error + gamma(m * task.d + 16) * (value + error) + m * task.d * TINY


@jit(inner=True)
def prove_curved(task, margins, answers, W, b, proof, excess, box):
    """What is proved of weights, feature by feature, and offsets, by the dual point of these answers.

    There are two lines of a number for each class, `excess`, or of one for each sample, `box`: the other is
    None, and then code for it is left out.
    """
    sound = False
    if box is not None:
        sound = _put_columns(task, answers, proof, box)
    if excess is not None:
        sound = put_shares(task, answers, proof.dual, excess[0], excess[1])
    omega, omega_error = omega_of(Net(0.0, task.alpha, task.free, 0.0, 0.0, 0.0), W)
    _put_features(task, W, proof)
    risk, risk_error = _risk(task, margins, answers, b, proof)
    _put_slopes(task, proof)
    conjugate, conjugate_error = _conjugate(task, proof)
    if not sound:
        conjugate = conjugate_error = math.inf
    height, height_error = _height(task, margins, proof.dual)
    return Proved(omega, omega_error, risk, risk_error, height, height_error, conjugate, conjugate_error)
