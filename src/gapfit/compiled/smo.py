"""Sequential minimal optimisation on a tile of the kernel matrix.

    minimise  1/2 v'Kv + <p, v> + sum_k kink_k |v_k|,     lower <= v <= upper,  sum of v fixed

by steps v_i += t, v_j -= t. `G` is Kv + p throughout. A variable at zero with a kink has two slopes, one for
each direction; steps end at zero, and the next one may go on from there.

If the two sides are to stay apart, the sums of the positive and of the negative v are fixed one by one: both
of a pair are on one side of zero, and each side has its own middle of the slopes.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.blocks import row_of

_MAGNITUDE, _SIGN, _HALF = np.int32(0x7FFFFFFF), np.int32(31), np.int64(32)
_OFFSETS, _NEARLY = 6, 20  # offsets at a look, where the gap is at most so many times too large
_FEW, _NEAREST, _FARTHEST = 4, 32, 4  # looks are at least so many steps apart, or so small a share of all
_LEAST, _INDEX = np.int64(-0x7FFFFFFFFFFFFFFF), np.int64(0xFFFFFFFF)


class Limits(NamedTuple):
    """Where v may be, and what it costs to leave zero."""

    lower: Any
    upper: Any
    kink: Any
    apart: bool  # do the two sides of zero stay apart?


class Way(NamedTuple):
    """What is seen on the way of a machine whose losses are lines, at looks that are apart as `_next_look`
    says. Those after 1, 4, 16 steps and so on are written down."""

    goal: Any  # the scores less G, where v is zero
    values: Any  # the objective over alpha; as many looks as there is room for
    gaps: Any
    looks: Any  # how many were written down
    met: Any  # was the gap small enough?
    aim: Any  # the share of the objective that is small enough


def unseen():
    """The way of a machine at which nobody looks."""
    none = np.zeros(0)
    return Way(none, none, none, np.zeros(1, np.int64), np.zeros(1, np.bool_), 0.0)


@jit(fast=True)
def _see(G, v, limits, middle, way, side):
    """The dual objective; at the offset that this middle of the slopes stands for, the gap and its slope. Or
    the same of what is positive, side 0, or negative."""
    value = gap = slope = 0.0
    for k in range(len(G)):
        g, x, kink, lower, upper = G[k] - middle, v[k], limits.kink[k], limits.lower[k], limits.upper[k]
        here = 1.0 if not limits.apart or (upper > 0.0) == (side == 0) else 0.0
        value += here * (0.5 * x * (G[k] - way.goal[k]) + kink * abs(x))
        down, up = g * lower + kink * abs(lower), g * upper + kink * abs(upper)
        gap += here * (g * x + kink * abs(x) - min(0.0, min(down, up)))
        slope += here * ((0.0 if min(down, up) >= 0.0 else lower if down < up else upper) - x)
    return -value, gap, slope


@jit
def _least_gap(G, v, limits, middle, way, side):
    """The dual objective, and the gap at an offset that is nearly the best one, if it may be small enough
    there: a convex function of the offset, known by its tangents."""
    low, gap, slope = _see(G, v, limits, middle, way, side)
    least = gap
    left, right = (-math.inf, 0.0, -1.0), (math.inf, 0.0, 1.0)  # tangents that fall and that rise
    for _ in range(_OFFSETS):
        enough = way.aim * abs(least + low)
        if least <= enough or slope == 0.0 or least > _NEARLY * enough:
            break
        if slope > 0.0:
            right = (middle, gap, slope)
        else:
            left = (middle, gap, slope)
        if math.isfinite(left[0]) and math.isfinite(right[0]):
            middle = (right[1] - left[1] + left[2] * left[0] - right[2] * right[0]) / (left[2] - right[2])
            if left[1] + left[2] * (middle - left[0]) > enough:  # the function is above where tangents meet
                break
        else:
            middle -= gap / slope
        _, gap, slope = _see(G, v, limits, middle, way, side)
        least = min(least, gap)
    return low, least


@jit
def _look(G, v, limits, middle, taken, way):
    """By how much the gap is too large, as a logarithm: not, if that is negative."""
    low, gap = _least_gap(G, v, limits, middle[0], way, 0)
    if limits.apart:
        more, other = _least_gap(G, v, limits, middle[1], way, 1)
        low, gap = low + more, gap + other
    value, at = low + gap, way.looks[0]
    if taken >= 4**at and at < len(way.values):
        way.values[at], way.gaps[at] = value, gap
        way.looks[0] = at + 1
    enough = way.aim * abs(value)
    way.met[0] = gap <= enough
    if way.met[0]:
        return -1.0
    return math.log(gap / enough) if enough > 0.0 else math.inf


@jit
def _next_look(taken, before, excess, excess_before):
    """When to look again: half the way to where the gap will be small enough, if it goes on to fall by the
    same factors. A look costs as much as a step or two, and gaps do not fall evenly."""
    fallen, ahead = excess_before - excess, 0.0
    if 0.0 < fallen < math.inf:
        ahead = 0.5 * excess * (taken - before) / fallen
    nearest = max(taken // _NEAREST, min(taken, _FEW))
    farthest = max(taken // _FARTHEST, nearest)
    return taken + (int(min(max(ahead, nearest), farthest)) if ahead > 0.0 else farthest)


@jit(fast=True)
def _key(value, index):
    """An integer whose order is that of the values, in single precision, with the index in its lower half.

    Its maximum vectorises, which the place of a maximum of floating point numbers does not.
    """
    bits = np.float32(value).view(np.int32)
    bits = bits ^ ((bits >> _SIGN) & _MAGNITUDE)
    return (np.int64(bits) << _HALF) | np.int64(index)


@jit(fast=True)
def _update(G, row_i, row_j, step, rise, fall, middle):
    """Take the step's change of G; who gains most by rising, and who by falling.

    Keys are of differences from the middle: near the optimum all that counts is small there.
    """
    best_up = best_down = _LEAST
    for k in range(len(G)):
        g = G[k] + step * (np.float64(row_i[k]) - np.float64(row_j[k]))
        G[k] = g
        best_up = max(best_up, _key(rise[k] - (g - middle), k))
        best_down = max(best_down, _key(fall[k] + (g - middle), k))
    return best_up & _INDEX, best_down & _INDEX


@jit(fast=True)
def _extremes(G, rise, fall, middle):
    """Who gains most by rising, and who by falling."""
    best_up = best_down = _LEAST
    for k in range(len(G)):
        best_up = max(best_up, _key(rise[k] - (G[k] - middle), k))
        best_down = max(best_down, _key(fall[k] + (G[k] - middle), k))
    return best_up & _INDEX, best_down & _INDEX


@jit(fast=True)
def _partner(G, row_i, diagonal, at_i, slope_i, fall, least):
    """The j with which i lowers the objective most, bounds aside: (difference of slopes)^2 / curvature."""
    best = np.int64(0)
    small, at = np.float32(least), np.float32(at_i)
    for k in range(len(G)):
        difference = np.float32(max(fall[k] + G[k] - slope_i, 0.0))
        curvature = max(
            np.float32(at + np.float32(diagonal[k]) - np.float32(2) * np.float32(row_i[k])), small
        )
        gain = np.float32(difference * difference / curvature)
        best = max(best, (np.int64(np.float32(gain).view(np.int32)) << _HALF) | np.int64(k))
    return best & _INDEX


@jit(fast=True)
def _open(k, v, limits, rise, fall):
    """Note what a change of v_k costs in either direction, on its side of zero; -inf where it cannot be."""
    lower, upper, kink, apart = limits
    above, below = (0 if v[k] >= 0 else 1), (0 if v[k] > 0 else 1)
    for side in range(2):
        rise[side, k] = fall[side, k] = -np.inf
    if v[k] < upper[k]:
        rise[above if apart else 0, k] = -kink[k] if v[k] >= 0 else kink[k]
    if v[k] > lower[k]:
        fall[below if apart else 0, k] = kink[k] if v[k] > 0 else -kink[k]


@jit(fast=True)
def _move(i, j, step, v, limits):
    """v_i += step, v_j -= step, or as much of it as bounds and kinks allow; exactly on them."""
    lower, upper, kink, apart = limits
    end_i = 0.0 if v[i] < 0 and (apart or kink[i] > 0) else upper[i]
    end_j = 0.0 if v[j] > 0 and (apart or kink[j] > 0) else lower[j]
    room_i, room_j = end_i - v[i], v[j] - end_j
    if step < room_i and step < room_j:
        v[i] += step
        v[j] -= step
    elif room_i <= room_j:
        step = room_i
        v[j] = end_j if room_i == room_j else v[j] - step
        v[i] = end_i
    else:
        step = room_j
        v[i] += step
        v[j] = end_j
    return step


@jit(fast=True)
def second_order(block, G, v, limits, steps, target, least, known, way):
    """Steps on pairs chosen by the second-order rule until the violation is at most `target`, or the gap as
    small as `way` has it.

    Returns the number of steps and the violation, and updates G and v in place. `known`, which begins as NaN,
    holds the middles of the slopes: another call with it goes on as if there had been one call for all steps.
    """
    size, apart, diagonal = len(G), limits.apart, block.diagonal
    rise, fall = np.empty((2, size)), np.empty((2, size))
    for k in range(size):
        _open(k, v, limits, rise, fall)
    middle = known.copy()
    for side in range(0 if middle[0] == middle[0] else 2 if apart else 1):
        middle[side] = 0.0
        i, down = _extremes(G, rise[side], fall[side], 0.0)
        if np.isfinite(rise[side, i]) and np.isfinite(fall[side, down]):
            middle[side] = 0.5 * (G[i] - rise[side, i] + G[down] + fall[side, down])
    taken, step = 0, 0.0
    row_i = row_j = row_of(block, 0)  # for a step that changes nothing
    next_look, last_look, excess = 1, 0, math.inf
    while True:
        for side in range(known.size):  # numba's own way to copy is a second's work to compile
            known[side] = middle[side]
        side = 0
        i, down = _update(G, row_i, row_j, step, rise[0], fall[0], middle[0])
        slope = G[i] - rise[0, i]
        violation = G[down] + fall[0, down] - slope
        middle[0] = slope + 0.5 * violation if np.isfinite(violation) else 0.0
        if apart:
            other, down = _extremes(G, rise[1], fall[1], middle[1])
            beyond = G[other] - rise[1, other]
            more = G[down] + fall[1, down] - beyond
            middle[1] = beyond + 0.5 * more if np.isfinite(more) else 0.0
            if more > violation:
                side, i, slope, violation = 1, other, beyond, more
        if not violation > target or taken >= steps:
            return taken, violation
        if taken >= next_look and way.goal.size:
            before, excess = excess, _look(G, v, limits, middle, taken, way)
            if excess < 0.0:
                return taken, violation
            next_look, last_look = _next_look(taken, last_look, excess, before), taken
        row_i = row_of(block, i)
        j = _partner(G, row_i, diagonal, diagonal[i], slope, fall[side], least)
        row_j = row_of(block, j)
        curvature = max(diagonal[i] + diagonal[j] - 2 * np.float64(row_i[j]), least)
        step = _move(i, j, (G[j] + fall[side, j] - slope) / curvature, v, limits)
        _open(i, v, limits, rise, fall)
        _open(j, v, limits, rise, fall)
        taken += 1
