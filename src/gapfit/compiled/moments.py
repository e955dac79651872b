"""Moments of least squares: rows made ready for the product that gives them, the minimum under L2, and what
is proved of a point. See `moments_proof`."""

import math
from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.lasso_path import descend_alphas
from gapfit.compiled.moments_proof import prove_by_moments
from gapfit.compiled.precise import sum_exactly
from gapfit.compiled.small_feasible import UNIT
from gapfit.compiled.small_fit import put_mean_row
from gapfit.compiled.small_model import Net, solve

LARGE = 1e75  # squares of such numbers are far from an overflow


class Means(NamedTuple):
    """What rows are centred about, and the shares of the samples in the mean."""

    shares: Any
    alike: Any  # are all shares the same?
    centre: Any
    level: Any  # of the targets


@jit
def means(rows, y, weight, d, free):
    """Of dense rows and targets, if there is an intercept; else zero."""
    n = len(y)
    total, lost, _ = sum_exactly(weight, 0, n, 0.0)
    shares, centre, level, unlike = np.empty(n), np.zeros(d), 0.0, 0
    for i in range(n):
        shares[i] = weight[i] / (total + lost)
        unlike += weight[i] != weight[0]
    if free:
        put_mean_row(rows, shares, centre)
        for i in range(n):
            level += shares[i] * y[i]
    return Means(shares, unlike == 0, centre, level)


@jit(fast=True)
def put_centred(rows, y, about, first, last, free, Z):
    """Write some rows less the centre, their targets less the level, and one; times the root of their share,
    unless all are alike."""
    d = len(about.centre)
    for i in range(first, last):
        scale = 1.0 if about.alike else math.sqrt(about.shares[i])
        x, z = rows.data[rows.indptr[i] : rows.indptr[i + 1]], Z[i - first]
        for j in range(d):
            z[j] = scale * (x[j] - about.centre[j])
        z[d] = scale * (y[i] - about.level)
        z[d + 1] = scale if free else 0.0


@jit
def scaled(M, about):
    """Finish the sums of samples that are alike. Are all numbers of a reasonable size?"""
    share, large = about.shares[0] if about.alike else 1.0, 0
    for i in range(len(M)):
        for j in range(len(M)):
            M[i, j] *= share
            large += not abs(M[i, j]) <= LARGE * LARGE
    for j in range(len(about.centre)):
        large += not abs(about.centre[j]) <= LARGE
    return large == 0


@jit
def ridge(M, l2):
    """The minimiser under L2: whatever it is, where columns are dependent and rounding takes what the penalty
    adds to them."""
    d = len(M) - 2
    H, w = np.empty((d, d)), np.empty(d)
    for i in range(d):
        w[i] = M[i, d]
        for j in range(i + 1):
            H[i, j] = M[i, j]
        H[i, i] += l2
    solve(H, w, d)
    return w


@jit
def lasso(M, l1, l2, fine, most):
    """The minimiser where there is l1, by so many sweeps at most and conjugate gradients on the matrix,
    up to a share `fine` of l1."""
    d = len(M) - 2
    bend, cross = np.empty((d, d)), np.empty(d)
    for i in range(d):
        cross[i] = M[i, d]
        for j in range(d):
            bend[i, j] = M[i, j]
        bend[i, i] += l2
    W, alphas, fines = np.zeros((1, d)), np.full(1, l1), np.full(1, fine)
    used, inside, room = np.zeros(d, np.int64), np.zeros(d), np.zeros((8, d))
    descend_alphas(bend, cross, alphas, fines, most, inside, used, room, np.empty((d, d)), W)
    return W[0]


@jit
def proved(M, n, l1, l2, w, about):
    """The intercept of these weights, and what is proved of both. It is the level of the targets less what
    the centre is worth, up to rounding."""
    d, b, size = len(w), about.level, abs(about.level)
    v, room = np.empty(d + 2), np.empty((2, d + 2))
    for j in range(d):
        b -= about.centre[j] * w[j]
        size += abs(about.centre[j] * w[j])
        v[j] = w[j]
    v[d], v[d + 1] = -1.0, 0.0
    shift = 2.0 * (d + 8) * UNIT * (size + abs(b))
    net = Net(l1, l2, True, 0.0, 0.0, 0.0)
    return b, prove_by_moments(M, n, net, v, shift, room[0], room[1])
