"""Sums over all labellings of a chain: log-partition functions and marginals.

A chain of tokens gives the labelling y the score

    sum_t s[t, y_t] + sum_{t > 0} (the matrix of token t)[y_{t-1}, y_t].

Probabilities are kept in [0, 1] and scaled at each token. Where underflow may have lost a label that matters,
the chain is done once more by conditional probabilities, relative to the best labelling. Labels are the inner
loops, over contiguous memory.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.chain_labels import add_products, exp, row_max, row_sum, times, transposed_exp

FAINT = 1e-290  # a probability below this may have lost its digits, or itself
_DEBT = 460.0  # logarithm of how far the labels that are left may fall before one that was lost could matter
_NOTHING = -45.0  # logarithm of a probability that is lost beside one
_CLOSE = 1e-9  # to one, for the sum of the marginals at a token


class Edges(NamedTuple):
    """Transitions. The matrix of token t of a chain that begins at token ``first`` is
    matrices[(first + t) * stride]."""

    matrices: Any
    stride: int  # 0: one matrix for all tokens, 1: one for each
    forth: Any  # exp(matrix - shift); with stride 1, room for it
    back: Any  # its transpose
    shift: float


class Notes(NamedTuple):
    """Room to work in: two numbers for each token and label, and one for each pair of labels."""

    a: Any
    z: Any
    turned: Any


@jit(inner=True)
def notes(tokens, K):
    """Room for chains of so many tokens, and K labels."""
    return Notes(np.empty((tokens, K)), np.empty((tokens, K)), np.empty((K, K)))


@jit
def _scaled(s, L, edges, first, notes, p, pairs):
    """Forward and backward over scores s (start and end included), in scaled probabilities.

    Writes the node marginals p and adds the edge marginals to ``pairs``: with stride 0 without their factor
    ``forth``, which is common to all tokens. Returns the log-partition function, and whether to trust it.
    """
    matrices, stride, forth, back, edge_shift = edges
    a, z, _ = notes
    K = s.shape[1]
    log_z = debt = 0.0
    for t in range(L):
        shift = row_max(s, t)
        if not np.isfinite(shift):
            return shift, False
        log_z += shift
        for k in range(K):
            z[t, k] = s[t, k] - shift
    exp(z.reshape(-1), L * K, p.reshape(-1))
    for t in range(L):
        if t == 0:
            for k in range(K):
                a[0, k] = z[0, k]
        else:
            if stride:
                edge_shift = transposed_exp(matrices, first + t, back, forth)
            times(a, t - 1, forth, a, t)
            for k in range(K):
                a[t, k] *= z[t, k]
            log_z += edge_shift
        scale = row_sum(a, t)
        if not scale > FAINT:
            return log_z, False
        inverse = 1.0 / scale
        faint = 0
        for k in range(K):
            a[t, k] *= inverse
            z[t, k] *= inverse
            faint += a[t, k] <= FAINT
        # a lost label can gain on the others no more than they lose to the largest terms at each token
        debt = 0.0 if faint == 0 else debt - np.log(scale)
        if debt > _DEBT:
            return log_z, False
        log_z += np.log(scale)
    for k in range(K):
        p[L - 1, k] = a[L - 1, k]
    for t in range(L - 1, 0, -1):
        # z becomes what token t and all after it make of each of its labels
        if stride:
            transposed_exp(matrices, first + t, back, forth)
        times(z, t, back, p, t - 1)
        if stride:
            for i in range(K):
                for j in range(K):
                    pairs[t, i, j] += a[t - 1, i] * forth[i, j] * z[t, j]
        for i in range(K):
            z[t - 1, i] *= p[t - 1, i]
            p[t - 1, i] *= a[t - 1, i]
        total = row_sum(p, t - 1)
        if not abs(total - 1.0) < _CLOSE:  # on the way back something became infinite
            return log_z, False
    if not stride:
        add_products(a, z, L, pairs)
    return log_z, True


@jit
def _by_conditionals(s, L, edges, first, notes, p, pairs):
    """The same for scores of any size, by the conditional probability of each label given the one before.

    a[t, i] is the score of the best way on from label i at token t, and z[t, i] the sum of all ways on,
    relative to it: between one and a power of K. Nothing overflows, and what underflows is not needed.
    """
    matrices, stride = edges.matrices, edges.stride
    a, z, back = notes
    K = s.shape[1]
    for k in range(K):
        a[L - 1, k] = s[L - 1, k]
        z[L - 1, k] = 1.0
    for t in range(L - 1, 0, -1):
        matrix = matrices[(first + t) * stride]
        if stride or t == L - 1:
            for i in range(K):
                for j in range(K):
                    back[j, i] = matrix[i, j]
        for i in range(K):
            a[t - 1, i] = -np.inf
        for j in range(K):
            for i in range(K):
                a[t - 1, i] = max(a[t - 1, i], back[j, i] + a[t, j])
        for i in range(K):
            total = 0.0
            for j in range(K):
                below = matrix[i, j] + a[t, j] - a[t - 1, i]
                if below > _NOTHING:
                    total += np.exp(below) * z[t, j]
            z[t - 1, i] = total
            a[t - 1, i] += s[t - 1, i]
    best = a[0].max()
    total = 0.0
    for k in range(K):
        p[0, k] = np.exp(a[0, k] - best) * z[0, k]
        total += p[0, k]
    log_z = best + np.log(total)
    for k in range(K):
        p[0, k] /= total
    ways = np.empty(K)
    for t in range(1, L):
        matrix = matrices[(first + t) * stride]
        for k in range(K):
            p[t, k] = 0.0
        for i in range(K):
            if p[t - 1, i] > 0.0:
                onward = a[t - 1, i] - s[t - 1, i]
                total = 0.0
                for j in range(K):
                    below = matrix[i, j] + a[t, j] - onward
                    ways[j] = np.exp(below) * z[t, j] if below > _NOTHING else 0.0
                    total += ways[j]
                share = p[t - 1, i] / total
                for j in range(K):
                    pairs[t * stride, i, j] += share * ways[j]
                    p[t, j] += share * ways[j]
    return log_z


@jit
def _clear(pairs, stride, L):
    for t in range(L if stride else 1):
        for i in range(pairs.shape[1]):
            for j in range(pairs.shape[2]):
                pairs[t, i, j] = 0.0


@jit(inner=True)
def sum_product(s, L, edges, first, notes, p, pairs):
    """The log-partition function for the scores s of L tokens.

    Writes node marginals to p and edge marginals (summed, if the stride is 0) to ``pairs``.
    """
    _clear(pairs, edges.stride, L)
    log_z, trusted = _scaled(s, L, edges, first, notes, p, pairs)
    if trusted:
        if not edges.stride:
            for i in range(s.shape[1]):
                for j in range(s.shape[1]):
                    pairs[0, i, j] *= edges.forth[i, j]
        return log_z
    _clear(pairs, edges.stride, L)
    return _by_conditionals(s, L, edges, first, notes, p, pairs)
