"""A whole fit in one call by dual coordinate descent: for rows of many columns, under the L2 penalty.

Sweeps are those of `dual_sweeps`, without what pays on hard problems only: steps beyond, surveys, rows copied
side by side. On easy ones a few sweeps are all, and on small data to decide anything else takes longer. A fit
that makes no headway is given up.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.dual_coordinate import cost
from gapfit.compiled.dual_sweeps import Dual, Place, sweep
from gapfit.compiled.rows import dense_dot, row_dot
from gapfit.compiled.small_counts import ENTROPY, LINES
from gapfit.compiled.small_fit import best_kink, is_reasonable, put_mean_row, relative_gap, weighted
from gapfit.compiled.small_proof import Proved, prove

RHO = 0.01  # of the coordinates' own curvature is that of the slope in b,
SWEEPS = 6  # over active rows, at most, before all are visited again
ACTIVE = 0.1  # of the gap, left in the active rows: then all are visited
PATIENCE = 4  # visits to all rows, by which their progress is judged
MOST = 100  # such visits
ENOUGH = 0.3  # of the tolerance: a gap that sweeps see is worth a proof
STEPS = 40  # of Newton's method in b


class Space(NamedTuple):
    """What a fit writes to."""

    losses: Any  # `small.Losses`, weighted
    table: Any  # of `rows.SAMPLE`
    z: Any  # X'v as it is summed up on the way,
    w: Any
    mean: Any
    f: Any  # scores
    v: Any  # the dual point
    slope: Any  # X'v,
    spread: Any  # and its error
    kinks: Any
    passed: Any  # how often all rows were visited,
    values: Any  # J then, by a guess,
    gaps: Any  # and the gap
    everything: Any  # the numbers of all rows


@jit
def _offset_per_imbalance(losses):
    """How far b should move for a unit of imbalance: eight times as far as the losses need to make up for it.
    Each gives way by its quad, or moves from bound to bound over the spread of targets, or has an entropy."""
    middle = spread = give = 0.0
    for i in range(len(losses.p)):
        middle += losses.p[i] * losses.target[i]
    for i in range(len(losses.p)):
        spread += losses.p[i] * (abs(losses.target[i] - middle) + losses.kink[i])
    for i in range(len(losses.p)):
        if losses.entropy[i] > 0.0:
            give += 0.25 * losses.entropy[i]
        else:
            stiff = losses.quad[i] + spread / (losses.upper[i] - losses.lower[i])
            give += 1.0 / stiff if stiff > 0.0 else 0.0
    return 8.0 / give if give > 0.0 else 1.0


@jit
def _set_up(data, space, alpha, free, entropy):
    """Write the table. Returns the squared length of the mean row, and rho."""
    rows, losses, table, mean = data.rows, space.losses, space.table, space.mean
    indptr, entries = rows.indptr, rows.data
    mean_sq, curvature = dense_dot(mean, mean), 0.0
    for i in range(len(table)):
        square = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            square += entries[k] * entries[k]
        along = row_dot(rows, i, mean) if free else 0.0
        sample = table[i]
        sample["target"], sample["quad"] = losses.target[i], losses.quad[i]
        sample["lower"], sample["upper"] = losses.lower[i], losses.upper[i]
        sample["kink"], sample["v"] = losses.kink[i], 0.0
        sample["along"] = along
        sample["curvature"] = max(square - 2.0 * along + mean_sq, 0.0) / alpha
        if entropy:  # the log-odds are in the place of a kink, and begin at even chances
            sample["v"], sample["kink"] = 0.5 * (losses.lower[i] + losses.upper[i]), 0.0
        curvature += losses.p[i] * sample["curvature"]
    return mean_sq, (RHO * curvature + _offset_per_imbalance(losses) if free else 0.0)


@jit
def _put_scores(rows, w, f):
    for i in range(len(f)):
        f[i] = row_dot(rows, i, w)


@jit
def _slope_in_b(losses, f, b):
    """Of the risk, and how it changes; of losses that are curved."""
    slope = bend = 0.0
    for i in range(len(f)):
        margin, entropy = losses.target[i] - f[i] - b, losses.entropy[i]
        lower, upper = losses.lower[i], losses.upper[i]
        if entropy > 0.0:
            a = 1.0 / (1.0 + math.exp(-margin))
            slope -= lower + entropy * a
            bend += entropy * a * (1.0 - a)
        else:
            kink, quad = losses.kink[i], losses.quad[i]
            wish = (margin - min(max(margin, -kink), kink)) / quad
            v = min(max(wish, lower), upper)
            slope -= v
            bend += 1.0 / quad if v == wish and v != 0.0 else 0.0
    return slope, bend


@jit
def _best_b(losses, f, b, kinks):
    """The best intercept at these scores."""
    if losses.quad[0] == 0.0 and losses.entropy[0] == 0.0:
        for i in range(len(f)):
            f[i] += b
        return best_kink(losses, f, b, kinks)
    low, high, near = -math.inf, math.inf, 1.0
    for _ in range(STEPS):
        slope, bend = _slope_in_b(losses, f, b)
        if slope == 0.0:
            break
        low, high = (low, b) if slope > 0.0 else (b, high)
        new = b - slope / bend if bend > 0.0 else math.nan
        if not low < new < high:
            new = 0.5 * (low + high) if high - low < math.inf else b - math.copysign(near, slope)
            near *= 2.0
        if not low < new < high or new == b:
            break
        b = new
    return b


@jit
def _proved(data, net, space, place, dual):
    """What is proved of the point at hand, and its b."""
    losses, w, z, s = space.losses, space.w, place.z, place.s
    for j in range(len(w)):
        w[j] = (z[j] + s * space.mean[j]) * dual.inv_alpha
    b = 0.0
    if net.free:
        _put_scores(data.rows, w, space.f)
        b = place.b - dual.rho * s - dense_dot(w, space.mean)
        b = _best_b(losses, space.f, b, space.kinks)
    for i in range(len(space.v)):
        space.v[i] = space.table[i]["v"]
    return b, prove(data.rows, losses, net, w, b, space.v, space.slope, space.spread, space.kinks)


@jit
def _is_slow(gaps, turn, aim, ahead):
    """Would it take more visits to all rows than that, at the rate of the last ones?"""
    fall = math.log(gaps[turn - 1] / gaps[turn - 1 - PATIENCE]) / PATIENCE
    return not fall < 0.0 or math.log(aim / gaps[turn - 1]) < ahead * fall


@jit
def fit(data, net, entropy, tol, ahead, space):
    """b, and what is proved at the end, whatever it is. It is given up where more visits to all rows would
    have to follow than `ahead`."""
    losses, n = space.losses, len(space.table)
    sound = weighted(data, losses, ENTROPY if entropy else LINES)
    sound &= is_reasonable(data.rows)
    if net.free:
        put_mean_row(data.rows, losses.p, space.mean)
    mean_sq, rho = _set_up(data, space, net.l2, net.free, entropy)
    dual = Dual(data.rows, space.table, entropy, 1.0 / net.l2, mean_sq, rho)
    z, s, c = space.z, 0.0, 0.0
    b = _best_b(losses, space.f, 0.0, space.kinks) if net.free else 0.0
    if entropy:
        for i in range(n):
            v = space.table[i]["v"]
            start = data.rows.indptr[i]
            for k in range(start, data.rows.indptr[i + 1]):
                j = data.rows.indices[k] if data.rows.indices.size else k - start
                z[j] += v * data.rows.data[k]
            s -= v
            c += v * space.table[i]["along"]
    state, threshold, turn, since, whole = np.uint64(1), math.inf, 0, 0, 0.0
    order, best = space.everything, b
    proved = Proved(0.0, 0.0, math.inf, 0.0, 0.0, 0.0, 0.0, 0.0)
    while sound:  # one sweep in the source is one in machine code, which takes a while to make
        order, state, threshold, gap, s, c = sweep(dual, Place(z, b, s, c), order, state, threshold)
        if since == 0:
            gap += rho * s * s  # what b may still gain
        b -= rho * s
        if since == 0:
            value = gap - 0.5 * (dense_dot(z, z) + 2.0 * s * c + s * s * mean_sq) / net.l2
            for i in range(n):
                value -= cost(space.table[i], space.table[i]["v"], entropy)
            space.values[turn], space.gaps[turn] = value, gap
            turn += 1
            space.passed[0] = turn
            if gap <= ENOUGH * tol * abs(value) or turn == MOST:
                best, proved = _proved(data, net, space, Place(z, b, s, c), dual)
                if relative_gap(proved) <= tol:
                    break
            aim = ENOUGH * tol * abs(value)
            if turn == MOST or (turn > PATIENCE and _is_slow(space.gaps, turn, aim, ahead)):
                break
            whole = gap
        since += 1
        if since > SWEEPS or gap <= ACTIVE * whole or 2 * len(order) > n:
            order, since = space.everything, 0
    return best, proved
