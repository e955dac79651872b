"""Newton's method for the losses of `small_curved`, steps by conjugate gradients.

Weights of all scores stand in one vector (`small_scores`), and the offsets after them. A step solves

    (alpha + X'DX) s + X'D t = -gradient in w,      D'X s + D t = -gradient in b,

with D the second derivatives in the scores, by conjugate gradients. The Hessian that one curvature of each
sample makes goes before: that of one score is the true one, and one step is all. Where it would be a large
matrix, its diagonal serves.
"""

import math
from typing import Any, NamedTuple

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import TINY, dense_dot
from gapfit.compiled.small_classes import answer_classes
from gapfit.compiled.small_curved import CLASSES, bend, bend_of_offsets, curvature, respond, slopes
from gapfit.compiled.small_margins import put_hessian
from gapfit.compiled.small_model import EPS, factor, solve, solve_factored
from gapfit.compiled.small_scores import add_slopes, place, put_scores

POINT, GRADIENT, STEP, REST, PULLED, WAY, BENT = range(7)  # lines of `Work.lines`
MOST = 50  # Newton steps
POINTS = 250  # that there is room for
PRODUCTS = 200  # with the Hessian, in a step
LONGEST = 2e10  # multiply-adds in all products: then others go on, who can be interrupted
FORCING = 0.1  # of the first residual is left at most, in a step
ENOUGH = 0.1  # of a gap that is small enough may be the residual's
SEARCH = 30  # evaluations in a line search
FALL = 1e-4  # of what a slope promises: less is too little
ROUNDING = 1e-13  # of J: differences of this size mean nothing
TURNS = 6  # Newton steps in the offsets alone


class Work(NamedTuple):
    """Where the fit is, and where it writes. Arrays are few: each takes time to compile, wherever it goes."""

    lines: Any  # weights and offsets; and others of that size
    F: Any  # scores without offsets,
    V: Any  # what changes of weights make of them,
    U: Any  # and slopes in them
    answers: Any
    matrix: Any  # the simple Hessian, or nothing
    single: Any  # its diagonal, room for one score's part of a vector, and for a border
    offsets: Any  # second derivatives in offsets
    passed: Any  # how many points, and products with the Hessian,
    way: Any  # J at the points, and the gap by guess


@jit(inner=True)
def evaluate(task, margins, work, b):
    """Write all answers, and return the risk."""
    if margins is None and task.kind == CLASSES:
        return answer_classes(task, work.F, b, work.answers, work.U.reshape(work.U.size)[: len(work.U)])
    risk = 0.0
    for i in range(len(task.p)):
        risk += task.p[i] * respond(task, margins, i, work.F[i], b, work.answers[i])
    return risk


@jit(fast=True)
def _put_gradient(task, U, z, out):
    """Write alpha z + X'U."""
    for j in range(U.shape[1] * task.d):
        out[j] = task.alpha * z[j]
    add_slopes(task.rows, task.d, U, out)


@jit(fast=True)
def _add_dense_squares(task, margins, work):
    """To the diagonal, of dense rows: several entries at a time, since none is asked where it goes."""
    data, indptr = task.rows.data, task.rows.indptr
    diagonal, border, d = work.single[0], work.single[2], task.d
    for i in range(len(task.p)):
        c = curvature(task, margins, i, work.answers[i], border)
        row = data[indptr[i] : indptr[i + 1]]
        for j in range(row.size):
            diagonal[j] += c * row[j] * row[j]
        for k in range(d, len(diagonal)):
            diagonal[k] += abs(border[k - d])


@jit(fast=True)
def _add_curved_rows(task, margins, work):
    """To the diagonal, and to the matrix if there is one."""
    data, indices, indptr = task.rows
    H, diagonal, border, d = work.matrix, work.single[0], work.single[2], task.d
    for i in range(len(task.p)):
        c = curvature(task, margins, i, work.answers[i], border)
        start = indptr[i]
        row = data[start : indptr[i + 1]]
        for a in range(row.size):
            x, j = row[a], indices[start + a] if indices.size else a
            diagonal[j] += c * x * x
            for k in range(d, len(H)):
                H[k, j] += border[k - d] * x
        for a in range(row.size if H.size else 0):  # columns come in their order
            x, line = c * row[a], H[indices[start + a] if indices.size else a]
            if indices.size:
                for k in range(a):
                    line[indices[start + k]] += x * row[k]
            else:
                for k in range(a):
                    line[k] += x * row[k]
        for k in range(d, len(diagonal)):
            diagonal[k] += abs(border[k - d])


@jit(fast=True)
def _put_simple_hessian(task, margins, work):
    """Of one curvature for all scores of a sample: a matrix of one score and its offsets, or the diagonal."""
    H, diagonal, d = work.matrix, work.single[0], task.d
    for j in range(len(diagonal)):
        diagonal[j] = 0.0
        for k in range(len(H)):
            H[j, k] = 0.0
    if H.size == 0 and task.rows.indices.size == 0:
        _add_dense_squares(task, margins, work)
    else:
        _add_curved_rows(task, margins, work)
    for j in range(len(diagonal)):
        diagonal[j] = (1.0 + EPS) * diagonal[j] + (task.alpha if j < d else 0.0 if task.free else 1.0) + TINY
        if H.size:
            H[j, j] = diagonal[j]
            for k in range(j if j >= d and not task.free else 0):
                H[j, k] = 0.0
    if H.size:
        factor(H, len(H))


@jit(fast=True)
def _pull(task, work, rest, out):
    """Write the inverse of the simple Hessian times the residual."""
    m, d, some, diagonal = work.F.shape[1], task.d, work.single[1], work.single[0]
    if len(work.matrix) == m * d:  # that of all scores
        for j in range(out.size):
            out[j] = rest[j]
        solve_factored(work.matrix, out, len(work.matrix))
        return
    if len(work.matrix) == 0:
        for j in range(some.size):
            for k in range(m):
                at = place(task.rows, d, m, j, k) if j < d else m * d + k + j - d
                out[at] = rest[at] / diagonal[j]
        return
    for k in range(m):
        for j in range(some.size):
            some[j] = rest[place(task.rows, d, m, j, k) if j < d else m * d + k + j - d]
        solve_factored(work.matrix, some, some.size)
        for j in range(some.size):
            out[place(task.rows, d, m, j, k) if j < d else m * d + k + j - d] = some[j]


@jit
def _may_go_on(task, work):
    """Are there products left?"""
    return 2.0 * task.rows.data.size * work.F.shape[1] * work.passed[1] < LONGEST


@jit(fast=True)
def _put_step(task, margins, work, enough):
    """Conjugate gradients from zero, until little of the residual is left."""
    step, rest, pulled = work.lines[STEP], work.lines[REST], work.lines[PULLED]
    way, bent, size = work.lines[WAY], work.lines[BENT], work.lines.shape[1]
    k = work.F.shape[1] * task.d
    for j in range(size):
        step[j], rest[j] = 0.0, -work.lines[GRADIENT, j]
    forcing = min(FORCING * FORCING, enough / max(dense_dot(rest[:k], rest[:k]), TINY))
    _pull(task, work, rest, pulled)
    first = product = dense_dot(rest, pulled)
    for j in range(size):
        way[j] = pulled[j]
    for _ in range(PRODUCTS):
        if not _may_go_on(task, work):
            break
        put_scores(task.rows, task.d, way, work.V)
        bend(task, margins, work.answers, work.V, way[k:], bent[k:])
        _put_gradient(task, work.V, way, bent)
        work.passed[1] += 1
        curved = dense_dot(way, bent)
        if not curved > 0.0:
            break
        for j in range(size):
            step[j] += product / curved * way[j]
            rest[j] -= product / curved * bent[j]
        _pull(task, work, rest, pulled)
        last, product = product, dense_dot(rest, pulled)
        if not product > forcing * first:
            break
        for j in range(size):
            way[j] = pulled[j] + product / last * way[j]


@jit
def _moved(task, margins, work, t):
    """The risk so far along the step, whose scores are in V; and twice the penalty there."""
    square, z, k = 0.0, work.lines[POINT], work.F.shape[1] * task.d
    for j in range(len(z)):
        z[j] += t * work.lines[STEP, j]
        square += z[j] * z[j] if j < k else 0.0
    for i in range(len(work.F)):
        for j in range(work.F.shape[1]):
            work.F[i, j] += t * work.V[i, j]
    return evaluate(task, margins, work, z[k:]), task.alpha * square


@jit
def _search(task, margins, work, J):
    """Go along the step as far as J falls. Returns the risk there, and whether it has moved."""
    slope = dense_dot(work.lines[GRADIENT], work.lines[STEP])
    t, gone, risk = 1.0, 0.0, 0.0
    for _ in range(SEARCH):
        risk, square = _moved(task, margins, work, t - gone)
        gone, value = t, 0.5 * square + risk
        if value <= J + FALL * t * slope + ROUNDING * abs(J):
            return risk, True
        lowest = 0.5 * t * slope / (t * slope - (value - J)) if value < math.inf else 0.1  # of a parabola
        t *= min(max(lowest, 0.1), 0.5)
    return _moved(task, margins, work, -gone)[0], False


@jit(inner=True)
def descend(task, margins, work, risk, aim, least):
    """Newton steps until the gap seems to be a share of J, or so little: that of the tangent, and what
    offsets may gain. Returns the risk, and whether it can go on."""
    k = work.F.shape[1] * task.d
    z, gradient = work.lines[POINT], work.lines[GRADIENT]
    moved = True
    while moved and work.passed[0] < MOST and _may_go_on(task, work):
        slopes(task, work.answers, work.U, gradient[k:])
        _put_gradient(task, work.U, z, gradient)
        bend_of_offsets(task, work.answers, work.offsets, False)
        gap = dense_dot(gradient[:k], gradient[:k]) / (2.0 * task.alpha) + _gain(work, gradient[k:])
        J = 0.5 * task.alpha * dense_dot(z[:k], z[:k]) + risk
        work.way[0, work.passed[0]], work.way[1, work.passed[0]] = J, gap
        work.passed[0] += 1
        enough = max(aim * J, least)
        if gap <= enough:
            return risk, True
        if margins is not None and len(work.matrix) == k:
            put_hessian(task, margins, work.answers, work.matrix)
        else:
            _put_simple_hessian(task, margins, work)
        _put_step(task, margins, work, ENOUGH * enough * task.alpha)
        put_scores(task.rows, task.d, work.lines[STEP], work.V)
        risk, moved = _search(task, margins, work, J)
    return risk, False


@jit(fast=True)
def _gain(work, e):
    """About what better offsets gain."""
    gain = 0.0
    for k in range(e.size):
        gain += 0.5 * e[k] * e[k] / max(work.offsets[k, k], TINY)
    return gain


@jit(inner=True)
def settle_offsets(task, margins, work, risk):
    """Newton's method in the offsets alone, to the last digit."""
    k, last = work.F.shape[1] * task.d, math.inf
    b, e, held = work.lines[POINT, k:], work.lines[GRADIENT, k:], work.lines[STEP, k:]
    for _ in range(TURNS):
        slopes(task, work.answers, work.U, e)
        bend_of_offsets(task, work.answers, work.offsets, True)
        gain = _gain(work, e)
        if not EPS * risk < gain < last:
            break
        last = gain
        for j in range(e.size):
            held[j] = b[j]
        solve(work.offsets, e, e.size)
        for j in range(e.size):
            b[j] -= e[j]
        evaluate(task, margins, work, b)
    if gain > last:  # too bold: as it was before
        for j in range(e.size):
            b[j] = held[j]
        evaluate(task, margins, work, b)
