"""Proximal steps on a product of simplices, and how they follow offsets of the classes.

Sample i has shares a_i >= 0 of K classes that add up to one, and

    phi_i(f) = max over a_i of  <a_i, cost_i + f>;

a proximal step of length `step` from a centre adds -|a_i - centre_i|^2 / (2 step) to what is maximised.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit

ROWS = 64
EPS = 2.0**-52


class Line(NamedTuple):
    """Scores F + t * along, for steps from a centre."""

    centre: Any
    F: Any
    along: Any


@jit(fast=True, reorder=True)
def look(simplices, line, t, step, b, start, stop, A):
    """Write the proximal steps at the scores F + t * along + b to A.

    Returns the weight of each class in A; its derivatives in the offsets, which are

    step * sum_i p_i (diag(s) - s s' / sum s),   s = 1 where a_i > 0;

    its derivative in t; and <A, along> - <truth, along>, weighted.
    """
    p, truth, costs, row, _ = simplices
    centre, F, along = line
    K = A.shape[1]
    mass, slopes, cross = np.zeros(K), np.zeros((K, K)), np.zeros(K)
    work = 0.0
    # some samples at a time, a class after another, so that the compiler can take several at once
    W, D, S = np.empty((K, ROWS)), np.empty((K, ROWS)), np.empty((K, ROWS))
    top, level, total, above = np.empty(ROWS), np.empty(ROWS), np.empty(ROWS), np.empty(ROWS)
    weight, share, mean = np.empty(ROWS), np.empty(ROWS), np.empty(ROWS)
    for first in range(start, stop, ROWS):
        m = min(ROWS, stop - first)
        for r in range(m):
            i = first + r
            cost, c, f, d = costs[row[i]], centre[i], F[i], along[i]
            for k in range(K):
                W[k, r], D[k, r] = c[k] + step * (f[k] + t * d[k] + b[k] + cost[k]), d[k]
            weight[r] = p[i]
            work -= p[i] * d[truth[i]]
        _project(W, top, level, total, above, m)
        for r in range(m):
            total[r] = above[r] = mean[r] = 0.0
        for k in range(K):
            w, s, d = W[k], S[k], D[k]
            for r in range(m):
                w[r] = max(w[r] - level[r], 0.0)
                s[r] = 1.0 if w[r] > 0.0 else 0.0
                total[r] += w[r]
            for r in range(m):
                above[r] += s[r]
                mean[r] += s[r] * d[r]
        for r in range(m):
            mean[r] = np.divide(mean[r], above[r])
            share[r] = np.divide(step * weight[r], above[r])
            total[r] = np.divide(1.0, total[r])
        for k in range(K):
            w, s, d = W[k], S[k], D[k]
            for r in range(m):
                w[r] *= total[r]
            weighed = moved = pulled = own = 0.0
            for r in range(m):
                weighed += weight[r] * w[r]
                moved += weight[r] * w[r] * d[r]
            for r in range(m):
                own += weight[r] * s[r]
                pulled += weight[r] * s[r] * (d[r] - mean[r])
            mass[k] += weighed
            work += moved
            slopes[k, k] += step * own
            cross[k] += step * pulled
            for j in range(k + 1):
                other, both = S[j], 0.0
                for r in range(m):
                    both += share[r] * s[r] * other[r]
                slopes[k, j] -= both
        for r in range(m):
            a = A[first + r]
            for k in range(K):
                a[k] = W[k, r]
    for k in range(K):
        for j in range(k):
            slopes[j, k] = slopes[k, j]
    return mass, slopes, cross, work


@jit(fast=True)
def _project(W, top, level, total, above, m):
    """Write the level for which max(w - level, 0) adds up to one, for each of m columns of W.

    From the entries above a level that is too low the next one follows, which drops some.
    """
    K = W.shape[0]
    for r in range(m):
        top[r] = W[0, r]
    for k in range(1, K):
        w = W[k]
        for r in range(m):
            top[r] = max(top[r], w[r])
    for r in range(m):
        level[r] = top[r] - max(1.0, EPS * abs(top[r]))  # among very large numbers, one less is the same
    for _ in range(K):
        for r in range(m):
            total[r] = -1.0
            above[r] = 0.0
        for k in range(K):
            w = W[k]
            for r in range(m):
                on = 1.0 if w[r] > level[r] else 0.0
                above[r] += on
                total[r] += on * (w[r] - top[r])
        rises = 0.0
        for r in range(m):
            below = top[r] - EPS * abs(top[r])
            total[r] = max(level[r], min(top[r] + np.divide(total[r], above[r]), below))
        for r in range(m):
            rises = max(rises, total[r] - level[r])
        for r in range(m):
            level[r] = total[r]
        if rises == 0.0:
            break


@jit(fast=True)
def nudge(p, A, shift, start, stop):
    """Move the shares that are not zero as a small shift of the offsets would.

    Returns how the weights of the classes change.
    """
    K = A.shape[1]
    change, before = np.zeros(K), np.empty(K)
    for i in range(start, stop):
        a = A[i]
        count = 0
        for k in range(K):
            count += a[k] > 0.0
        if count > 1:
            mean = total = 0.0
            for k in range(K):
                before[k] = a[k]
                mean += shift[k] if a[k] > 0.0 else 0.0
            mean /= count
            for k in range(K):
                a[k] = max(a[k] + shift[k] - mean, 0.0) if a[k] > 0.0 else 0.0
                total += a[k]
            for k in range(K):
                a[k] /= total
                change[k] += p[i] * (a[k] - before[k])
    return change


@jit
def slope(p, truth, A, start, stop, u):
    """Write p_i (a_i - truth_i) to u, row by row."""
    K = A.shape[1]
    for i in range(start, stop):
        line, a = u[i * K : (i + 1) * K], A[i]
        for k in range(K):
            line[k] = p[i] * a[k]
        line[truth[i]] = p[i] * (a[truth[i]] - 1.0)


@jit
def values(simplices, F, b, A, start, stop):
    """The sum of p_i phi_i(F + b) minus the scores of the truth, and of the conjugates at A."""
    p, truth, costs, row, _ = simplices
    K = A.shape[1]
    loss = conjugate = 0.0
    for i in range(start, stop):
        cost = costs[row[i]]
        best, gain = -np.inf, 0.0
        for k in range(K):
            best = max(best, F[i, k] + b[k] + cost[k])
            gain += A[i, k] * cost[k]
        loss += p[i] * (best - F[i, truth[i]] - b[truth[i]])
        conjugate -= p[i] * gain
    return loss, conjugate


@jit
def distance(p, A, other, start, stop):
    """sum of p_i |a_i - other_i|^2."""
    total = 0.0
    for i in range(start, stop):
        part = 0.0
        for k in range(A.shape[1]):
            part += (A[i, k] - other[i, k]) ** 2
        total += p[i] * part
    return total
