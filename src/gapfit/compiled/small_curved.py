"""Smooth losses that are more than one function of one score, for small fits: softmax and thresholds.

A sample has scores f, of which there are several for classes, and offsets b. It answers with one number for
each class or threshold, from which the loss, its slopes and its second derivatives follow:

    classes     pi_k = exp(f_k + b_k) / sum of all      loss  -log pi_y
    thresholds  v_k = 1 / (1 + exp(s_k (f - b_k)))      loss  -sum of log(1 - v_k), s_k = +1 above, else -1

Answers are what a dual point is made of as well (`small_curved_proof`), so this code is compiled strictly.
"""

import math
from typing import Any, NamedTuple

from gapfit.compiled._jit import jit
from gapfit.compiled.small_margins import bend_rounded, curvature_rounded, rounded

CLASSES, LEVELS, NEIGHBOURS = range(3)  # levels have all thresholds, or the ones next to them


class Curved(NamedTuple):
    """What is to be fitted under the L2 penalty."""

    rows: Any  # `rows.Rows`
    kind: Any
    d: Any  # columns
    y: Any  # the class or the level
    p: Any  # shares of the weights
    alpha: Any
    free: Any  # are there offsets?


@jit(inner=True)
def _of_levels(f, b, level, everywhere, answer):
    """Those of thresholds that are not for this level are zero."""
    loss = 0.0
    for k in range(b.size):
        answer[k] = 0.0
        if everywhere or level == k or level == k + 1:
            margin = f - b[k] if level > k else b[k] - f
            t = math.exp(-abs(margin))
            answer[k] = (t if margin > 0.0 else 1.0) / (1.0 + t)
            loss += max(-margin, 0.0) + math.log1p(t)
    return loss


@jit(inner=True)
def respond(task, margins, i, f, b, answer):
    """Write the answer of sample i at its scores, and return its loss; of classes that is `small_classes`.
    `margins` are None, or those of `small_margins`."""
    if margins is not None:
        return rounded(margins, i, f, b, int(task.y[i]), answer)
    return _of_levels(f[0], b, int(task.y[i]), task.kind == LEVELS, answer)


@jit(inner=True)
def slopes(task, answers, U, e):
    """Write the slopes of the risk in all scores and in the offsets."""
    for k in range(e.size):
        e[k] = 0.0
    for i in range(len(answers)):
        p, y = task.p[i], task.y[i]
        U[i, 0] = 0.0
        for k in range(e.size):
            if task.kind == CLASSES:
                U[i, k] = slope = p * (answers[i, k] - (y == k))
            else:
                slope = p * answers[i, k] if y > k else -p * answers[i, k]
                U[i, 0] -= slope
            e[k] += slope
    for k in range(e.size):
        e[k] *= task.free


@jit(fast=True, inner=True)
def bend(task, margins, answers, V, t, e):
    """Replace changes V of scores, with those of offsets t, by what they make of the slopes U and e."""
    for k in range(e.size):
        e[k] = 0.0
    for i in range(len(answers)):
        p, answer = task.p[i], answers[i]
        if margins is not None:
            bend_rounded(margins, p, answer, V[i])
        elif task.kind == CLASSES:
            mean = 0.0
            for k in range(e.size):
                V[i, k] += t[k]
                mean += answer[k] * V[i, k]
            for k in range(e.size):
                V[i, k] = p * answer[k] * (V[i, k] - mean)
                e[k] += V[i, k]
        else:
            total = 0.0
            for k in range(e.size):
                slope = p * answer[k] * (1.0 - answer[k]) * (V[i, 0] - t[k])
                total += slope
                e[k] -= slope
            V[i, 0] = total
    for k in range(e.size):
        e[k] *= task.free


@jit(fast=True, inner=True)
def curvature(task, margins, i, answer, border):
    """One second derivative of sample i for all of its scores; and what goes with it in the offsets of one
    score is written."""
    total, p = 0.0, task.p[i]
    if margins is not None:
        border[0] = 0.0
        return p * curvature_rounded(margins, answer)
    for k in range(answer.size):
        here = p * answer[k] * (1.0 - answer[k])
        total += here
        if task.kind == LEVELS or task.kind == NEIGHBOURS:
            border[k] = -here
    if task.kind == CLASSES:
        total /= answer.size - 1
    if task.kind == CLASSES:
        border[0] = total
    return total


@jit(fast=True, inner=True)
def bend_of_offsets(task, answers, B, mixed):
    """Write the second derivatives of the risk in the offsets, where these are free; or only unmixed ones."""
    q = len(B)
    for k in range(q):
        for j in range(q):
            B[k, j] = 0.0
    for i in range(len(answers) if task.free else 0):
        p, answer = task.p[i], answers[i]
        for k in range(q):
            B[k, k] += p * answer[k] * (1.0 - answer[k])
            if mixed and task.kind == CLASSES:
                for j in range(k):
                    B[k, j] -= p * answer[k] * answer[j]
