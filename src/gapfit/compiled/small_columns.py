"""Newton steps of a small fit where weights are many and few of them are in use. See `small`.

The quadratic model of a step is minimised among the weights that are in use and those that want to be; its
Hessian is never made. Sweeps of coordinate descent find out which weights are zero. Among the others the
model is a parabola until a sign changes: conjugate gradients minimise that in far fewer passes over their
columns than sweeps take where columns are alike.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.columns import (
    Model,
    add_column,
    clear_column,
    column_dot,
    column_moments,
    put_column,
    sweep_columns,
)
from gapfit.compiled.lasso_path import glide_gram, settle, sweep_gram
from gapfit.compiled.rows import TINY
from gapfit.compiled.small_model import solve

SWEEPS = 30  # runs of sweeps at most, in a quadratic model with a matrix
BETWEEN = 4  # sweeps, a glide among the weights that are not zero
PRODUCTS = 100  # in a glide, at most
LOOK = 10  # products after which a glide looks whether it has passed a kink, and ends if so
DIRECT = 250  # weights that are not zero, up to which a glide solves their equations
FEW = 24  # columns: they get a matrix at once
WORTH = 0.25  # passes for each column: so much a matrix costs
EASIER = 4.0  # times less of a majorant, after a step that was good
SHORT = 10  # entries of a column take as long as it takes to begin with one
MANY = 300.0  # passes, at which a model without a matrix is given up
ROUGH = 0.3  # of the largest urge of all may be left in the columns of a step
ENOUGH = 0.5  # of that is what a glide leaves
EAGER = 0.1  # of the largest slope beyond l1: columns that have as much join


class Columns(NamedTuple):
    """X by columns, and what a step writes to: for each of the columns that it has chosen, in their order."""

    stored: Any  # `columns.Columns`
    chosen: Any  # which they are
    at: Any  # weights
    model: Any  # `columns.Model`, without its last
    bounds: Any  # of the weights: none
    room: Any  # five rows
    image: Any  # of a step in the scores
    matrix: Any  # second derivatives of a model, where columns are so few
    state: Any  # how many columns had a matrix in the last step, and how much of a majorant is in the model
    face: Any  # and those of the weights that are not zero


@jit(fast=True, inner=True)
def put_slopes(columns, v, z):
    """Write X'v."""
    data, rows, starts = columns.stored
    for j in range(len(z)):
        z[j] = column_dot(data, rows, starts[j], starts[j + 1], v)


@jit(fast=True, inner=True)
def largest_square(columns, p):
    """The largest sum of p x^2 of a column."""
    data, rows, starts = columns.stored
    largest = 0.0
    for j in range(len(starts) - 1):
        largest = max(largest, column_moments(data, rows, starts[j], starts[j + 1], p)[1])
    return largest


@jit(fast=True)
def _choose(columns, net, place, per_total):
    """Write the columns whose weights are to move, and of each what the model knows. Returns how many they
    are, and their entries, and the largest urge of a weight to move."""
    w, z, step = place.w, place.z, place.step
    data, rows, starts = columns.stored
    worst = 0.0
    for j in range(len(w)):
        step[j] = 0.0
        push = z[j] - net.l2 * w[j]
        urge = abs(push) - net.l1 if w[j] == 0.0 else abs(push - (net.l1 if w[j] > 0.0 else -net.l1))
        worst = max(worst, urge)
    count, entries = 0, 0
    for j in range(len(w)):
        if w[j] != 0.0 or abs(z[j]) - net.l1 > EAGER * worst:
            one, two = column_moments(data, rows, starts[j], starts[j + 1], columns.model.D)
            columns.chosen[count], columns.at[count] = j, w[j]
            columns.model.m[count] = one
            columns.model.h[count] = max(two - per_total * one * one, 1e-9 * two) + net.least + TINY
            count += 1
            entries += starts[j + 1] - starts[j]
    return count, entries, worst


@jit(fast=True)
def _product(columns, model, count, way, image):
    """Write what the way changes in the scores, but for the intercept. Returns <m, way>."""
    for i in range(len(image)):
        image[i] = 0.0
    total = 0.0
    for c in range(count):
        if way[c] != 0.0:
            add_column(columns.stored, columns.chosen[c], way[c], image)
            total += model.m[c] * way[c]
    return total


@jit(fast=True)
def _beyond(columns, count, way):
    """Does the way pass a kink?"""
    for c in range(count):
        if columns.at[c] * (columns.at[c] + way[c]) < 0.0:
            return True
    return False


@jit(fast=True)
def _face(columns, net, model, count, goal, shift):
    """Write the way to the minimum among the weights that are not zero, nearly, and the slopes at its
    beginning, in the first rows of the room: by conjugate gradients. Returns how many products it took."""
    data, rows, starts = columns.stored
    slope, way, left, p, image = columns.room
    at, chosen, f = columns.at, columns.chosen, columns.image
    size = 0.0
    for c in range(count):
        slope[c] = left[c] = p[c] = way[c] = 0.0
        if at[c] != 0.0:
            j = chosen[c]
            x = column_dot(data, rows, starts[j], starts[j + 1], model.r) + shift * model.m[c]
            x += net.l2 * at[c] + (net.l1 if at[c] > 0.0 else -net.l1)
            slope[c], left[c], p[c] = x, -x, -x / (model.h[c] + net.l2)
            size += left[c] * p[c]
    for turn in range(PRODUCTS):
        total = model.per_total * _product(columns, model, count, p, f)
        for i in range(len(f)):
            f[i] *= model.D[i]
        bend = 0.0
        for c in range(count):
            if at[c] != 0.0:
                j = chosen[c]
                x = column_dot(data, rows, starts[j], starts[j + 1], f)
                image[c] = x - total * model.m[c] + (net.l2 + net.least) * p[c]
                bend += image[c] * p[c]
        if not bend > 0.0:
            return turn
        length, before, worst, size = size / bend, size, 0.0, 0.0
        for c in range(count):
            if at[c] != 0.0:
                way[c] += length * p[c]
                left[c] -= length * image[c]
                worst = max(worst, abs(left[c]))
                size += left[c] * left[c] / (model.h[c] + net.l2)
        if worst <= goal or (turn % LOOK == LOOK - 1 and _beyond(columns, count, way)):
            return turn
        for c in range(count):
            p[c] = left[c] / (model.h[c] + net.l2) + size / before * p[c]
    return PRODUCTS


@jit(fast=True)
def _glide(columns, net, model, count, goal, shift):
    """To the minimum among the weights that are not zero. Those that would change their signs stop at zero, if
    that is lower; else all stop where the first one does. Returns the new shift, and
    how many products it took."""
    products = _face(columns, net, model, count, goal, shift)
    slope, way, step = columns.room[0], columns.room[1], columns.room[2]
    at, f = columns.at, columns.image
    far, first = 1.0, -1
    for c in range(count):
        step[c] = way[c]
        if at[c] * (at[c] + way[c]) < 0.0:
            step[c] = -at[c]
        if at[c] * (at[c] + far * way[c]) < 0.0:
            far, first = -at[c] / way[c], c
    total = _product(columns, model, count, step, f)
    gain = bend = 0.0
    for c in range(count):
        gain += slope[c] * step[c]
        bend += net.l2 * step[c] * step[c]
    for i in range(len(f)):
        bend += model.D[i] * f[i] * f[i]
    if first >= 0 and not gain + 0.5 * (bend - model.per_total * total * total) < 0.0:
        for c in range(count):
            step[c] = far * way[c] if c != first else -at[c]
        total = _product(columns, model, count, step, f)
    for i in range(len(f)):
        model.r[i] += model.D[i] * f[i]
    for c in range(count):
        at[c] = 0.0 if step[c] == -at[c] else at[c] + step[c]
    return shift - model.per_total * total, products + 2


@jit(fast=True)
def _put_matrix(columns, net, model, count, shift):
    """Write the second derivatives of the model in its weights, and their slopes."""
    data, rows, starts = columns.stored
    chosen, at, H, slopes, f, m = columns.chosen, columns.at, columns.matrix, columns.room[0], columns.image, model.m
    for i in range(len(f)):
        f[i] = 0.0
    for c in range(count):
        j = chosen[c]
        slopes[c] = column_dot(data, rows, starts[j], starts[j + 1], model.r) + shift * m[c] + net.l2 * at[c]
        put_column(columns.stored, j, model.D, f)
        for e in range(c + 1):
            k = chosen[e]
            x = column_dot(data, rows, starts[k], starts[k + 1], f) - model.per_total * m[c] * m[e]
            H[c, e] = H[e, c] = x
        clear_column(columns.stored, j, f)
        H[c, c] = model.h[c] + net.l2 + net.least


@jit(fast=True)
def _by_columns(columns, net, model, count, goal, shift, most):
    """Sweeps and glides until no weight wants to move, or so many times that a matrix is worth it. Returns
    the shift, and whether it was the former."""
    terms, some = (net.l1, net.l2, columns.bounds[0], columns.bounds[1]), columns.chosen[:count]
    passes = 0.0
    while passes < most:
        for _ in range(BETWEEN):
            worst, shift = sweep_columns(columns.stored, some, model, terms, columns.at, shift)
            if worst <= goal:
                break
        if worst <= goal and passes > 0.0:
            return shift, True  # what sweeps alone have found may be far away where columns are alike
        shift, products = _glide(columns, net, model, count, ENOUGH * goal, shift)
        passes += BETWEEN + products
    return shift, False


@jit(fast=True)
def _by_matrix(columns, net, model, count, goal, shift):
    """The same, on the matrix."""
    _put_matrix(columns, net, model, count, shift)
    H, at, slopes, spare = columns.matrix, columns.at, columns.room[0], columns.room[1:]
    for turn in range(SWEEPS):
        for _ in range(BETWEEN):
            worst = sweep_gram(H, count, net.l1, at, slopes)
            if worst <= goal:
                break
        if worst <= goal and turn > 0:
            return turn
        before = count + 1
        while True:
            few = 0
            for c in range(count):
                few += at[c] != 0.0
            if few == 0 or few >= before:
                break
            if few > DIRECT:
                glide_gram(H, count, net.l1, ENOUGH * goal, at, slopes, spare)
                break
            _face_of_matrix(columns, net.l1, count, slopes, spare[3])
            settle(H, count, net.l1, at, slopes, spare[3], spare[1], spare[2])
            before = few
    return SWEEPS


@jit(fast=True)
def _face_of_matrix(columns, l1, count, slopes, step):
    """Write the step to the minimum among the weights that are not zero."""
    at, H, face, change = columns.at, columns.matrix, columns.face, columns.room[1]
    m = np.int64(0)  # as lengths are, or `solve` is compiled for both
    for c in range(count):
        if at[c] != 0.0:
            place = 0
            for e in range(c + 1):
                if at[e] != 0.0:
                    face[m, place] = H[c, e]
                    place += 1
            change[m] = -slopes[c] - (l1 if at[c] > 0.0 else -l1)
            m += 1
    solve(face, change, m)
    m = np.int64(0)
    for c in range(count):
        step[c] = 0.0
        if at[c] != 0.0:
            step[c] = change[m]
            m += 1


@jit(fast=True, inner=True)
def learn(columns, t):
    """That the last model was good for such a share of its step."""
    share = columns.state[1]
    columns.state[1] = min(max(share / EASIER if t >= 1.0 else share * EASIER if t < 0.5 else share, 1e-6), 1.0)


@jit(fast=True, inner=True)
def step_by_columns(columns, losses, net, place, course):
    """Write the step that nearly minimises the model, and what it changes in scores. Returns that of b."""
    n, along, step = len(place.f), place.along, place.step
    h, m, r, D, bend = columns.model.h, columns.model.m, columns.model.r, columns.model.D, course.bend
    for i in range(n):
        v, curvature, margin = place.v[i], place.curvature[i], losses.target[i] - place.f[i]
        r[i], D[i], along[i] = -v, curvature, 0.0
        if curvature == 0.0 and v * margin > 0.0:
            D[i] = columns.state[1] * v / margin  # a parabola that is above the loss
            bend += D[i]
    per_total = 1.0 / max(bend, net.least_bend) if net.free else 0.0
    count, entries, urge = _choose(columns, net, place, per_total)
    model, goal = Model(h, m, r, D, per_total), ROUGH * urge
    fits = count <= len(columns.matrix) and count * count <= entries + SHORT * count
    most, shift, done = WORTH * count if fits else MANY, -per_total * course.imbalance, False
    if not fits or count > max(FEW, 2.0 * columns.state[0]):
        shift, done = _by_columns(columns, net, model, count, goal, shift, most)
    columns.state[0] = 0.0
    if fits and not done:
        if _by_matrix(columns, net, model, count, goal, shift) > 2:
            columns.state[0] = count
    shift = course.imbalance
    for c in range(count):
        j = columns.chosen[c]
        step[j] = columns.at[c] - place.w[j]
        shift += m[c] * step[j]
        if step[j] != 0.0:
            add_column(columns.stored, j, step[j], along)
    shift *= -per_total
    for i in range(n):
        along[i] += shift
    return shift
