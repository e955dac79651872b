"""Best labellings of a chain: Viterbi's algorithm, with costs added, or multiplied by the number of errors.

Scores and chains are those of `chain.py`.
"""

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import longest


@jit
def _stride(edges):
    return 1 if edges.shape[0] > 1 else 0


@jit
def _viterbi(scores, chains, i, best, back, path):
    """Write the best labelling of chain i to ``path``; where labels are known (>= 0), wrong ones earn their
    cost. Of equals the first label wins. Returns its score, costs included."""
    nodes, edges, start, end = scores
    labels, cost, lo, hi = chains.labels, chains.cost, chains.tokens[i], chains.tokens[i + 1]
    K, stride = nodes.shape[1], _stride(edges)
    for t in range(lo, hi):
        r = t - lo
        for k in range(K):
            best[r, k] = -np.inf
            back[r, k] = 0
        if r == 0:
            for k in range(K):
                best[0, k] = start[k]
        else:
            matrix = edges[t * stride]
            for i in range(K):
                before = best[r - 1, i]
                for k in range(K):
                    candidate = before + matrix[i, k]
                    better = candidate > best[r, k]
                    best[r, k] = candidate if better else best[r, k]
                    back[r, k] = i if better else back[r, k]
        for k in range(K):
            best[r, k] += nodes[t, k]
        if labels[t] >= 0:
            for k in range(K):
                best[r, k] += cost[labels[t], k]
    last = hi - lo - 1
    top, label = -np.inf, 0
    for k in range(K):
        if best[last, k] + end[k] > top:
            top, label = best[last, k] + end[k], k
    for r in range(last, -1, -1):
        path[lo + r] = label
        label = back[r, label]
    return top


@jit
def _score(scores, labels, lo, hi):
    nodes, edges, start, end = scores
    stride = _stride(edges)
    total = start[labels[lo]] + end[labels[hi - 1]]
    for t in range(lo, hi):
        total += nodes[t, labels[t]]
        if t > lo:
            total += edges[t * stride, labels[t - 1], labels[t]]
    return total


@jit
def best_labels(scores, chains, first, last, path):
    """Write the best labellings of the chains first to last to ``path``."""
    K, L = scores.nodes.shape[1], longest(chains.tokens, first, last)
    best, back = np.empty((L, K)), np.empty((L, K), np.int32)
    for i in range(first, last):
        _viterbi(scores, chains, i, best, back, path)


@jit
def _add_path(path, lo, hi, amount, out):
    u, u_edges, u_start, u_end = out
    stride = _stride(u_edges)
    for t in range(lo, hi):
        u[t, path[t]] += amount
        if t > lo:
            u_edges[t * stride, path[t - 1], path[t]] += amount
    u_start[path[lo]] += amount
    u_end[path[hi - 1]] += amount


@jit
def margin_risk(scores, chains, first, last, out):
    """Sum over chains of p_i max_y (cost(y) + score(y) - score of the labels), and a subgradient."""
    labels, tokens, p, _, _ = chains
    K, L = scores.nodes.shape[1], longest(tokens, first, last)
    best, back = np.empty((L, K)), np.empty((L, K), np.int32)
    path = np.empty(labels.size, labels.dtype)
    value = 0.0
    for i in range(first, last):
        lo, hi = tokens[i], tokens[i + 1]
        out.nodes[lo:hi] = 0.0
        top = _viterbi(scores, chains, i, best, back, path)
        truth = _score(scores, labels, lo, hi)
        if top > truth:
            value += p[i] * (top - truth)
            _add_path(path, lo, hi, p[i], out)
            _add_path(labels, lo, hi, -p[i], out)
    return value


@jit
def slack_risk(scores, chains, first, last, out):
    """Sum over chains of p_i max_y errors(y) (1 + score(y) - score of the labels), and a subgradient.

    The best labelling with each number of errors is found first: K^2 L^2 operations a chain.
    """
    nodes, edges, start, end = scores
    labels, tokens, p, _, _ = chains
    K, L, stride = nodes.shape[1], longest(tokens, first, last), _stride(edges)
    best = np.empty((L, L + 1, K))
    back = np.empty((L, L + 1, K), np.int32)
    path = np.empty(labels.size, labels.dtype)
    value = 0.0
    for i in range(first, last):
        lo, hi = tokens[i], tokens[i + 1]
        length = hi - lo
        out.nodes[lo:hi] = 0.0
        for r in range(length):
            for errors in range(r + 2):
                for k in range(K):
                    earlier = errors - (1 if k != labels[lo + r] else 0)
                    best[r, errors, k] = -np.inf
                    if r == 0:
                        if earlier == 0:
                            best[r, errors, k] = start[k] + nodes[lo, k]
                    elif 0 <= earlier <= r:
                        for j in range(K):
                            candidate = best[r - 1, earlier, j] + edges[(lo + r) * stride, j, k]
                            if candidate > best[r, errors, k]:
                                best[r, errors, k], back[r, errors, k] = candidate, j
                        best[r, errors, k] += nodes[lo + r, k]
        truth = _score(scores, labels, lo, hi)
        top, most, label = 0.0, 0, 0
        for errors in range(1, length + 1):
            for k in range(K):
                worth = errors * (1.0 + best[length - 1, errors, k] + end[k] - truth)
                if worth > top:
                    top, most, label = worth, errors, k
        if most:
            value += p[i] * top
            errors = most
            for r in range(length - 1, -1, -1):
                path[lo + r] = label
                wrong = 1 if label != labels[lo + r] else 0
                if r:
                    label = back[r, errors, label]
                errors -= wrong
            _add_path(path, lo, hi, p[i] * most, out)
            _add_path(labels, lo, hi, -p[i] * most, out)
    return value
