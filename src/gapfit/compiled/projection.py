"""The nearest point in a box that satisfies one linear equation.

    minimise 1/2 sum_i weights_i (a_i - m_i)^2   subject to  lower <= a <= upper,  <sigma, a> = z

The solution is a(t) = clip(m + t step), step = sigma / weights, for the t at which <sigma, a(t)> = z: a
non-decreasing function of t with two kinks a coordinate. Points that nearly satisfy the equation are a few
Newton steps from there. Otherwise the search goes by halves: of the kinks that are left between two bounds of
t take about the middle one, see on which side of it the root lies, and drop the kinks of the other side *and
all equal ones*; coordinates without a kink left inside are summed up once and for all. Work is O(n).
"""

import math
from typing import Any

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.precise import sum_exactly
from gapfit.compiled.rows import SHORT, some

_NEWTON = 6  # steps before the search by halves
_SAMPLE = 65  # kinks whose middle one stands for the middle one of all
_GOLDEN = 0.5 * (5**0.5 - 1)  # the ratio
_TAKES = 3  # of what rounding has left of a sum


@jit(fast=True, reorder=True)
def _total(m, step, sigma, lower, upper, t):
    """<sigma, a(t)>, its derivative in t, and the sum of the absolute terms; step and sigma may be short."""
    total = slope = size = 0.0
    block = m.size if step.size == m.size == sigma.size else SHORT
    for first in range(0, m.size, max(block, 1)):
        count = min(block, m.size - first)
        rate, scale = some(step, first, count, m.size), some(sigma, first, count, m.size)
        at, low, high = m[first : first + count], lower[first : first + count], upper[first : first + count]
        for i in range(count):
            a = min(max(at[i] + t * rate[i], low[i]), high[i])
            total += scale[i] * a
            size += abs(scale[i] * a)
            slope += scale[i] * rate[i] if low[i] < a < high[i] else 0.0
    return total, slope, size


def multiplier(box: Any, z: float, rounding: float) -> float:
    """The t at which <sigma, a(t)> = z. There must be one: z lies strictly between the extremes.

    The box is m, step, sigma, lower and upper. Most points are near, and the search by halves is compiled
    only when one is not.
    """
    t, left, right = near(*box, z, rounding)
    return t if left == right else by_halves(*box, z, rounding, (left, right))


@jit
def near(m, step, sigma, lower, upper, z, rounding):
    """For Python: see `_near`."""
    return _near(m, step, sigma, lower, upper, z, rounding)


@jit
def _near(m, step, sigma, lower, upper, z, rounding):
    """A few steps of Newton's method: t twice more if that is the root, else bounds of the root."""
    t, left, right = 0.0, -np.inf, np.inf
    last, before = np.inf, t
    for _ in range(_NEWTON):
        total, slope, size = _total(m, step, sigma, lower, upper, t)
        excess = total - z
        noise = rounding * (size + abs(z))
        if abs(excess) <= noise:
            return t, t, t
        if abs(excess) <= np.sqrt(m.size) * noise and 2.0 * abs(excess) > last:  # a sum knows no better
            t = t if abs(excess) < last else before
            return t, t, t
        last, before = abs(excess), t
        left, right = (left, t) if excess > 0.0 else (t, right)
        if slope <= 0.0:
            break
        t -= excess / slope
        if not left < t < right:
            break
    return t, left, right


@jit
def onto_balanced_box(m, step, lower, upper, z, rounding, out):
    """Write the nearest point whose sum is z; False where m is not near it, or there is none.

    What rounding has left of the sum is taken off the smallest entries that have room for it: the smaller an
    entry, the finer it is resolved. The step may be short (`rows.some`).
    """
    n, least, most, size = m.size, 0.0, 0.0, 0.0
    ones = np.ones(n if step.size == n else SHORT)
    for i in range(n):
        least += lower[i]
        most += upper[i]
        size += abs(m[i])
    if not (least < z < most and size < np.inf):
        return False
    t, left, right = _near(m, step, ones, lower, upper, z, rounding)
    if left != right:
        return False
    for first in range(0, n, SHORT):
        count = min(SHORT, n - first)
        rate = some(step, first, count, n)
        for i in range(count):
            k = first + i
            out[k] = min(max(m[k] + t * rate[i], lower[k]), upper[k])
    _balance(out, lower, upper, z)
    return True


@jit
def fill(lower, upper, total, out):
    """Write a point with this sum: some variables at their upper bounds, the others at their lower. Any first
    of those that are raised are spread evenly over all: steps of the golden ratio."""
    n, left, places = 0, total, np.empty(lower.size, np.int64)
    for i in range(lower.size):
        out[i] = lower[i]
        left -= lower[i]
        if upper[i] > lower[i]:
            places[n] = i
            n += 1
    step = max(int(_GOLDEN * n), 1)
    while n and math.gcd(step, n) > 1:
        step += 1
    for k in range(n):
        i = places[k * step % n]
        room = upper[i] - lower[i]
        share = min(max(left, 0.0), room)
        out[i] = upper[i] if share == room else lower[i] + share
        left -= room


@jit
def balance(u, lower, upper, z):
    """For Python: see `_balance`."""
    _balance(u, lower, upper, z)


@jit
def _balance(u, lower, upper, z):
    """Take what rounding has left of sum(u) - z off entries of u."""
    for _ in range(_TAKES):
        total, lost, _ = sum_exactly(u, 0, u.size, -z)
        rest = total + lost
        if rest == 0.0:
            return
        smallest, at = np.inf, -1
        for i in range(u.size):
            if abs(u[i]) < smallest and lower[i] <= u[i] - rest <= upper[i]:
                smallest, at = abs(u[i]), i
        if at < 0:
            return
        u[at] -= rest


@jit
def _settled(low, high, rate, left, right):
    """What a coordinate adds that has no kink between left and right: a constant, and a slope in t."""
    if high <= left:
        return rate * high, 0.0
    if low >= right:
        return rate * low, 0.0
    return 0.0, rate


@jit
def by_halves(m, step, sigma, lower, upper, z, rounding, bounds):
    """The root of <sigma, a(t)> - z between two bounds, up to rounding."""
    t = _by_halves(m, step, sigma, lower, upper, z, bounds)
    for _ in range(2):  # the sums there were of large terms; what they left out is small
        total, slope, size = _total(m, step, sigma, lower, upper, t)
        if slope <= 0.0 or abs(total - z) <= rounding * (size + abs(z)):
            break
        t -= (total - z) / slope
    return t


@jit
def _by_halves(m, step, sigma, lower, upper, z, bounds):
    """The root, up to the rounding of large terms.

    With rate = sigma * step a coordinate adds rate * clip(t, enter, leave) to what it has at m.
    """
    left, right = bounds
    n = m.size
    enter, leave, rate = np.empty(n), np.empty(n), np.empty(n)
    fixed = -z  # sum of the terms that do not change with t any more
    slope = 0.0  # of coordinates that are free all the way from left to right
    count = 0
    for i in range(n):
        fixed += sigma[i] * m[i]
        if step[i] == 0.0:
            fixed += sigma[i] * (min(max(m[i], lower[i]), upper[i]) - m[i])
            continue
        first, last = (lower[i] - m[i]) / step[i], (upper[i] - m[i]) / step[i]
        low, high, gain = min(first, last), max(first, last), sigma[i] * step[i]
        if left < low < right or left < high < right:
            enter[count], leave[count], rate[count] = low, high, gain
            count += 1
        else:  # most of them, if left and right are near
            constant, linear = _settled(low, high, gain, left, right)
            fixed += constant
            slope += linear
    kinks = np.empty(2 * count)
    random = np.uint64(1)
    while True:
        # settle the coordinates without a kink inside, collect the kinks of the others
        kept = inside = 0
        for i in range(count):
            low, high = enter[i], leave[i]
            low_inside, high_inside = left < low < right, left < high < right
            if low_inside or high_inside:
                enter[kept], leave[kept], rate[kept] = low, high, rate[i]
                kept += 1
                if low_inside:
                    kinks[inside] = low
                    inside += 1
                if high_inside and high != low:
                    kinks[inside] = high
                    inside += 1
            else:
                constant, linear = _settled(low, high, rate[i], left, right)
                fixed += constant
                slope += linear
        count = kept
        if inside == 0:
            break
        sample = min(inside, _SAMPLE)
        chosen = np.empty(sample)
        for k in range(sample):
            random = random * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            kink = kinks[k if inside <= _SAMPLE else int(random >> np.uint64(33)) % inside]
            place = k  # in order: numba's own sort takes a second to compile
            while place > 0 and chosen[place - 1] > kink:
                chosen[place] = chosen[place - 1]
                place -= 1
            chosen[place] = kink
        pivot = chosen[(sample - 1) // 2]
        total = fixed + slope * pivot
        for i in range(count):
            total += rate[i] * min(max(pivot, enter[i]), leave[i])
        if total >= 0.0:
            right = pivot
        else:
            left = pivot
    if slope == 0.0:
        return right if right < np.inf else left
    return min(max(-fixed / slope, left), right)
