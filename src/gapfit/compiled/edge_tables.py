"""Tables for the edges of a tree that are to agree on its nodes, as functions of multipliers.

Edges lead away from a leaf, the root; edge e comes after the edge above[e] that leads to where it begins, and
rows of a table belong to where its edge begins. The first edge is the only one at the root; in a chain every
edge follows the one before.

    minimise 1/2 sum_e d_e sum_ij (a_e(i, j) - m_e(i, j))^2   over a >= 0 with
        sum_ij a_0(i, j) = 1   and   sum_k a_above(k, i) = sum_j a_e(i, j)   for all i and e > 0

With a multiplier x for the first equation, q_e(i) for the others, and s_e the sum of the q of the edges that
follow e, a_e(i, j) = max(0, m_e(i, j) + (s_e(j) - q_e(i) + [e = 0] x) / d_e), and what is minimised over
(x, q) without constraints is convex, made of parabolas:

    1/2 sum_e d_e sum_ij a_e(i, j)^2 - x.

Newton's method with a line search ends after finitely many steps.
"""

import numpy as np

from gapfit.compiled._jit import jit

STEPS = 200
SHRINKS = 60


@jit(inner=True)
def tables(m, d, above, q, x, a):
    """Write a from the multipliers; returns the value that is minimised."""
    T, K = m.shape[0], m.shape[1]
    s = np.zeros((T, K))
    for e in range(1, T):
        for j in range(K):
            s[above[e], j] += q[e, j]
    value = -x
    for e in range(T):
        shift = x if e == 0 else 0.0
        part = 0.0
        for i in range(K):
            for j in range(K):
                free = max(m[e, i, j] + (s[e, j] - q[e, i] + shift) / d[e], 0.0)
                a[e, i, j] = free
                part += free * free
        value += 0.5 * d[e] * part
    return value


@jit(inner=True)
def slopes(a, above, g):
    """Write the derivatives in q to g (rows from 1); returns that in x, and the largest of all."""
    T, K = a.shape[0], a.shape[1]
    total = a[0].sum() - 1.0
    largest = abs(total)
    for e in range(1, T):
        for i in range(K):
            g[e, i] = a[above[e], :, i].sum() - a[e, i].sum()
            largest = max(largest, abs(g[e, i]))
    return total, largest


@jit(inner=True)
def first_shift(m, d):
    """The x with which the first table adds up to one if none of its entries is zero."""
    return d[0] * (1.0 - m[0].sum()) / (m.shape[1] * m.shape[2])


@jit(inner=True)
def scale_of(m):
    """The largest entry, in absolute value, or one."""
    scale = 1.0
    for t in range(m.shape[0]):
        for i in range(m.shape[1]):
            for j in range(m.shape[2]):
                scale = max(scale, abs(m[t, i, j]))
    return scale


@jit(inner=True)
def slope_along(slope, g, dx, dq):
    """How fast what is minimised changes along a step."""
    along = slope * dx
    for e in range(1, dq.shape[0]):
        for i in range(dq.shape[1]):
            along += g[e, i] * dq[e, i]
    return along


@jit(inner=True)
def consistent(a, above):
    """Make the tables exactly consistent: what the first says of its node, then each given its node."""
    T, K = a.shape[0], a.shape[1]
    a[0] /= a[0].sum()
    for e in range(1, T):
        for i in range(K):
            mass, row = a[above[e], :, i].sum(), a[e, i].sum()
            for j in range(K):
                a[e, i, j] = mass * (a[e, i, j] / row if row > 0.0 else 1.0 / K)
