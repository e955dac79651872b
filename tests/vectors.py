"""Losses of several scores a sample, with parameters and targets, for tests; and what they are, spelled out.

Nothing here imports gapfit.
"""

from itertools import product

import cvxpy as cp
import numpy as np
from scipy.special import logsumexp

COSTS = [[0.0, 1.0, 3.0], [0.5, 0.0, 1.0], [2.0, 1.5, 0.0]]
# name in the registry, with a remark in brackets: parameters
CLASSES = {
    "crammer_singer": {},
    "crammer_singer(costs)": {"costs": COSTS},
    "crammer_singer(rows)": {},
    "crammer_singer(slack)": {"costs": COSTS, "rescaling": "slack"},
    "crammer_singer(rows, slack)": {"rescaling": "slack"},
    "softmax": {},
}
LABELS = {"hamming": {}, "label_ranking": {}, "macro_f": {}, "macro_f(2)": {"beta": 2.0}, "micro_f": {}}
REAL = {
    "quantiles": {"quantiles": [0.2, 0.5, 0.7]},
    "quantiles(0)": {"quantiles": [0.1, 0.2, 0.9], "crossing": 0.0},
}
VECTORS = {**CLASSES, **LABELS, **REAL}


def targets(name, n, rng, outputs=3):
    """Labels from 0, all of them there; costs of each class; or an indicator matrix, rows of all kinds."""
    if name in LABELS:
        Y = (rng.random((n, outputs)) < 0.4).astype(float)
        Y[0], Y[1] = 1.0, 0.0
        return Y
    if name in REAL:
        return rng.normal(size=n)
    if "rows" in name:
        return rng.integers(0, 4, (n, outputs)) / 2.0  # with ties: several cheapest classes
    return np.concatenate([np.arange(outputs), rng.integers(0, outputs, n - outputs)]).astype(float)


def costs_of(name, y):
    """The true class of each sample, and what each class costs it."""
    if "rows" in name:
        return y.argmin(axis=1), y - y.min(axis=1, keepdims=True)
    truth, K = y.astype(int), 3
    table = np.array(COSTS) if "costs" in CLASSES[name] else 1.0 - np.eye(K)
    return truth, table[truth]


def labelling_risk(y, weight, beta, scores):
    """max over all labellings of a vector of zeros and ones; scores may be a cvxpy expression."""
    ybar = np.array(list(product((0.0, 1.0), repeat=len(y))))
    f = (1 + beta**2) * ybar @ (weight * y) / (ybar @ weight + beta**2 * (weight @ y))
    planes = 1 - f + 2 * (weight * (ybar - y) / weight.sum()) @ scores
    return planes.max() if isinstance(scores, np.ndarray) else cp.max(planes)


def risk(name, y, weight, F):
    """The definition of the loss. F is a matrix of scores, of numbers or of cvxpy expressions."""
    n, K = F.shape
    numbers = isinstance(F, np.ndarray)
    largest = (lambda *terms: max(terms)) if numbers else cp.maximum
    p = weight / weight.sum()
    total = 0.0
    if name in CLASSES:
        for i in range(n):
            if name == "softmax":
                t = int(y[i])
                log_sum = logsumexp(F[i]) if numbers else cp.log_sum_exp(F[i])
                total += p[i] * (log_sum - F[i, t])
                continue
            truth, costs = costs_of(name, y)
            t, c = truth[i], costs[i]
            if "slack" in name:
                terms = [c[k] * (1 + F[i, k] - F[i, t]) for k in range(K)]
            else:
                terms = [c[k] + F[i, k] - F[i, t] for k in range(K)]
            total += p[i] * largest(*terms)
        return total
    if name in REAL:
        crossing = REAL[name].get("crossing", 10.0)
        for i in range(n):
            for k, q in enumerate(REAL[name]["quantiles"]):
                total += p[i] * largest(q * (y[i] - F[i, k]), (q - 1) * (y[i] - F[i, k]))
            for k in range(K - 1):
                total += p[i] * crossing * largest(0, F[i, k] - F[i, k + 1])
        return total
    if name == "hamming":
        return sum(p[i] / K * largest(0, 1 - (2 * y[i, k] - 1) * F[i, k]) for i in range(n) for k in range(K))
    if name == "label_ranking":
        for i in range(n):
            pairs = [(r, t) for r in range(K) for t in range(K) if y[i, r] > y[i, t]]
            for r, t in pairs:
                total += p[i] / len(pairs) * largest(0, 1 - (F[i, r] - F[i, t]))
        return total
    if name == "micro_f":
        flat = F.ravel() if numbers else cp.reshape(F, (n * K,), order="C")
        return labelling_risk(y.ravel(), np.repeat(weight, K), 1.0, flat)
    beta = LABELS[name].get("beta", 1.0)
    return sum(labelling_risk(y[:, k], weight, beta, F[:, k]) for k in range(K)) / K
