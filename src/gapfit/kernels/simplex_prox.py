"""Proximal steps on a product of simplices, and how they follow offsets of the classes.

Sample i has shares a_i >= 0 of K classes that add up to one, and

    phi_i(f) = max over a_i of  <a_i, cost_i + f>;

a proximal step of length `step` from a centre adds -|a_i - centre_i|^2 / (2 step) to what is maximised.
"""

import numpy as np

from gapfit.kernels._jit import jit


@jit
def respond(costs, row, centre, F, step, b, start, stop, A):
    """Write the proximal steps at the scores F + b to A."""
    K = A.shape[1]
    for i in range(start, stop):
        cost, a = costs[row[i]], A[i]
        top = -np.inf
        for k in range(K):
            a[k] = centre[i, k] + step * (F[i, k] + b[k] + cost[k])
            top = max(top, a[k])
        # max(a - t, 0) adds up to one; from the entries above t the next t follows, which drops some
        t, count = top - 1.0, 0
        while True:
            total, above = 0.0, 0
            for k in range(K):
                if a[k] > t:
                    total += a[k] - top
                    above += 1
            if above == count:
                break
            count = above
            t = max(t, top + (total - 1.0) / above)
        total = 0.0
        for k in range(K):
            a[k] = max(a[k] - t, 0.0)
            total += a[k]
        for k in range(K):
            a[k] /= total


@jit
def masses(p, A, step, start, stop):
    """The weight of each class in A, and its derivatives in the offsets, which are

    step * sum_i p_i (diag(s) - s s' / sum s),   s = 1 where a_i > 0.
    """
    K = A.shape[1]
    mass, slopes = np.zeros(K), np.zeros((K, K))
    for i in range(start, stop):
        count = 0
        for k in range(K):
            mass[k] += p[i] * A[i, k]
            count += 1 if A[i, k] > 0.0 else 0
        if count > 1:
            weight = step * p[i]
            for k in range(K):
                if A[i, k] > 0.0:
                    slopes[k, k] += weight
                    for j in range(K):
                        if A[i, j] > 0.0:
                            slopes[k, j] -= weight / count
    return mass, slopes


@jit
def values(p, truth, costs, row, F, b, A, start, stop):
    """The sum of p_i phi_i(F + b) minus the scores of the truth, and of the conjugates at A."""
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
