"""Sweeps over groups of columns: the steps of coordinate descent, a whole group at a time."""

from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.column import column_dot

INNER = 4  # steps within a group whose part of the matrix is at hand


class Groups(NamedTuple):
    """Groups of columns, and the penalty  sum_g strength_g |w_g| + l2 |w|^2 / 2."""

    order: Any  # the columns, group by group
    edges: Any  # where each group begins there, and the end
    strength: Any
    l2: float


@jit(fast=True)
def _shrunk(new, strength, bend):
    """``new`` divided by ``bend``, its norm first lowered by the strength."""
    size = np.sqrt((new * new).sum())
    keep = max(1.0 - strength / size, 0.0) / bend if size > 0.0 else 0.0
    for i in range(new.size):
        new[i] *= keep


@jit(fast=True)
def sweep_group_matrix(H, w, a, groups):
    """One pass over the groups, on the model  <a, v> + v'Hv / 2  + the penalty of w + v. Updates w and a.

    Returns the largest change of a group's derivatives by its own step, in length.
    """
    order, edges, strength, l2 = groups
    worst = 0.0
    for g in range(strength.size):
        some = order[edges[g] : edges[g + 1]]
        k = some.size
        square = 0.0
        for i in some:
            for j in some:
                square += H[i, j] * H[i, j]
        bend = np.sqrt(square)  # no direction bends more
        if bend + l2 <= 0.0:
            continue
        start, own, new = w[some], a[some], np.empty(k)
        for _ in range(INNER if k > 1 else 1):
            for c in range(k):
                new[c] = bend * w[some[c]] - own[c]
            _shrunk(new, strength[g], bend + l2)
            moved = 0.0
            for c in range(k):
                step = new[c] - w[some[c]]
                moved = max(moved, abs(step))
                if step != 0.0:
                    w[some[c]] = new[c]
                    for i in range(k):
                        own[i] += step * H[some[c], some[i]]
            if moved == 0.0:
                break
        length = 0.0
        for c in range(k):
            step = w[some[c]] - start[c]
            if step != 0.0:
                length += step * step
                row = H[some[c]]
                for i in range(a.size):
                    a[i] += step * row[i]
        worst = max(worst, np.sqrt(length) * (bend + l2))
    return worst


@jit(fast=True)
def sweep_groups(columns, chosen, model, groups, w, shift):
    """The same by products with the columns; see `compiled.columns.sweep`. Updates w and r."""
    data, rows, starts = columns
    h, m, r, D, per_total = model
    order, edges, strength, l2 = groups
    worst = 0.0
    for g in range(strength.size):
        some = order[edges[g] : edges[g + 1]]
        new, bend = np.empty(some.size), 0.0
        for c in some:
            bend += h[c]  # the sum of all bends is no less than any
        if bend + l2 <= 0.0:
            continue
        for i in range(some.size):
            c = some[i]
            g_c = column_dot(data, rows, starts[chosen[c]], starts[chosen[c] + 1], r) + shift * m[c]
            new[i] = bend * w[c] - g_c
        _shrunk(new, strength[g], bend + l2)
        length = 0.0
        for i in range(some.size):
            c = some[i]
            step = new[i] - w[c]
            if step == 0.0:
                continue
            w[c] = new[i]
            length += step * step
            shift -= step * m[c] * per_total
            start, stop = starts[chosen[c]], starts[chosen[c] + 1]
            for k in range(start, stop):
                i_row = k - start if rows.size == 0 else rows[k]
                r[i_row] += step * D[i_row] * data[k]
        worst = max(worst, np.sqrt(length) * (bend + l2))
    return worst, shift
