"""Steps of dual coordinate descent that move all rows together: to the minimum over a plane of directions."""

import math
from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.dual_coordinate import cost, room, slope_and_curvature
from gapfit.compiled.rows import TINY, dense_dot, row_add

PARALLEL = 1e-10  # what directions differ by may be rounding, below this
FAR = 100.0  # times a direction is too far to go: the rounding in it would show
FEW = 10  # rows are no crowd
CROWD = 0.1  # of the active rows, come to rest during a sweep: then its way is no direction to go on in
ROUNDING = 1e-13  # of |z|^2 / alpha is too little to gain: rounding would show


class Ways(NamedTuple):
    """The ways that the last sweeps have come."""

    V: Any  # in the variables, a way a row
    Z: Any  # V X
    latest: int  # of them
    spare_z: Any  # the size of z, where the next one may be put
    spare_v: Any  # the size of v, for notes


@jit(fast=True, inner=True)
def beyond(dual, place, ways, active):
    """To the minimum over the plane through the last ways, and b with it; where that fails, forget the ways.

    ``active`` is the number of active rows. Returns z, b, s and c of the place; and of the ways which one
    the next is to replace, and the spare z. (As tuples: to make records for Python takes longer.)
    """
    V, Z, latest, spare_z, _ = ways
    z, b, s, c = place
    least = ROUNDING * dense_dot(z, z) * dual.inv_alpha
    moved, s, c = _step_beyond(dual, place, ways, FEW + np.int64(CROWD * active), least)
    if moved:
        z, spare_z = spare_z, z
    else:
        _forget(V)
        _forget(Z)
    return (z, b - dual.rho * s, s, c), ((latest + 1) % V.shape[0], spare_z)


@jit(fast=True)
def _forget(ways):
    for j in range(ways.shape[0]):
        for i in range(ways.shape[1]):
            ways[j, i] = 0.0


@jit(fast=True)
def _step_beyond(dual, place, ways, crowd, least):
    """Minimise F over the plane through the ways, or go as near as the bounds let us.

    Not if more than ``crowd`` rows have come to rest, or less than ``least`` is to be gained. Returns whether
    there was a step, s and c; if so, the spare z and the table are what they are there.
    """
    if not leave_resting(dual, ways.V, ways.Z, crowd):
        return False, place.s, place.c
    H, r = _model(dual, place, ways.V, ways.Z)
    steps = _solve(H, r)
    promised = furthest = 0.0
    for j in range(steps.size):
        promised += 0.5 * r[j] * steps[j]
        furthest = max(furthest, abs(steps[j]))
    if not (promised > least and furthest < FAR):
        return False, place.s, place.c
    return _move(dual, place, ways, steps)


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
def leave_resting(dual, V, Z, most):
    """Take rows out of the directions V whose variable rests at a bound or kink; Z = V X changes with them.

    Returns whether there were at most ``most`` of them; otherwise nothing was done. Entropic ones never rest.
    """
    if dual.entropic:
        return True
    rows, table = dual.rows, dual.table
    moving = np.empty(table.size, np.int64)
    count = 0
    for i in range(table.size):
        sample = table[i]
        v = sample["v"]
        if sample["lower"] < v < sample["upper"] and (sample["kink"] == 0.0 or v != 0.0):
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
                row_add(rows, i, -V[j, i], Z[j])
                V[j, i] = 0.0
    return True


@jit(fast=True, reorder=True)
def _model(dual, place, V, Z):
    """Second derivatives H of F along the directions V (Z = V X), and minus the first ones."""
    _, table, entropic, inv_alpha, mean_sq, rho = dual
    z, b, s, c = place
    m = V.shape[0]
    H, r = np.empty((m, m)), np.empty(m)
    S, C = np.empty(m), np.empty(m)  # how s and c change
    for j in range(m):  # `np.zeros` takes longer to compile
        r[j] = S[j] = C[j] = 0.0
        for k in range(m):
            H[j, k] = 0.0
    for i in range(table.size):
        reach = 0.0
        for j in range(m):
            reach = max(reach, abs(V[j, i]))
        if reach == 0.0:
            continue
        slope, curvature = slope_and_curvature(table[i], reach, entropic)
        along = table[i]["along"]
        for j in range(m):
            x = V[j, i]
            S[j] -= x
            C[j] += along * x
            r[j] -= slope * x
            for k in range(j + 1):
                H[j, k] += curvature * x * V[k, i]
    for j in range(m):
        r[j] -= (dense_dot(z, Z[j]) + s * C[j] + c * S[j] + s * S[j] * mean_sq) * inv_alpha
        r[j] -= (rho * s - b) * S[j]
        for k in range(j + 1):
            cross = dense_dot(Z[j], Z[k]) + S[j] * C[k] + S[k] * C[j] + S[j] * S[k] * mean_sq
            H[j, k] += cross * inv_alpha + rho * S[j] * S[k]
            H[k, j] = H[j, k]
    return H, r


@jit(fast=True)
def _move(dual, place, ways, steps):
    """Move to v + steps V, every variable within its room, if F is smaller there.

    Returns whether it is, s and c. If it is, the spare z and the table are what they are there, and the
    latest way, the one that sweeps have come, becomes the whole way.
    """
    rows, table, entropic, inv_alpha, mean_sq, rho = dual
    z, b, s, c = place
    V, Z, latest, new_z, new_v = ways
    m, n, d = V.shape[0], table.size, z.size
    for j in range(d):
        total = z[j]
        for k in range(m):
            total += steps[k] * Z[k, j]
        new_z[j] = total
    gain, new_s, new_c = 0.0, s, c
    for i in range(n):
        sample = table[i]
        v = sample["v"]
        wish = 0.0
        for k in range(m):
            wish += steps[k] * V[k, i]
        new_v[i] = v
        if wish == 0.0:
            continue
        lower, upper = room(sample, entropic)
        new = min(max(v + wish, lower), upper)
        if new != v + wish:
            row_add(rows, i, new - v - wish, new_z)
        new_v[i] = new
        new_s -= new - v
        new_c += (new - v) * sample["along"]
        gain += cost(sample, v, entropic) - cost(sample, new, entropic)
    old = dense_dot(z, z) + 2 * s * c + s * s * mean_sq
    new = dense_dot(new_z, new_z) + 2 * new_s * new_c + new_s * new_s * mean_sq
    gain += 0.5 * (old - new) * inv_alpha + b * (new_s - s) + 0.5 * rho * (s * s - new_s * new_s)
    if not gain > 0.0:
        return False, s, c
    for i in range(n):
        sample = table[i]
        new = new_v[i]
        if entropic and new != sample["v"]:
            sample["kink"] = math.log((new - sample["lower"]) / (sample["upper"] - new))
        sample["v"] = new
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
