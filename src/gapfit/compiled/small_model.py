"""The quadratic model of an objective of few weights, and where it is least. See `small`."""

import math
from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import TINY, dense_dot

EPS = 2.0**-52
DAMPING = 1e-10  # of the largest second derivative: a step has an end also where there is none
SWEEPS = 50  # over the weights at most, in a quadratic model with l1
SETTLED = 1e-3  # of the largest change in any sweep: one that changes no more is the last


class Losses(NamedTuple):
    """The losses of all samples, as data."""

    target: Any
    kink: Any
    quad: Any
    lower: Any
    upper: Any
    entropy: Any  # upper - lower where the loss has an entropy, minus p for counts, else 0
    p: Any


class Net(NamedTuple):
    """The penalty, times alpha, and what is known of b."""

    l1: Any
    l2: Any
    free: Any  # is there an intercept?
    total: Any  # its slope that no sample carries
    least_bend: Any  # curvature in b, where no sample has any
    least: Any  # and in a weight


class Place(NamedTuple):
    """Where the fit is. All is written to."""

    w: Any
    f: Any  # scores, with b
    v: Any
    z: Any  # X'v
    centre: Any
    curvature: Any
    loss: Any
    step: Any  # in w
    along: Any  # what the step changes in the scores
    hessian: Any
    mean: Any  # of the rows on a curved part
    rows: Any  # which they are
    passed: Any  # how many points the last call has passed,
    values: Any  # J at each of them,
    gaps: Any  # and the gap


class Course(NamedTuple):
    """Where the fit is, in numbers."""

    b: Any
    c: Any
    last_c: Any
    steps: Any  # since c was changed
    primal: Any
    gap: Any  # a guess
    rounding: Any  # what rounding off adds to the gap
    rounded: Any  # the rounded objective
    imbalance: Any
    bend: Any  # curvature in b
    moving: Any
    best: Any  # is b known to be the best at w?


class Corners(NamedTuple):
    """What the model of a penalty with l1 writes to."""

    at: Any  # weights, as the model has them
    face: Any  # its Hessian in those that are not zero
    change: Any  # of these
    chosen: Any  # which they are


@jit(fast=True, inner=True)
def hessian(X, place, mean, bend, net):
    """Write the mean of the curved rows, and the lower triangle of the sum of curvature (x - mean)(x - mean)'
    plus l2; without a bend in b, of curvature x x'.

    All rows together have mean zero, so that of some of them can be subtracted afterwards. Four rows at a
    time: the matrix is read and written less often than X.
    """
    n, d = X.shape
    H, curvature, rows = place.hessian, place.curvature, place.rows
    for j in range(d):
        mean[j] = 0.0
        for k in range(j + 1):
            H[j, k] = 0.0
    count = 0
    for i in range(n):
        if curvature[i] != 0.0:
            rows[count] = i
            count += 1
    for first in range(0, count, 4):
        i0, i1, i2, i3 = rows[first], rows[first + 1], rows[first + 2], rows[first + 3]
        c0 = curvature[i0]
        c1 = curvature[i1] if first + 1 < count else 0.0
        c2 = curvature[i2] if first + 2 < count else 0.0
        c3 = curvature[i3] if first + 3 < count else 0.0
        for j in range(d):
            x0, x1, x2, x3 = c0 * X[i0, j], c1 * X[i1, j], c2 * X[i2, j], c3 * X[i3, j]
            mean[j] += x0 + x1 + x2 + x3
            for k in range(j + 1):
                H[j, k] += x0 * X[i0, k] + x1 * X[i1, k] + x2 * X[i2, k] + x3 * X[i3, k]
    largest = 0.0
    for j in range(d):
        mean[j] = mean[j] / bend if bend > 0.0 else 0.0
        for k in range(j + 1):
            H[j, k] -= bend * mean[j] * mean[k]
        largest = max(largest, H[j, j])
    for j in range(d):
        H[j, j] += max(net.l2, net.least, DAMPING * largest)


@jit(fast=True, inner=True)
def factor(H, d):
    """Replace the first d rows and columns of H by a factor, below the diagonal; a pivot that rounding has
    taken is replaced by a large one."""
    largest = TINY
    for j in range(d):
        largest = max(largest, H[j, j])
    for j in range(d):
        for i in range(j, d):
            x = H[i, j] - dense_dot(H[i, :j], H[j, :j])
            if i > j:
                H[i, j] = x / H[j, j]
            else:
                H[j, j] = math.sqrt(x) if x > EPS * EPS * largest else math.sqrt(largest)


@jit(fast=True, inner=True)
def solve_factored(H, s, d):
    """Solve the system of that factor in place."""
    for j in range(d):
        s[j] = (s[j] - dense_dot(H[j, :j], s[:j])) / H[j, j]
    for j in range(d - 1, -1, -1):
        s[j] /= H[j, j]
        for k in range(j):
            s[k] -= H[j, k] * s[j]


@jit(fast=True, inner=True)
def solve(H, s, d):
    """Solve H x = s in place, for the first d."""
    factor(H, d)
    solve_factored(H, s, d)


@jit(fast=True)
def _move(H, j, change, slope):
    """Let the slope of the model follow a change of the j-th weight."""
    for k in range(j):
        slope[k] += change * H[j, k]
    for k in range(j, len(slope)):
        slope[k] += change * H[k, j]


@jit(fast=True)
def _sweep(H, at, l1, slope):
    """Each weight in turn to where the model is least in it; how far the farthest has moved."""
    farthest = 0.0
    for j in range(len(at)):
        curvature = max(H[j, j], TINY)
        drive = curvature * at[j] - slope[j]
        change = (drive - min(max(drive, -l1), l1)) / curvature - at[j]
        if change != 0.0:
            at[j] += change
            if abs(at[j]) <= EPS * abs(change):
                at[j] = 0.0
            _move(H, j, change, slope)
            farthest = max(farthest, abs(change) * math.sqrt(curvature))
    return farthest


@jit(fast=True)
def _to_the_least_of_the_face(H, l1, slope, corners):
    """Move the weights that are not zero to where the model is least, or until the first of them is zero."""
    at, face, change, chosen = corners
    m = np.int64(0)  # as lengths are, or `solve` is compiled for both
    for j in range(len(at)):
        if at[j] != 0.0:
            chosen[m] = j
            change[m] = -slope[j] - math.copysign(l1, at[j])
            for k in range(m + 1):
                face[m, k] = H[j, chosen[k]]
            m += 1
    solve(face, change, m)
    t, first = 1.0, -1
    for k in range(m):
        x = at[chosen[k]]
        if (x + t * change[k]) * x < 0.0:
            t, first = -x / change[k], k
    for k in range(m):
        j = chosen[k]
        step = -at[j] if k == first else t * change[k]
        at[j] = 0.0 if k == first else at[j] + step
        _move(H, j, step, slope)


@jit(fast=True, inner=True)
def minimise_with_l1(H, w, l1, slope, step, corners):
    """Write the step s that minimises <slope, s> + s'Hs / 2 + l1 |w + s|_1."""
    at, farthest = corners.at, 0.0
    for j in range(len(w)):
        at[j] = w[j]
    for _ in range(SWEEPS):
        moved = _sweep(H, at, l1, slope)
        farthest = max(farthest, moved)
        if moved <= SETTLED * farthest:
            break
        _to_the_least_of_the_face(H, l1, slope, corners)
    for j in range(len(w)):
        step[j] = at[j] - w[j]


@jit(fast=True, inner=True)
def add_rows(X, v, z):
    """Write X'v."""
    n, d = X.shape
    for j in range(d):
        z[j] = 0.0
    for i in range(n):
        a = v[i]
        if a != 0.0:
            for j in range(d):
                z[j] += a * X[i, j]


@jit(fast=True, inner=True)
def step_by_hessian(X, net, place, course, corners):
    """Write the step to where the quadratic model is least, and what it changes in scores. Returns that of b.
    `corners` is None where the penalty has no l1 part."""
    w, step, slope, mean = place.w, place.step, place.z, place.mean
    n, d = X.shape
    bend = max(course.bend, net.least_bend) if net.free else 0.0
    hessian(X, place, mean, bend, net)
    for j in range(d):
        slope[j] = net.l2 * w[j] - place.z[j] - course.imbalance * mean[j]
    for j in range(d):
        step[j] = -slope[j]
    if corners is None:
        solve(place.hessian, step, d)
    else:
        minimise_with_l1(place.hessian, w, net.l1, slope, step, corners)
    db = 0.0
    if net.free:
        db = -course.imbalance / bend
        for j in range(d):
            db -= mean[j] * step[j]
    for i in range(n):
        total = db
        for j in range(d):
            total += X[i, j] * step[j]
        place.along[i] = total
    return db
