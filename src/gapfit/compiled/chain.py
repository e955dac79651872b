"""Losses of chains: their smooth form, a log-partition function for each.

A chain of tokens lo, ..., hi - 1 gives the labelling y the score

    start[y_lo] + sum_t nodes[t, y_t] + sum_{t > lo} edges[t * stride, y_{t-1}, y_t] + end[y_{hi-1}];

stride 0 is one matrix of transitions for all tokens, stride 1 one for each. Scores arrive as the record of
these four arrays, and derivatives leave in another.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.chain_labels import transposed_exp
from gapfit.compiled.chain_sums import Edges, notes, sum_product
from gapfit.compiled.rows import longest


class Chains(NamedTuple):
    """Label sequences and what errors cost."""

    labels: Any  # of each token; -1: not known
    tokens: Any  # tokens[i]:tokens[i + 1] is chain i
    p: Any  # weights of the chains
    cost: Any  # cost[y, k] of label k where y is right
    heat: float  # of the soft maximum


@jit
def soft_risk(scores, chains, first, last, out):
    """Sum over chains of p_i (heat log sum_y exp((score(y) + cost(y)) / heat) - score of the labels).

    Writes its derivative in the node scores to ``out.nodes``, adds the others to the rest of ``out``.
    Marginals alone are had with labels = -1. Chains first to last are done.
    """
    nodes, matrices, start, end = scores
    labels, tokens, p, cost, heat = chains
    u, u_edges, u_start, u_end = out
    K, size = nodes.shape[1], longest(tokens, first, last)
    stride = 1 if matrices.shape[0] > 1 else 0
    s, room = np.empty((size, K)), notes(size, K)
    forth, back = np.empty((K, K)), np.empty((K, K))
    pairs = np.empty((size if stride else 1, K, K))
    matrices = matrices / heat
    shift = 0.0 if stride else transposed_exp(matrices, 0, back, forth)
    edges = Edges(matrices, stride, forth, back, shift)
    value = 0.0
    for i in range(first, last):
        lo, hi = tokens[i], tokens[i + 1]
        L = hi - lo
        for t in range(L):
            y = labels[lo + t]
            for k in range(K):
                s[t, k] = nodes[lo + t, k]
            if y >= 0:
                for k in range(K):
                    s[t, k] += cost[y, k]
        for k in range(K):
            s[0, k] += start[k]
            s[L - 1, k] += end[k]
        for t in range(L):
            for k in range(K):
                s[t, k] /= heat
        log_z = sum_product(s, L, edges, lo, room, u[lo:hi], pairs)
        truth = 0.0
        for t in range(L):
            y = labels[lo + t]
            if y >= 0:
                truth += nodes[lo + t, y]
                if t:
                    before = labels[lo + t - 1]
                    truth += matrices[(lo + t) * stride, before, y] * heat
                    pairs[t * stride, before, y] -= 1.0
                u[lo + t, y] -= 1.0
            for k in range(K):
                u[lo + t, k] *= p[i]
        if labels[lo] >= 0:
            truth += start[labels[lo]] + end[labels[hi - 1]]
        value += p[i] * (heat * log_z - truth)
        for t in range(1 if stride else 0, L if stride else 1):
            for j in range(K):
                for k in range(K):
                    u_edges[(lo + t) * stride, j, k] += p[i] * pairs[t, j, k]
        for k in range(K):
            u_start[k] += u[lo, k]
            u_end[k] += u[hi - 1, k]
    return value
