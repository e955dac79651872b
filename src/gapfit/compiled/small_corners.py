"""Where the quadratic model of an objective is least, if the penalty has corners. See `small_model`."""

import math
from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import TINY
from gapfit.compiled.small_model import EPS, solve

SWEEPS = 100  # over the weights at most
UNSETTLED = 4  # of them in which weights come to zero or leave it; then the others are solved for anyway
SETTLED = 1e-3  # of the largest change in any sweep: one that changes no more is the last


class Corners(NamedTuple):
    """What the model of a penalty with l1 writes to."""

    at: Any  # weights, as the model has them
    face: Any  # its Hessian in those that are not zero
    change: Any  # of these
    chosen: Any  # which they are


@jit(fast=True)
def _move(H, j, change, slope):
    """Let the slope of the model follow a change of the j-th weight."""
    for k in range(j):
        slope[k] += change * H[j, k]
    for k in range(j, len(slope)):
        slope[k] += change * H[k, j]


@jit(fast=True)
def _sweep(H, at, l1, slope):
    """Each weight in turn to where the model is least in it; how far the farthest has moved, and how many
    have come to zero, or left it."""
    farthest, turned = 0.0, 0
    for j in range(len(at)):
        curvature, was = max(H[j, j], TINY), at[j]
        drive = curvature * was - slope[j]
        change = (drive - min(max(drive, -l1), l1)) / curvature - was
        if change != 0.0:
            at[j] += change
            if abs(at[j]) <= EPS * abs(change):
                at[j] = 0.0
            turned += at[j] * was <= 0.0
            _move(H, j, change, slope)
            farthest = max(farthest, abs(change) * math.sqrt(curvature))
    return farthest, turned


@jit(fast=True)
def _share(at, l1, m, fall, corners):
    """How far to go along a change of m weights, that is, to where the model is least on this way: a share of
    it, and which of them is at zero there; -1, if none is.

    Without corners that is all of it, and the slope of the model is -fall at the beginning. Who passes zero
    adds to it from there on.
    """
    change, chosen = corners.change, corners.chosen
    t, last, risen = 0.0, -1, 0.0
    while fall > 0.0:
        corner, which = math.inf, -1
        for k in range(m):
            x = at[chosen[k]]
            if x * change[k] < 0.0:
                there = -x / change[k]
                beyond = there > t or (there == t and k > last)  # equal weights are at zero together
                if beyond and there < corner:
                    corner, which = there, k
        least = 1.0 - risen / fall
        if least <= t:
            break
        if least < corner:
            return least, -1
        t, last = corner, which
        risen += 2.0 * l1 * abs(change[which])
    return t, last


@jit(fast=True)
def _to_the_least_of_the_face(H, l1, slope, corners):
    """Move the weights that are not zero towards where the model would be least if they kept their signs, as
    far as it falls."""
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
    fall = 0.0
    for k in range(m):
        j = chosen[k]
        fall -= (slope[j] + math.copysign(l1, at[j])) * change[k]
    t, at_zero = _share(at, l1, m, fall, corners)
    for k in range(m):
        j = chosen[k]
        step = -at[j] if k == at_zero else t * change[k]
        at[j] = 0.0 if k == at_zero else at[j] + step
        _move(H, j, step, slope)


@jit(fast=True, inner=True)
def minimise_with_l1(H, w, l1, slope, step, corners):
    """Write the step s that minimises <slope, s> + s'Hs / 2 + l1 |w + s|_1.

    Sweeps tell soon which weights are zero, and the others are solved for when that is settled: to solve
    takes as long as some sweeps.
    """
    at, farthest, solved, unsettled = corners.at, 0.0, False, 0
    for j in range(len(w)):
        at[j] = w[j]
    for _ in range(SWEEPS):
        moved, turned = _sweep(H, at, l1, slope)
        farthest = max(farthest, moved)
        if moved <= (SETTLED * farthest if solved else 0.0):
            break
        unsettled += 1
        solved = turned == 0 or unsettled == UNSETTLED
        if solved:
            _to_the_least_of_the_face(H, l1, slope, corners)
            unsettled = 0
    for j in range(len(w)):
        step[j] = at[j] - w[j]
