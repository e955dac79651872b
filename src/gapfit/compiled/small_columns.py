"""Newton steps of a small fit where weights are many and few of them are in use. See `small`.

The quadratic model of a step is minimised by coordinates, column by column, among the weights that are in use
and those that want to be; the Hessian is never made.
"""

import math
from typing import Any, NamedTuple

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import TINY

SWEEPS = 40  # over the columns at most, in a quadratic model
SETTLED = 0.1  # of the largest change in any sweep: one that changes no more is the last
EAGER = 0.3  # of the largest slope beyond l1: columns that have as much join


class Columns(NamedTuple):
    """X by columns, and what a step writes to."""

    data: Any  # column j has data[k] in row indices[k] for indptr[j] <= k < indptr[j + 1]
    indices: Any
    indptr: Any
    chosen: Any  # columns of a step,
    curvature: Any  # and their second derivatives


@jit(fast=True, inner=True)
def put_slopes(columns, v, z):
    """Write X'v."""
    for j in range(len(z)):
        total = 0.0
        for k in range(columns.indptr[j], columns.indptr[j + 1]):
            total += columns.data[k] * v[columns.indices[k]]
        z[j] = total


@jit(fast=True, inner=True)
def largest_square(columns, p):
    """The largest sum of p x^2 of a column."""
    largest = 0.0
    for j in range(len(columns.indptr) - 1):
        square = 0.0
        for k in range(columns.indptr[j], columns.indptr[j + 1]):
            square += p[columns.indices[k]] * columns.data[k] * columns.data[k]
        largest = max(largest, square)
    return largest


@jit(fast=True)
def _choose(columns, net, place):
    """Write the columns whose weights are to move, and their curvatures. Returns how many they are."""
    w, z, step = place.w, place.z, place.step
    most = 0.0
    for j in range(len(w)):
        step[j] = 0.0
        most = max(most, abs(z[j] - net.l2 * w[j]) - net.l1)
    count = 0
    for j in range(len(w)):
        if w[j] != 0.0 or abs(z[j]) - net.l1 > max(EAGER * most, 0.0):
            total = net.l2 + net.least
            for k in range(columns.indptr[j], columns.indptr[j + 1]):
                x = columns.data[k]
                total += place.curvature[columns.indices[k]] * x * x
            columns.chosen[count], columns.curvature[count] = j, max(total, TINY)
            count += 1
    return count


@jit(fast=True)
def _sweep(columns, count, net, place):
    """Each of the chosen weights in turn to where the model is least in it; how far one has moved at most."""
    w, step, along, farthest = place.w, place.step, place.along, 0.0
    for q in range(count):
        j, curvature = columns.chosen[q], columns.curvature[q]
        first, last, at = columns.indptr[j], columns.indptr[j + 1], w[j] + step[j]
        slope = net.l2 * at
        for k in range(first, last):
            i = columns.indices[k]
            slope -= columns.data[k] * (place.v[i] - place.curvature[i] * along[i])
        drive = curvature * at - slope
        change = (drive - min(max(drive, -net.l1), net.l1)) / curvature - at
        if change != 0.0:
            step[j] += change
            for k in range(first, last):
                along[columns.indices[k]] += change * columns.data[k]
            farthest = max(farthest, abs(change) * math.sqrt(curvature))
    return farthest


@jit(fast=True, inner=True)
def step_by_columns(columns, net, place, course):
    """Write the step that nearly minimises the model, and what it changes in scores. Returns that of b."""
    n, along = len(place.f), place.along
    for i in range(n):
        along[i] = 0.0
    count, db, farthest = _choose(columns, net, place), 0.0, 0.0
    bend = max(course.bend, net.least_bend)
    for _ in range(SWEEPS):
        if net.free:
            rest = -net.total
            for i in range(n):
                rest += place.v[i] - place.curvature[i] * along[i]
            change = rest / bend
            db += change
            for i in range(n):
                along[i] += change
        moved = _sweep(columns, count, net, place)
        farthest = max(farthest, moved)
        if moved <= SETTLED * farthest:
            break
    return db
