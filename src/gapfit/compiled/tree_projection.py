"""The nearest marginals of a tree: locally consistent tables for its edges (see `edge_tables`).

The equations of Newton's method are solved from the leaves to the root. What lies below an edge is a parabola
of its q, 1/2 q'S q - r'q; several that meet at a node are, for a given sum of their q, a parabola of that
sum, with the matrix (sum of S^-1)^-1.
"""

import numpy as np

from gapfit.compiled import edge_tables
from gapfit.compiled._jit import jit


@jit
def _invert(S):
    """Replace a positive definite matrix by its inverse."""
    size = S.shape[0]
    for k in range(size):
        pivot = 1.0 / max(S[k, k], 1e-300)
        S[k, k] = 1.0
        for j in range(size):
            S[k, j] *= pivot
        for i in range(size):
            if i != k:
                factor = S[i, k]
                S[i, k] = 0.0
                for j in range(size):
                    S[i, j] -= factor * S[k, j]


@jit
def _add_product(A, x, total):
    """total += A x."""
    for i in range(A.shape[0]):
        part = 0.0
        for j in range(A.shape[1]):
            part += A[i, j] * x[j]
        total[i] += part


@jit
def _newton_step(a, d, above, g, slope, little, dq):
    """Write the Newton step in q to dq; returns that in x. `little` keeps the matrix definite."""
    T, K = a.shape[0], a.shape[1]
    active, turned = np.zeros((T, K, K)), np.zeros((T, K, K))  # 1/d where a > 0, and the same transposed
    rows, columns = np.zeros((T, K)), np.zeros((T, K))  # their sums
    for e in range(T):
        for i in range(K):
            for j in range(K):
                if a[e, i, j] > 0.0:
                    active[e, i, j] = turned[e, j, i] = 1.0 / d[e]
                    rows[e, i] += 1.0 / d[e]
                    columns[e, j] += 1.0 / d[e]
    own, goal = np.zeros((T, K, K)), np.zeros((T, K))  # S^-1 and S^-1 r of each edge
    stiff, goals = np.zeros((T, K, K)), np.zeros((T, K))  # of those that follow: (sum S^-1)^-1, sum S^-1 r
    inner, pull = np.zeros((T, K, K)), np.zeros((T, K))  # s_e = inner (turned q_e + pull)
    follows = np.zeros(T, np.bool_)
    ds, r, between = np.zeros(K), np.zeros(K), np.zeros(K)
    dx = 0.0
    for e in range(T - 1, -1, -1):
        if follows[e]:
            _invert(stiff[e])
            _add_product(stiff[e], goals[e], pull[e])
            for i in range(K):
                for j in range(K):
                    inner[e, i, j] = stiff[e, i, j]
                inner[e, i, i] += columns[e, i]
            _invert(inner[e])
        ds[:] = 0.0
        _add_product(inner[e], pull[e], ds)
        if e > 0:
            for i in range(K):
                r[i] = -g[e, i]
                between[:] = 0.0
                _add_product(inner[e], active[e, i], between)
                own[e, i] = 0.0
                _add_product(active[e], between, own[e, i])
                for j in range(K):
                    own[e, i, j] = -own[e, i, j]
                own[e, i, i] += rows[e, i] + little
            _add_product(active[e], ds, r)
            _invert(own[e])
            _add_product(own[e], r, goal[e])
            for i in range(K):
                goals[above[e], i] += goal[e, i]
                for j in range(K):
                    stiff[above[e], i, j] += own[e, i, j]
            follows[above[e]] = True
    # at the root, x takes the place of -q for all labels at once
    bend, pushed = little, -slope
    r[:] = 0.0
    _add_product(inner[0], columns[0], r)
    for j in range(K):
        bend += columns[0, j] * (1.0 - r[j])
        pushed -= columns[0, j] * ds[j]
    dx = pushed / max(bend, 1e-300)
    force = np.zeros((T, K))  # with which a node holds the edges that begin there to their sum
    for e in range(T):
        if e > 0:
            for i in range(K):
                dq[e, i] = goal[e, i]
            _add_product(own[e], force[above[e]], dq[e])
            r[:] = pull[e]
            _add_product(turned[e], dq[e], r)
        else:
            for j in range(K):
                r[j] = pull[0, j] - dx * columns[0, j]
        ds[:] = 0.0
        _add_product(inner[e], r, ds)
        for j in range(K):
            ds[j] -= goals[e, j]
        _add_product(stiff[e], ds, force[e])
    return dx


@jit
def project_tree(m, d, above, rounding, a):
    """Write the nearest consistent tables to a."""
    T, K = m.shape[0], m.shape[1]
    q, g, dq, moved = np.zeros((T, K)), np.zeros((T, K)), np.zeros((T, K)), np.zeros((T, K))
    x = edge_tables.first_shift(m, d)
    value = edge_tables.tables(m, d, above, q, x, a)
    scale, heaviest = edge_tables.scale_of(m), d.max()
    slope, largest = edge_tables.slopes(a, above, g)
    for _ in range(edge_tables.STEPS):
        if largest <= rounding * scale:
            break
        little = (1e-12 + 1e-3 * min(largest, 1.0)) / heaviest
        dx = _newton_step(a, d, above, g, slope, little, dq)
        along = edge_tables.slope_along(slope, g, dx, dq)
        size, found = 1.0, False
        for _ in range(edge_tables.SHRINKS):
            for e in range(1, T):
                for i in range(K):
                    moved[e, i] = q[e, i] + size * dq[e, i]
            there = edge_tables.tables(m, d, above, moved, x + size * dx, a)
            if there <= value + 1e-4 * size * along:
                found = True
                break
            size *= 0.5
        if not found:
            edge_tables.tables(m, d, above, q, x, a)
            break  # what is left is rounding
        q, moved = moved, q
        x += size * dx
        value = there
        slope, largest = edge_tables.slopes(a, above, g)
    edge_tables.consistent(a, above)
