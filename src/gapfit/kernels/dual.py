"""Sweeps of dual coordinate descent over samples that are stored as flat rows, and steps between sweeps.

Rows are the three arrays of `kernels.rows`; so is the table, which holds the dual variable v_i of each sample
and its convex function psi_i, in one of two forms:

    0 target   1 kink       2 quad   3 lower   4 upper   5 curvature   6 along   7 v      piecewise
    0 target   1 log_odds   2 quad   3 lower   4 upper   5 curvature   6 along   7 v      entropic

    psi(v) = quad v^2 / 2 + kink |v|
    psi(v) = quad v^2 / 2 + range (a log a + (1 - a) log(1 - a)),  v = lower + range a,  range = upper - lower

An entropic variable is kept as log_odds = log(a / (1 - a)) as well, the derivative of its entropy: near its
bounds v has too few digits for it. With z = sum_i v_i x_i and s = total - sum_i v_i, all this minimises

    F(v) = sum_i (psi_i(v_i) - target_i v_i) + |z + s mean|^2 / (2 alpha) - b s + rho s^2 / 2.

Column 6 is <mean, x_i> and column 5 |x_i - mean|^2 / alpha; ``mean_sq`` = |mean|^2, ``c`` = <z, mean>.
Without an intercept mean, b and rho are zero.
"""

import math

import numpy as np

from gapfit.kernels._jit import jit, prefetch

TINY = 1e-300  # stands for a curvature of zero: the step then runs into its bound without a branch
AHEAD = 4  # rows are asked for from memory so many steps before their turn
BLOCK = 8  # neighbours in memory that are visited together: as good as any order, and twice as fast
PARALLEL = 1e-10  # what directions differ by may be rounding, below this
FAR = 100.0  # times a direction is too far to go: the rounding in it would show
COUNTER_STEP = np.uint64(0x9E3779B97F4A7C15)
SCRAMBLE = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
FEW = 10  # rows are no crowd
CROWD = 0.1  # of the active rows, come to rest during a sweep: then its way is no direction to go on in
CAUTION = 1.3  # in guessing the gap: a look too many costs more than a sweep too many of active rows
ROUNDING = 1e-13  # of |z|^2 / alpha is too little to gain: rounding would show
NARROW = 0.1  # of the way to its bounds an entropic variable is left when all of them move together


# -- one row ------------------------------------------------------------------------------------------------


@jit(fast=True, reorder=True)
def _dense_dot(x, w):
    total = 0.0
    for j in range(x.size):
        total += x[j] * w[j]
    return total


@jit(fast=True, inline=True)
def _row_dot(data, indices, start, stop, w):
    """<x, w> for the row in ``start:stop``.

    Counters are unsigned, which spares a test for negative ones. Four sums that take turns keep the adders
    busy; in a loop with one end, for the processor guesses wrong once at each.
    """
    if indices.size == 0:
        return _dense_dot(data[start:stop], w)
    s0 = s1 = s2 = s3 = 0.0
    for k in range(np.uint64(start), np.uint64(stop)):
        s0, s1, s2, s3 = s1, s2, s3, s0 + data[k] * w[indices[k]]
    return (s0 + s1) + (s2 + s3)


@jit(fast=True, inline=True)
def _row_add(data, indices, start, stop, step, w):
    if indices.size == 0:
        x = data[start:stop]
        for j in range(x.size):
            w[j] += step * x[j]
    else:
        for k in range(np.uint64(start), np.uint64(stop)):
            w[indices[k]] += step * data[k]


@jit(fast=True, inline=True)
def _piecewise_minimiser(drive, kink, curvature, lower, upper):
    """The minimiser over lower <= v <= upper of  kink |v| + curvature v^2 / 2 - drive v."""
    if drive > kink:
        v = (drive - kink) / curvature
    elif drive < -kink:
        v = (drive + kink) / curvature
    else:
        v = 0.0
    return min(max(v, lower), upper)


@jit(fast=True, inline=True)
def _entropic_minimiser(odds, slope, curvature, scale):
    """The minimum in one entropic coordinate, as log-odds and share, by Newton's method in the log-odds.

    Solves  slope + (new - odds) + curvature scale (a(new) - a(odds)) = 0.  The left side rises with new, with
    a slope of at least 1: the root lies between odds and odds - slope.
    """
    was = a = 1.0 / (1.0 + math.exp(-odds))
    low, high = min(odds, odds - slope), max(odds, odds - slope)
    new = odds
    for _ in range(30):
        value = slope + (new - odds) + curvature * scale * (a - was)
        if value > 0.0:
            high = new
        else:
            low = new
        previous = new
        new -= value / (1.0 + curvature * scale * a * (1.0 - a))
        if not low <= new <= high:
            new = 0.5 * (low + high)
        a = 1.0 / (1.0 + math.exp(-new))
        if abs(new - previous) <= 1e-3:  # the next correction would be the square of this one
            break
    return new, a


@jit(fast=True, inline=True)
def _softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@jit(fast=True, inline=True)
def _entropic_gap(odds, slope, scale):
    """phi(f) + psi(v) + f v of one row, in terms of v and slope = psi'(v) + f: its part of the gap."""
    if abs(slope) > 0.1:
        a = 1.0 / (1.0 + math.exp(-odds))
        return scale * max(_softplus(odds - slope) - _softplus(odds) + a * slope, 0.0)
    half = math.exp(-0.5 * abs(odds))
    spread = half / (1.0 + half * half)  # sqrt(a (1 - a))
    return 0.5 * scale * (spread * slope) ** 2


@jit(fast=True, inline=True)
def _pull(v, g, kink, quad, lower, upper, threshold):
    """Whether a piecewise variable rests firmly; the derivative that pulls at it, and its part of the gap.

    Of one that rests, by how much its derivative would have to change to move it, instead of the pull.
    """
    right = g + (kink if v >= 0.0 else -kink)  # the derivatives to either side
    left = g + (kink if v > 0.0 else -kink)
    if (v >= upper or right > threshold) and (v <= lower or left < -threshold):
        return True, min(math.inf if v >= upper else right, math.inf if v <= lower else -left), 0.0
    pull = reach = 0.0
    if v < upper and right < 0.0:
        pull, reach = -right, upper - v
    elif v > lower and left > 0.0:
        pull, reach = left, v - lower
    if quad * reach > pull:
        reach = pull / quad
    return False, pull, reach * (pull - 0.5 * quad * reach)


# -- sweeps -------------------------------------------------------------------------------------------------


@jit(fast=True)
def _visits(size, state):
    """0 .. size - 1 in blocks of neighbours: the blocks in random order, each begun anywhere in it.

    Random numbers are a scrambled counter, ``state``; its next value is returned as well.
    """
    blocks = np.arange((size + BLOCK - 1) // BLOCK)
    draws = np.empty(blocks.size, np.uint64)
    for k in range(draws.size):
        state += COUNTER_STEP
        x = (state ^ (state >> np.uint64(30))) * SCRAMBLE[0]
        x = (x ^ (x >> np.uint64(27))) * SCRAMBLE[1]
        draws[k] = x >> np.uint64(32)
    for k in range(blocks.size - 1, 0, -1):  # draws / 2^32 is uniform in [0, 1)
        j = np.int64((draws[k] * np.uint64(k + 1)) >> np.uint64(32))
        blocks[k], blocks[j] = blocks[j], blocks[k]
    visits = np.empty(size, np.int64)
    filled = 0
    for k in range(blocks.size):
        start = blocks[k] * BLOCK
        length = min(BLOCK, size - start)
        turn = np.int64(draws[k] & np.uint64(0xFFFF)) % length  # low bits: the shuffle used the high ones
        for q in range(length - turn):
            visits[filled + q] = start + turn + q
        for q in range(length - turn, length):
            visits[filled + q] = start + turn + q - length
        filled += length
    return visits, state


@jit(fast=True)
def dual_sweep(
    data, indices, indptr, table, entropic, order, state, z, inv_alpha, mean_sq, b, rho, s, c, threshold
):
    """One sweep of exact minimisations of F in single coordinates over the rows ``order`` (which ascend).

    ``state`` is that of the random numbers. Updates z and v.

    A piecewise row that rests at a bound or at its kink, and would do so if its derivative changed by less
    than ``threshold``, is dropped. Returns the rows that were kept, the state, the average derivative that
    pulled at them, the gap that was seen (each row's part just before its turn), s and c.
    """
    if indices.size == 0:  # known from here on: rows that had to ask would be slower by a fifth
        return _sweep(
            data, indices, indptr, table, entropic, order, state, z, inv_alpha, mean_sq, b, rho, s, c,
            threshold,
        )  # fmt: skip
    return _sweep(
        data, indices, indptr, table, entropic, order, state, z, inv_alpha, mean_sq, b, rho, s, c, threshold
    )


@jit(fast=True, inline=True)
def _sweep(
    data, indices, indptr, table, entropic, order, state, z, inv_alpha, mean_sq, b, rho, s, c, threshold
):
    size = order.size
    visits, state = _visits(size, state)
    stays = np.ones(size, np.bool_)
    kept = 0
    pulls = gap = 0.0
    for k in range(size):
        if k + AHEAD < size:  # in place: a prefetch in a function of its own is optimised away
            i = order[visits[k + AHEAD]]
            prefetch(table, i)
            prefetch(data, indptr[i])
            if indices.size:
                prefetch(indices, indptr[i])
        i = order[visits[k]]
        start, stop = indptr[i], indptr[i + 1]
        target, kink, quad, lower, upper, curvature, along, v = table[i]
        f = _row_dot(data, indices, start, stop, z) - c + s * (along - mean_sq)
        g = f * inv_alpha + b - rho * s - target + quad * v
        h = max(quad + curvature + rho, TINY)
        if entropic:
            odds, scale = kink, upper - lower
            g += odds
            gap += _entropic_gap(odds, g, scale)
            odds, share = _entropic_minimiser(odds, g, h, scale)
            table[i, 1] = odds
            new = lower + scale * share
        else:
            rests, pull, part = _pull(v, g, kink, quad, lower, upper, threshold)
            if rests:
                stays[visits[k]] = False
                continue
            gap += part
            pulls += pull
            new = _piecewise_minimiser(h * v - g, kink, h, lower, upper)
        kept += 1
        step = new - v
        if step != 0.0:
            table[i, 7] = new
            _row_add(data, indices, start, stop, step, z)
            s -= step
            c += step * along
    usual = pulls / max(kept, 1)
    remaining = np.empty(kept, np.int64)
    kept = 0
    for k in range(size):
        if stays[k]:
            remaining[kept] = order[k]
            kept += 1
    return remaining, state, usual, gap, s, c


@jit(fast=True)
def survey(
    data, indices, indptr, table, z, inv_alpha, mean_sq, b, rho, s, c, threshold,
    members, first, last, firmness,
):  # fmt: skip
    """Look at the piecewise rows ``members[first:last]`` as a sweep does, and move none.

    Writes by how much the derivative of each would have to change to move it, or -1 if it does not rest;
    returns the sum of the derivatives that pull at those, their number and the gap. Passing by rows in their
    order takes a fraction of the time that visiting them in another does.
    """
    if indices.size == 0:  # as in a sweep
        return _survey(
            data, indices, indptr, table, z, inv_alpha, mean_sq, b, rho, s, c, threshold,
            members, first, last, firmness,
        )  # fmt: skip
    return _survey(
        data, indices, indptr, table, z, inv_alpha, mean_sq, b, rho, s, c, threshold,
        members, first, last, firmness,
    )  # fmt: skip


@jit(fast=True, inline=True)
def _survey(
    data, indices, indptr, table, z, inv_alpha, mean_sq, b, rho, s, c, threshold,
    members, first, last, firmness,
):  # fmt: skip
    pulls = gap = active = 0.0
    for k in range(first, last):
        i = members[k]
        target, kink, quad, lower, upper, _, along, v = table[i]
        f = _row_dot(data, indices, indptr[i], indptr[i + 1], z) - c + s * (along - mean_sq)
        g = f * inv_alpha + b - rho * s - target + quad * v
        rests, pull, part = _pull(v, g, kink, quad, lower, upper, threshold)
        firmness[k] = pull if rests else -1.0
        pulls += 0.0 if rests else pull
        active += not rests
        gap += part
    return pulls, active, gap


@jit(fast=True)
def sort_out(table, members, firmness, nearly, far):
    """Of the members, those that do not rest; those less firm than ``nearly``; and those whose firmness is at
    most ``far`` times the square root of their curvature."""
    active, near, doubtful = np.empty((3, members.size), np.int64)
    a = n = d = 0
    for k in range(members.size):
        i, firm = members[k], firmness[k]
        active[a] = near[n] = doubtful[d] = i
        a += firm < 0.0
        n += firm <= nearly
        d += firm <= 0.0 or firm * firm <= far * far * table[i, 5]
    return active[:a], near[:n], doubtful[:d]


@jit(fast=True)
def responses(data, indices, indptr, table, entropic, z, inv_alpha, mean_sq, b, rho, s, c, first, last, best):
    """What v would be if every sample could follow the scores at once: the maximisers of -f v - psi(v).

    For the rows from ``first`` to ``last``, written to ``best``.
    """
    for i in range(first, last):
        target, kink, quad, lower, upper, _, along, v = table[i]
        f = _row_dot(data, indices, indptr[i], indptr[i + 1], z) - c + s * (along - mean_sq)
        g = f * inv_alpha + b - rho * s - target
        if entropic:
            _, share = _entropic_minimiser(kink, g + kink + quad * v, quad, upper - lower)
            best[i] = lower + (upper - lower) * share
        else:
            best[i] = _piecewise_minimiser(-g, kink, max(quad, TINY), lower, upper)


# -- steps that move all rows together ------------------------------------------------------------------


@jit(fast=True, inline=True)
def _room(row, entropic):
    """Between which values a variable may move: there psi is a parabola, or nearly so."""
    kink, lower, upper, v = row[1], row[3], row[4], row[7]
    if entropic:
        return lower + NARROW * (v - lower), upper - NARROW * (upper - v)
    if kink > 0.0 and v > 0.0:
        lower = max(lower, 0.0)
    if kink > 0.0 and v < 0.0:
        upper = min(upper, 0.0)
    return lower, upper


@jit(fast=True, inline=True)
def _slope_and_curvature(row, reach, entropic):
    """psi'(v) - target and psi''(v); of an entropy the latter as it is ``reach`` further from the bounds."""
    target, kink, quad, lower, upper, v = row[0], row[1], row[2], row[3], row[4], row[7]
    if entropic:
        return quad * v + kink - target, quad + (upper - lower) / ((v - lower + reach) * (upper - v + reach))
    return quad * v + (kink if v > 0.0 else -kink) - target, quad


@jit(fast=True, inline=True)
def _cost(row, v, entropic):
    """psi(v) - target v."""
    target, kink, quad, lower, upper = row[0], row[1], row[2], row[3], row[4]
    if entropic:
        scale = upper - lower
        a, rest = max((v - lower) / scale, TINY), max((upper - v) / scale, TINY)
        return scale * (a * math.log(a) + rest * math.log(rest)) + 0.5 * quad * v * v - target * v
    return kink * abs(v) + 0.5 * quad * v * v - target * v


@jit(fast=True, reorder=True)
def costs(table, entropic):
    """The sum of psi_i(v_i) - target_i v_i."""
    total = 0.0
    for i in range(table.shape[0]):
        total += _cost(table[i], table[i, 7], entropic)
    return total


@jit(fast=True)
def step_beyond(
    data, indices, indptr, table, entropic, V, Z, latest, crowd, least, z, new_z, new_v,
    inv_alpha, mean_sq, b, rho, s, c,
):  # fmt: skip
    """Minimise F over the plane through the directions V (Z = V X), or go as near as the bounds let us.

    Not if more than ``crowd`` rows have come to rest, or less than ``least`` is to be gained. Returns whether
    there was a step, s and c; if so, ``new_z`` and the table are what they are there.
    """
    if not leave_resting(data, indices, indptr, table, entropic, V, Z, crowd):
        return False, s, c
    H, r = _model(table, entropic, V, Z, z, inv_alpha, mean_sq, b, rho, s, c)
    steps = _solve(H, r)
    promised = furthest = 0.0
    for j in range(steps.size):
        promised += 0.5 * r[j] * steps[j]
        furthest = max(furthest, abs(steps[j]))
    if not (promised > least and furthest < FAR):
        return False, s, c
    return _move(
        data, indices, indptr, table, entropic, V, Z, latest, steps, z, new_z, new_v,
        inv_alpha, mean_sq, b, rho, s, c,
    )  # fmt: skip


@jit(fast=True)
def _solve(H, r):
    """A solution of H x = r for a few directions that may be zero, or parallel but for rounding."""
    m = r.size
    size, A, x = np.empty(m), np.empty((m, m)), np.empty(m)
    for j in range(m):
        size[j] = 1.0 / math.sqrt(H[j, j]) if H[j, j] > 0.0 else 0.0
    for j in range(m):
        x[j] = r[j] * size[j]
        for k in range(m):
            A[j, k] = H[j, k] * size[j] * size[k]
        A[j, j] = 1.0 + PARALLEL
    for j in range(m):  # elimination; a definite matrix needs no pivoting
        for k in range(j + 1, m):
            factor = A[k, j] / max(A[j, j], TINY)
            x[k] -= factor * x[j]
            for q in range(j, m):
                A[k, q] -= factor * A[j, q]
    for j in range(m - 1, -1, -1):
        for k in range(j + 1, m):
            x[j] -= A[j, k] * x[k]
        x[j] /= max(A[j, j], TINY)
    for j in range(m):
        x[j] *= size[j]
    return x


@jit(fast=True)
def leave_resting(data, indices, indptr, table, entropic, V, Z, most):
    """Take rows out of the directions V whose variable rests at a bound or kink; Z = V X changes with them.

    Returns whether there were at most ``most`` of them; otherwise nothing was done. Entropic ones never rest.
    """
    if entropic:
        return True
    moving = np.empty(table.shape[0], np.int64)
    count = 0
    for i in range(table.shape[0]):
        kink, lower, upper, v = table[i, 1], table[i, 3], table[i, 4], table[i, 7]
        if lower < v < upper and (kink == 0.0 or v != 0.0):
            continue
        for j in range(V.shape[0]):
            if V[j, i] != 0.0:
                moving[count] = i
                count += 1
                break
    if count > most:
        return False
    for k in range(count):
        i = moving[k]
        for j in range(V.shape[0]):
            if V[j, i] != 0.0:
                _row_add(data, indices, indptr[i], indptr[i + 1], -V[j, i], Z[j])
                V[j, i] = 0.0
    return True


@jit(fast=True, reorder=True)
def _model(table, entropic, V, Z, z, inv_alpha, mean_sq, b, rho, s, c):
    """Second derivatives H of F along the directions V (Z = V X), and minus the first ones."""
    m = V.shape[0]
    H, r = np.zeros((m, m)), np.zeros(m)
    S, C = np.zeros(m), np.zeros(m)  # how s and c change
    for i in range(table.shape[0]):
        reach = 0.0
        for j in range(m):
            reach = max(reach, abs(V[j, i]))
        if reach == 0.0:
            continue
        slope, curvature = _slope_and_curvature(table[i], reach, entropic)
        along = table[i, 6]
        for j in range(m):
            x = V[j, i]
            S[j] -= x
            C[j] += along * x
            r[j] -= slope * x
            for k in range(j + 1):
                H[j, k] += curvature * x * V[k, i]
    for j in range(m):
        r[j] -= (_dense_dot(z, Z[j]) + s * C[j] + c * S[j] + s * S[j] * mean_sq) * inv_alpha
        r[j] -= (rho * s - b) * S[j]
        for k in range(j + 1):
            cross = _dense_dot(Z[j], Z[k]) + S[j] * C[k] + S[k] * C[j] + S[j] * S[k] * mean_sq
            H[j, k] += cross * inv_alpha + rho * S[j] * S[k]
            H[k, j] = H[j, k]
    return H, r


@jit(fast=True)
def _move(
    data, indices, indptr, table, entropic, V, Z, latest, steps, z, new_z, new_v,
    inv_alpha, mean_sq, b, rho, s, c,
):  # fmt: skip
    """Move to v + steps V, every variable within its room, if F is smaller there.

    Returns whether it is, s and c. If it is, ``new_z`` and the table are what they are there, and the
    direction ``latest``, the way that sweeps have come, becomes the whole way. ``new_v`` is scratch.
    """
    m, n, d = V.shape[0], table.shape[0], z.size
    for j in range(d):
        total = z[j]
        for k in range(m):
            total += steps[k] * Z[k, j]
        new_z[j] = total
    gain, new_s, new_c = 0.0, s, c
    for i in range(n):
        v = table[i, 7]
        wish = 0.0
        for k in range(m):
            wish += steps[k] * V[k, i]
        new_v[i] = v
        if wish == 0.0:
            continue
        lower, upper = _room(table[i], entropic)
        new = min(max(v + wish, lower), upper)
        if new != v + wish:
            _row_add(data, indices, indptr[i], indptr[i + 1], new - v - wish, new_z)
        new_v[i] = new
        new_s -= new - v
        new_c += (new - v) * table[i, 6]
        gain += _cost(table[i], v, entropic) - _cost(table[i], new, entropic)
    old = _dense_dot(z, z) + 2 * s * c + s * s * mean_sq
    new = _dense_dot(new_z, new_z) + 2 * new_s * new_c + new_s * new_s * mean_sq
    gain += 0.5 * (old - new) * inv_alpha + b * (new_s - s) + 0.5 * rho * (s * s - new_s * new_s)
    if not gain > 0.0:
        return False, s, c
    for i in range(n):
        new = new_v[i]
        if entropic and new != table[i, 7]:
            table[i, 1] = math.log((new - table[i, 3]) / (table[i, 4] - new))
        table[i, 7] = new
        total = V[latest, i]
        for k in range(m):
            total += steps[k] * V[k, i]
        V[latest, i] = total
    for j in range(d):
        total = Z[latest, j]
        for k in range(m):
            total += steps[k] * Z[k, j]
        Z[latest, j] = total
    return True, new_s, new_c


# -- sweeps and steps in turn -------------------------------------------------------------------------------


@jit(fast=True)
def _left_at_the_end(gap, before):
    """The share of the gap that a sweep saw that is left when it ends.

    At a constant rate it falls from 1 to r; the sweep saw the mean, (1 - r) / log(1 / r).
    """
    if not 0.0 < gap < before:
        return 1.0
    r = max(gap / before, 0.01)
    return r * math.log(1.0 / r) / (1.0 - r)


@jit(fast=True)
def descend(
    data, indices, indptr, table, entropic, order, state, V, Z, latest, z, spare_z, spare_v,
    inv_alpha, mean_sq, b, rho, s, c, threshold, gap, full_gap, visits, sweeps,
    enough, most_visits, most_sweeps, most_untold, news, fine,
):  # fmt: skip
    """Sweeps over active rows, each followed by a step beyond, until something is to be decided.

    That is so when the epoch ends (the gap of the active rows is at most ``enough`` of that of all,
    ``full_gap``; or ``most_visits``, ``most_sweeps`` are reached, or no row is active), when half of the rows
    are active no more, when the gap is at most ``news``, or at most ``fine`` of |z|^2 / alpha, or after
    ``most_untold`` visits; and after the first sweep over all rows.

    Sweeps go on, at least one, until they have touched some times more entries than z has. The direction
    ``latest`` is where they led.
    """
    untold, first = 0, full_gap == math.inf
    while True:
        for j in range(z.size):
            Z[latest, j] = z[j]
        for i in range(table.shape[0]):
            V[latest, i] = table[i, 7]
        touched, per_row = 0.0, 1.0 + data.size / table.shape[0]
        while True:
            touched += per_row * order.size
            visits += order.size
            untold += order.size
            sweeps += 1
            before = gap
            order, state, threshold, gap, s, c = dual_sweep(
                data, indices, indptr, table, entropic, order, state, z, inv_alpha, mean_sq, b, rho, s, c,
                threshold,
            )  # fmt: skip
            if full_gap == math.inf:
                full_gap = gap
            if touched >= 4 * z.size or 2 * order.size <= table.shape[0]:
                break
            b -= rho * s
        for j in range(z.size):
            Z[latest, j] = z[j] - Z[latest, j]
        for i in range(table.shape[0]):
            V[latest, i] = table[i, 7] - V[latest, i]
        estimate = CAUTION * gap * _left_at_the_end(gap, before)
        scale = _dense_dot(z, z) * inv_alpha
        too_fine = estimate <= fine * scale
        over = (
            too_fine
            or gap <= enough * full_gap
            or order.size == 0
            or visits >= most_visits
            or sweeps >= most_sweeps
        )
        few = 2 * order.size <= table.shape[0]
        if over or first or few or estimate <= news or untold >= most_untold:
            break
        latest, z, spare_z, b, s, c = step_on(
            data, indices, indptr, table, entropic, order.size, V, Z, latest, z, spare_z, spare_v,
            inv_alpha, mean_sq, b, rho, s, c,
        )  # fmt: skip
    return (
        (order, z, spare_z), (state, latest, visits, sweeps, untold, over, too_fine),
        (b, s, c, threshold, gap, full_gap, estimate),
    )  # fmt: skip


@jit(fast=True)
def step_on(
    data, indices, indptr, table, entropic, active, V, Z, latest, z, spare_z, spare_v,
    inv_alpha, mean_sq, b, rho, s, c,
):  # fmt: skip
    """To the minimum over the plane through the last ways, and b with it; where that fails, forget the ways.

    Returns where the next way is to be kept, z and the spare array, b, s and c.
    """
    least = ROUNDING * _dense_dot(z, z) * inv_alpha
    moved, s, c = step_beyond(
        data, indices, indptr, table, entropic, V, Z, latest, FEW + np.int64(CROWD * active), least,
        z, spare_z, spare_v, inv_alpha, mean_sq, b, rho, s, c,
    )  # fmt: skip
    if moved:
        z, spare_z = spare_z, z
    else:
        V[:] = 0.0
        Z[:] = 0.0
    return (latest + 1) % V.shape[0], z, spare_z, b - rho * s, s, c
