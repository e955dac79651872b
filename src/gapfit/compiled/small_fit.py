"""A whole small fit in one call: data made ready, Newton's method of `small`, the proof of `small_proof`."""

import math
from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.precise import sum_exactly
from gapfit.compiled.rows import row_add
from gapfit.compiled.small import descend
from gapfit.compiled.small_counts import COUNTS, ENTROPY
from gapfit.compiled.small_model import Net
from gapfit.compiled.small_proof import prove
from gapfit.compiled.small_start import start

LARGEST = 1e100  # of an entry of X or of a target: squares of such numbers overflow
TRIES = 3  # at a proof, each by a solution that is ten times as good as the last
ENOUGH = 0.3  # of the tolerance is what the solver aims at: its guess is no proof


class Data(NamedTuple):
    """The rows of X, and the losses of all samples as the loss has them: `Atoms`, unweighted."""

    rows: Any  # `rows.Rows`
    sign: Any
    lin: Any
    kink: Any
    quad: Any
    lo: Any
    hi: Any
    weight: Any


class Room(NamedTuple):
    """What a fit writes to beside its place."""

    mean: Any
    losses: Any  # `Losses` of weighted samples
    v: Any  # the dual point
    slope: Any  # X'v,
    spread: Any  # and how far each entry may be from the exact one
    kinks: Any  # where slopes in b change, and by how much


@jit(inner=True)
def weighted(data, losses, kind):
    """Write the losses, weighted, in terms of v = sign * a. Are they of one kind, and not too large?

    Proofs allow for some roundings of the shares, however many samples there are.
    """
    n = len(data.weight)
    total, lost, _ = sum_exactly(data.weight, 0, n, 0.0)
    large = curved = one_sided = 0
    for i in range(n):
        p, sign = data.weight[i] / (total + lost), data.sign[i]
        lo = p * data.lo[i] if data.lo[i] != 0.0 else 0.0
        hi = p * data.hi[i] if data.hi[i] != 0.0 else 0.0
        losses.target[i] = sign * data.lin[i]
        losses.kink[i] = data.kink[i]
        losses.quad[i] = data.quad[i] / p
        losses.lower[i] = lo if sign > 0.0 else -hi
        losses.upper[i] = hi if sign > 0.0 else -lo
        losses.entropy[i] = hi - lo if kind == ENTROPY else -p if kind == COUNTS else 0.0
        losses.p[i] = p
        large += not (abs(data.lin[i]) <= LARGEST and (kind != COUNTS or hi <= LARGEST))
        curved += data.quad[i] > 0.0
        one_sided += lo == 0.0 or hi == 0.0
    return large == 0 and (curved == 0 or curved == n) and (one_sided == n or kind != ENTROPY)


@jit(inner=True)
def is_reasonable(rows):
    """Are all entries of such a size?"""
    data, large = rows.data, 0
    for k in range(data.size):
        large += not abs(data[k]) <= LARGEST
    return large == 0


@jit(fast=True, inner=True)
def put_mean_row(rows, p, mean):
    """Write it."""
    for j in range(len(mean)):
        mean[j] = 0.0
    for i in range(len(p)):
        row_add(rows, i, p[i], mean)


@jit
def _put_rows(rows, mean, out):
    """Write the rows less their mean, densely."""
    data, indices, indptr = rows
    n, d = out.shape
    for i in range(n):
        for j in range(d):
            out[i, j] = -mean[j]
        start = indptr[i]
        for k in range(start, indptr[i + 1]):
            out[i, indices[k] if indices.size else k - start] += data[k]


@jit
def _swap(kinks, i, j):
    for k in range(2):
        held = kinks[k, i]
        kinks[k, i] = kinks[k, j]
        kinks[k, j] = held


@jit
def _passing(kinks, count, target):
    """Where the mass up to a position passes the target: the middle, if it is met between two positions.

    Positions are parted about one of them, over and over, until that is the one.
    """
    total = 0.0
    for k in range(count):
        total += kinks[1, k]
    slack = 1e-13 * total
    first, last, before = 0, count - 1, 0.0
    while first <= last:
        pivot = kinks[0, (first + last) // 2]
        left, at, right, less, equal = first, first, last, 0.0, 0.0
        while at <= right:
            if kinks[0, at] < pivot:
                less += kinks[1, at]
                _swap(kinks, left, at)
                left += 1
                at += 1
            elif kinks[0, at] > pivot:
                _swap(kinks, at, right)
                right -= 1
            else:
                equal += kinks[1, at]
                at += 1
        if before + less >= target - slack:
            last = left - 1
        elif before + less + equal >= target - slack:
            if before + less + equal > target + slack:
                return pivot
            beyond = math.inf
            for k in range(count):
                if kinks[0, k] > pivot:
                    beyond = min(beyond, kinks[0, k])
            return 0.5 * (pivot + beyond) if beyond < math.inf else pivot
        else:
            before += less + equal
            first = right + 1
    return math.nan


@jit(inner=True)
def best_kink(losses, f, b, kinks):
    """The best b where losses have lines alone: slopes in b change at kinks. The scores f contain a b."""
    count, target = np.int64(0), 0.0  # a plain zero would be a type of its own
    for i in range(len(f)):
        at = losses.target[i] - (f[i] - b)
        target += losses.upper[i]
        if losses.upper[i] > 0.0:
            kinks[0, count], kinks[1, count] = at - losses.kink[i], losses.upper[i]
            count += 1
        if losses.lower[i] < 0.0:
            kinks[0, count], kinks[1, count] = at + losses.kink[i], -losses.lower[i]
            count += 1
    best = _passing(kinks, count, target)
    return best if abs(best) < math.inf else b


@jit(inner=True)
def relative_gap(proved):
    """The gap that is proved, in terms of J; a little more than what will count."""
    primal = proved.omega + proved.risk
    errors = proved.omega_error + proved.risk_error + proved.height_error + proved.conjugate_error
    gap = primal - (proved.height - proved.conjugate) + errors + 1e-13 * abs(primal)
    return gap / primal if primal > 0.0 else math.inf


@jit(inner=True)
def fit(data, net, kind, tol, room, place, corners, X, columns, products):
    """b, and what is proved at the end, whatever it is. w is in the place, the dual point in the room. X has
    room for the rows, densely; or it is None, and there are `small_columns.Columns`."""
    losses = room.losses
    sound = weighted(data, losses, kind)
    sound &= is_reasonable(data.rows)
    if X is not None:
        if net.free:
            put_mean_row(data.rows, losses.p, room.mean)
        _put_rows(data.rows, room.mean, X)
    plain = Net(net.l1, net.l2, net.free, 0.0, 0.0, 0.0)
    net, course = start(X, losses, plain, place, math.nan, False, columns)
    aim = ENOUGH * tol if sound else math.inf
    for _ in range(TRIES):
        course = descend(X, losses, net, place, course, aim, corners, columns, products)
        b = course.b
        if net.free and course.c < math.inf:
            b = best_kink(losses, place.f, course.b, room.kinks)
        if net.free:
            for j in range(len(place.w)):
                b -= room.mean[j] * place.w[j]
        for i in range(len(room.v)):
            room.v[i] = place.v[i]
        proved = prove(data.rows, losses, net, place.w, b, room.v, room.slope, room.spread, room.kinks)
        aim *= 0.1
        if relative_gap(proved) <= tol or not course.moving:
            break
    return b, proved
