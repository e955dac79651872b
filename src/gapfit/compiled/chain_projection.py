"""The nearest marginals of a chain: locally consistent tables for the edges, one after another.

They are those of a tree (see `edge_tables`), but the matrix of Newton's method is a chain of blocks itself.
"""

import numpy as np

from gapfit.compiled import edge_tables
from gapfit.compiled._jit import jit


@jit
def _factorise(H):
    """Replace the lower triangle of a positive definite H by its Cholesky factor."""
    size = H.shape[0]
    for j in range(size):
        for k in range(j):
            for i in range(j, size):
                H[i, j] -= H[i, k] * H[j, k]
        pivot = np.sqrt(max(H[j, j], 1e-300))
        for i in range(j, size):
            H[i, j] /= pivot


@jit
def _forwards(F, x):
    """Replace x by F^-1 x, F lower triangular."""
    for j in range(x.size):
        x[j] /= F[j, j]
        for i in range(j + 1, x.size):
            x[i] -= F[i, j] * x[j]


@jit
def _backwards(F, x):
    """Replace x by F'^-1 x."""
    for j in range(x.size - 1, -1, -1):
        for i in range(j + 1, x.size):
            x[j] -= F[i, j] * x[i]
        x[j] /= F[j, j]


@jit
def _newton_step(a, d, g, slope, little, dq):
    """Write the Newton step in q to dq; returns that in x. `little` keeps the matrix definite.

    The blocks are (x, q_1), q_2, q_3, ...; the first unknown of the later ones stands idle. Each is
    eliminated in turn: F its Cholesky factor, and B = F^-1 times its coupling with the next one.
    """
    T, K = a.shape[0], a.shape[1]
    blocks, size = max(T - 1, 1), K + 1
    F, B = np.zeros((blocks, size, size)), np.zeros((blocks, size, size))  # B by columns: B[t, column]
    r = np.zeros((blocks, size))
    for t in range(blocks):
        H = F[t]
        H[0, 0] = little if t == 0 else 1.0
        for j in range(K):
            H[j + 1, j + 1] += little
            for i in range(K):
                active = (1.0 if a[t, i, j] > 0.0 else 0.0) / d[t]
                if t == 0:
                    H[0, 0] += active
                    H[j + 1, 0] += active
                H[j + 1, j + 1] += active
                if t + 1 < T:
                    active = (1.0 if a[t + 1, j, i] > 0.0 else 0.0) / d[t + 1]
                    H[j + 1, j + 1] += active
                    B[t, i + 1, j + 1] = -active
            r[t, j + 1] = -g[t + 1, j] if t + 1 < T else 0.0
        if T == 1:  # no node in between: x alone
            for j in range(K):
                H[j + 1, 0] = 0.0
        if t == 0:
            r[0, 0] = -slope
        else:
            before = B[t - 1]
            for i in range(size):
                for j in range(i + 1):
                    H[i, j] -= (before[i] * before[j]).sum()
                r[t, i] -= (before[i] * r[t - 1]).sum()
        _factorise(H)
        _forwards(H, r[t])
        for column in range(1, size):
            _forwards(H, B[t, column])
    for t in range(blocks - 1, -1, -1):
        if t + 1 < blocks:
            for column in range(1, size):
                r[t] -= B[t, column] * r[t + 1, column]
        _backwards(F[t], r[t])
        if T > 1:
            dq[t + 1] = r[t, 1:]
    return r[0, 0]


@jit(inner=True)
def project_chain(m, d, q, rounding, a):
    """Write the nearest consistent tables to a. q, zero or a guess with rows 0 and T zero, is updated."""
    T, K = m.shape[0], m.shape[1]
    g, dq = np.zeros((T + 1, K)), np.zeros((T + 1, K))
    above = np.arange(-1, T - 1)
    x = edge_tables.first_shift(m, d)
    value = edge_tables.tables(m, d, above, q, x, a)
    scale = edge_tables.scale_of(m)
    slope, largest = edge_tables.slopes(a, above, g)
    trial = np.empty_like(a)
    for _ in range(edge_tables.STEPS):
        if largest <= rounding * scale:
            break
        little = 1e-12 / d.max() + 1e-3 * min(largest, 1.0) / d.max()
        dx = _newton_step(a, d, g, slope, little, dq)
        along = edge_tables.slope_along(slope, g, dx, dq[:T])
        size, found = 1.0, False
        for _ in range(edge_tables.SHRINKS):
            there = edge_tables.tables(m, d, above, q + size * dq, x + size * dx, trial)
            if there <= value + 1e-4 * size * along:
                found = True
                break
            size *= 0.5
        if not found:
            break  # what is left is rounding
        for t in range(1, T):
            for j in range(K):
                q[t, j] += size * dq[t, j]
        x += size * dx
        value = there
        a[:] = trial
        slope, largest = edge_tables.slopes(a, above, g)
    edge_tables.consistent(a, above)


@jit
def project_chains(m, d, first, start, stop, q, rounding, a):
    """The chains `start` to `stop`; chain c has the tables first[c] to first[c + 1]."""
    for c in range(start, stop):
        lo, hi = first[c], first[c + 1]
        if hi > lo:
            project_chain(m[lo:hi], d[lo:hi], q[lo + c : hi + c + 1], rounding, a[lo:hi])
