"""The quadratic model of some columns, minimised. See `small_columns`.

Sweeps of coordinate descent find out which weights are zero. Among the others the model is a parabola until a
sign changes: conjugate gradients minimise that in far fewer passes over the columns than sweeps take where
columns are alike. The second derivatives are never written down.
"""

from typing import Any, NamedTuple

from gapfit.compiled._jit import jit
from gapfit.compiled.column import add_column, column_dot
from gapfit.compiled.columns import sweep_columns

BETWEEN = 6  # sweeps, a glide among the weights that are not zero
PRODUCTS = 100  # in a glide, at most
LOOK = 10  # products after which a glide looks whether it has passed a kink, and ends if so
ENOUGH = 0.5
RUNS = 2  # glides one after the other at most, if each ends at a kink
MANY = 300.0  # passes over the columns, at which a model is left as it is


class Columns(NamedTuple):
    """X by columns, and what a step writes to: for each of the columns that it has chosen, in their order."""

    stored: Any  # `columns.Columns`
    chosen: Any  # which they are
    at: Any  # weights
    model: Any  # `columns.Model`, without its last
    bounds: Any  # of the weights: none
    room: Any  # five rows
    image: Any  # of a step in the scores
    share: Any  # of the parabolas that stand for lines
    left: Any  # passes over X that may still be made


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
    """How many kinks does the way pass?"""
    kinks = 0
    for c in range(count):
        kinks += columns.at[c] * (columns.at[c] + way[c]) < 0.0
    return kinks


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
        if worst <= goal or (turn % LOOK == LOOK - 1 and _beyond(columns, count, way) > 0):
            return turn
        for c in range(count):
            p[c] = left[c] / (model.h[c] + net.l2) + size / before * p[c]
    return PRODUCTS


@jit(fast=True)
def _glide(columns, net, model, count, goal, shift):
    """To the minimum among the weights that are not zero. Those that would change their signs stop at zero,
    if that is lower; else all stop where the first one does. Returns the new shift, how many products it
    took, and whether there was a kink."""
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
    return shift - model.per_total * total, products + 2, first >= 0


@jit(fast=True, inner=True)
def minimise_by_columns(columns, net, model, count, goal, shift):
    """Sweeps and glides until no weight wants to move; one glide at least, for what sweeps alone have found
    may be far away where columns are alike."""
    terms, some = (net.l1, net.l2, columns.bounds[0], columns.bounds[1]), columns.chosen[:count]
    passes, share = 0.0, count / len(columns.chosen)
    while passes < MANY and columns.left[0] > 0.0:
        for _ in range(BETWEEN):
            worst, shift = sweep_columns(columns.stored, some, model, terms, columns.at, shift)
            if worst <= goal:
                break
        if worst <= goal and passes > 0.0:
            return
        passes += BETWEEN
        columns.left[0] -= BETWEEN * share
        for _ in range(RUNS):
            shift, products, kink = _glide(columns, net, model, count, ENOUGH * goal, shift)
            passes += products
            columns.left[0] -= products * share
            if not kink:
                break
