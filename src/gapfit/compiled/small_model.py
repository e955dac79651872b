"""The quadratic model of an objective of few weights, and where it is least. See `small`."""

import math
from typing import Any, NamedTuple

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import TINY, dense_dot

EPS = 2.0**-52
DAMPING = 1e-10  # of the largest second derivative: a step has an end also where there is none


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
