"""Sums over all labellings of samples of two classes, weighted by how many of each are labelled positive.

Labelling sample i positive adds theta_i to the exponent, and a labelling with t positives and p negatives
among those labelled positive adds height[t, p] (-inf: it is not allowed). With F[i, t] the logarithm of the
sum over all labellings of the first i samples of a class that label t of them positive,

    F[i + 1, t] = log(exp F[i, t] + exp(theta_i + F[i, t - 1])),

and the same from the other end. All in logarithms, O(n^2).
"""

import numpy as np

from gapfit.compiled._jit import jit


@jit
def _log_sum(x):
    """log(sum of exp x)."""
    top = -np.inf
    for k in range(x.size):
        top = max(top, x[k])
    if top == -np.inf:
        return top
    total = 0.0
    for k in range(x.size):
        total += np.exp(x[k] - top)
    return top + np.log(total)


@jit
def _forwards(theta):
    n = theta.size
    F = np.full((n + 1, n + 1), -np.inf)
    F[0, 0] = 0.0
    for i in range(n):
        F[i + 1, 0] = F[i, 0]
        for t in range(1, i + 2):
            F[i + 1, t] = np.logaddexp(F[i, t], theta[i] + F[i, t - 1])
    return F


@jit
def log_counts(theta):
    """The logarithm of the sum over all labellings that label t samples positive, for every t."""
    return _forwards(theta)[theta.size].copy()


@jit
def _backwards(theta, F, ends, log_z, shares):
    """Write the probability that each sample is labelled positive; ``ends`` is what follows all of them."""
    n = theta.size
    B = ends.copy()
    terms = np.empty(n + 1)
    for i in range(n - 1, -1, -1):
        for t in range(i + 1):
            terms[t] = F[i, t] + theta[i] + B[t + 1]
        shares[i] = min(max(np.exp(_log_sum(terms[: i + 1]) - log_z), 0.0), 1.0)
        for t in range(i + 1):
            B[t] = np.logaddexp(B[t], theta[i] + B[t + 1])


@jit
def marginals(positive, negative, height, tables, shares_p, shares_n):
    """Write the shares of each class and the probabilities of all tables; returns the logarithm of the sum.

    ``positive`` and ``negative`` are the theta of the two classes.
    """
    P, N = positive.size, negative.size
    F_p, F_n = _forwards(positive), _forwards(negative)
    rows, columns = np.empty(P + 1), np.empty(N + 1)
    terms = np.empty(max(P, N) + 1)
    for t in range(P + 1):
        for p in range(N + 1):
            terms[p] = height[t, p] + F_n[N, p]
        rows[t] = _log_sum(terms[: N + 1])
    for p in range(N + 1):
        for t in range(P + 1):
            terms[t] = height[t, p] + F_p[P, t]
        columns[p] = _log_sum(terms[: P + 1])
    log_z = _log_sum(rows + F_p[P])
    for t in range(P + 1):
        for p in range(N + 1):
            tables[t, p] = np.exp(height[t, p] + F_p[P, t] + F_n[N, p] - log_z)
    _backwards(positive, F_p, rows, log_z, shares_p)
    _backwards(negative, F_n, columns, log_z, shares_n)
    return log_z
