"""The nearest marginals of a chain: locally consistent tables for the edges, one after another.

    minimise 1/2 sum_t d_t sum_ij (a_t(i, j) - m_t(i, j))^2   over a >= 0 with
        sum_ij a_1(i, j) = 1   and   sum_i a_t(i, j) = sum_k a_{t+1}(j, k)   for all j and t

(the other tables then add up to one as well). With a multiplier x for the first equation and q_t(j) for the
others, a_t(i, j) = max(0, m_t(i, j) + (q_t(j) - q_{t-1}(i) + [t = 1] x) / d_t), and what is minimised over
(x, q) without constraints is convex, made of parabolas:

    1/2 sum_t d_t sum_ij a_t(i, j)^2 - x.

Newton's method with a line search ends after finitely many steps. Its matrix is a chain of blocks itself.
"""

import numpy as np

from gapfit.kernels._jit import jit

_STEPS = 200
_SHRINKS = 60


@jit
def _tables(m, d, q, x, a):
    """Write a from the multipliers; returns the value that is minimised. q has zero rows at both ends."""
    T, K = m.shape[0], m.shape[1]
    value = -x
    for t in range(T):
        shift = x if t == 0 else 0.0
        part = 0.0
        for i in range(K):
            for j in range(K):
                free = max(m[t, i, j] + (q[t + 1, j] - q[t, i] + shift) / d[t], 0.0)
                a[t, i, j] = free
                part += free * free
        value += 0.5 * d[t] * part
    return value


@jit
def _slopes(a, g):
    """Write the derivatives in q to g (rows 1 to T - 1); returns that in x, and the largest of all."""
    T, K = a.shape[0], a.shape[1]
    total = a[0].sum() - 1.0
    largest = abs(total)
    for t in range(T - 1):
        for j in range(K):
            g[t + 1, j] = a[t, :, j].sum() - a[t + 1, j].sum()
            largest = max(largest, abs(g[t + 1, j]))
    return total, largest


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


@jit
def _consistent(a):
    """Make the tables exactly consistent: what the first says of its node, then each given its node."""
    T, K = a.shape[0], a.shape[1]
    a[0] /= a[0].sum()
    for t in range(1, T):
        for i in range(K):
            mass, row = a[t - 1, :, i].sum(), a[t, i].sum()
            for j in range(K):
                a[t, i, j] = mass * (a[t, i, j] / row if row > 0.0 else 1.0 / K)


@jit
def project_chain(m, d, q, rounding, a):
    """Write the nearest consistent tables to a. q, zero or a guess with rows 0 and T zero, is updated."""
    T, K = m.shape[0], m.shape[1]
    g, dq = np.zeros((T + 1, K)), np.zeros((T + 1, K))
    # the x with which the first table adds up to one if none of its entries is zero
    x = d[0] * (1.0 - m[0].sum()) / (K * K)
    value = _tables(m, d, q, x, a)
    scale = 1.0
    for t in range(T):
        for i in range(K):
            for j in range(K):
                scale = max(scale, abs(m[t, i, j]))
    slope, largest = _slopes(a, g)
    trial = np.empty_like(a)
    for _ in range(_STEPS):
        if largest <= rounding * scale:
            break
        little = 1e-12 / d.max() + 1e-3 * min(largest, 1.0) / d.max()
        dx = _newton_step(a, d, g, slope, little, dq)
        along = slope * dx
        for t in range(1, T):
            for j in range(K):
                along += g[t, j] * dq[t, j]
        size, found = 1.0, False
        for _ in range(_SHRINKS):
            there = _tables(m, d, q + size * dq, x + size * dx, trial)
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
        slope, largest = _slopes(a, g)
    _consistent(a)


@jit
def project_chains(m, d, first, start, stop, q, rounding, a):
    """The chains `start` to `stop`; chain c has the tables first[c] to first[c + 1]."""
    for c in range(start, stop):
        lo, hi = first[c], first[c + 1]
        if hi > lo:
            project_chain(m[lo:hi], d[lo:hi], q[lo + c : hi + c + 1], rounding, a[lo:hi])
