"""The multiclass support vector machine for small data: its loss, rounded off about a dual point.

The loss of a sample with scores f is max over k of g_k, g_k = cost_k + f_k - f_y. Rounded off it is

    max over a >= 0, sum a = 1 of  <a, g> - |a - centre|^2 / (2 c),

whose maximiser is the point of the simplex next to centre + c g. Of classes with a share it has second
derivatives c (I - 11' / their number), and none of others.
"""

from typing import Any, NamedTuple

from gapfit.compiled._jit import jit
from gapfit.compiled.simplices import project
from gapfit.compiled.small_model import DAMPING, factor
from gapfit.compiled.small_scores import place


class Margins(NamedTuple):
    """What goes beyond `small_curved.Curved`."""

    costs: Any  # a line for each kind of sample
    row: Any  # which is the sample's
    centre: Any
    c: Any  # one number
    order: Any  # of the samples


@jit(inner=True)
def rounded(margins, i, f, b, truth, answer):
    """Write the maximiser, and return the loss, rounded off."""
    cost, centre, c = margins.costs[margins.row[i]], margins.centre[i], margins.c[0]
    own, loss = f[truth] + b[truth], 0.0
    for k in range(answer.size):
        answer[k] = centre[k] + c * (cost[k] + f[k] + b[k] - own)
    project(answer)
    for k in range(answer.size):
        away = answer[k] - centre[k]
        loss += answer[k] * (cost[k] + f[k] + b[k] - own) - 0.5 * away * away / c
    return loss


@jit(inner=True)
def loss_of(margins, i, f, b, truth):
    """The loss itself."""
    cost, own, loss = margins.costs[margins.row[i]], f[truth] + b[truth], 0.0
    for k in range(b.size):
        loss = max(loss, cost[k] + (f[k] + b[k] - own))
    return loss


@jit(inner=True)
def cost_of(margins, i, dual, p, truth):
    """The conjugate at the slopes of a sample, divided by its share; and what was added up. The truth costs
    nothing."""
    cost, value = margins.costs[margins.row[i]], 0.0
    for k in range(dual.size):
        value -= cost[k] * (dual[k] / p) if k != truth else 0.0
    return value, -value


@jit(fast=True, inner=True)
def _number(answer):
    """Of classes that have a share."""
    number = 0
    for k in range(answer.size):
        number += answer[k] > 0.0
    return number


@jit(fast=True, inner=True)
def curvature_rounded(margins, answer):
    """One second derivative for all scores."""
    return margins.c[0] * (_number(answer) - 1) / (answer.size - 1)


@jit(fast=True, inner=True)
def bend_rounded(margins, p, answer, v):
    """Replace a change v of a sample's scores by what it makes of the slopes."""
    mean = 0.0
    for k in range(v.size):
        mean += v[k] if answer[k] > 0.0 else 0.0
    mean /= _number(answer)
    for k in range(v.size):
        v[k] = p * margins.c[0] * (v[k] - mean) if answer[k] > 0.0 else 0.0


@jit(fast=True, inner=True)
def put_hessian(task, margins, answers, H):
    """Write the factor of that of the rounded risk in all weights: its lower triangle is enough."""
    data, indices, indptr = task.rows
    m, d = answers.shape[1], task.d
    for j in range(len(H)):
        for k in range(j + 1):
            H[j, k] = 0.0
    for i in range(len(answers)):
        number, start, stop = _number(answers[i]), indptr[i], indptr[i + 1]
        for k in range(m if number > 1 else 0):
            for l in range((m if indices.size else k + 1) if answers[i, k] > 0.0 else 0):
                if answers[i, l] > 0.0:
                    c = task.p[i] * margins.c[0] * ((k == l) - 1.0 / number)
                    for a in range(start, stop):
                        x, column = c * data[a], indices[a] if indices.size else a - start
                        line = H[place(task.rows, d, m, column, k)]
                        for other in range(start, a + 1 if indices.size else stop):
                            column = indices[other] if indices.size else other - start
                            line[place(task.rows, d, m, column, l)] += x * data[other]
    largest = 0.0
    for j in range(len(H)):
        largest = max(largest, H[j, j])
    for j in range(len(H)):
        H[j, j] += task.alpha + 1e-6 * DAMPING * largest
    factor(H, len(H))
