"""J of anybody's answer, written down once more: gapfit does not grade itself here.

J = alpha * Omega(w) + mean of phi(y, X w + b)          linear models

Kernel machines are in machines.py.
"""

import numpy as np

EPSILON, DELTA, Q, L1_RATIO, NU = 0.1, 1.0, 0.7, 0.5, 0.2

PHI = {
    "hinge": lambda y, f: np.maximum(0, 1 - y * f),
    "squared_hinge": lambda y, f: np.maximum(0, 1 - y * f) ** 2,
    "logistic": lambda y, f: np.logaddexp(0, -y * f),
    "squared": lambda y, f: (y - f) ** 2 / 2,
    "absolute": lambda y, f: np.abs(y - f),
    "quantile": lambda y, f: np.maximum(Q * (y - f), (1 - Q) * (f - y)),
    "epsilon_insensitive": lambda y, f: np.maximum(0, np.abs(y - f) - EPSILON),
    "squared_epsilon_insensitive": lambda y, f: np.maximum(0, np.abs(y - f) - EPSILON) ** 2,
    "huber": lambda y, f: _huber(np.abs(y - f)),
    "poisson": lambda y, f: np.exp(f) - y * f + np.where(y > 0, y * np.log(np.maximum(y, 1)) - y, 0),
}


def _huber(r):
    return np.where(r <= DELTA, r * r / 2, DELTA * r - DELTA**2 / 2)


def omega(penalty, w):
    ratio = {"l2": 0.0, "l1": 1.0, "elastic_net": L1_RATIO}[penalty]
    return ratio * np.abs(w).sum() + (1 - ratio) / 2 * (w * w).sum()


def linear(loss, penalty, alpha, X, y, w, b):
    """One column of weights."""
    return alpha * omega(penalty, w) + PHI[loss](y, X @ w + b).mean()


def softmax(alpha, X, y, W, b):
    """W has a row a class."""
    F = X @ W.T + b
    top = F.max(axis=1)
    log_sum = top + np.log(np.exp(F - top[:, None]).sum(axis=1))
    return alpha * (W * W).sum() / 2 + (log_sum - F[np.arange(len(y)), y]).mean()


def crammer_singer(alpha, X, y, W, b):
    F = X @ W.T + b
    own = F[np.arange(len(y)), y]
    F = F + 1.0
    F[np.arange(len(y)), y] -= 1.0
    return alpha * (W * W).sum() / 2 + (F.max(axis=1) - own).mean()


def one_vs_rest(alpha, X, y, W, b):
    """Squared hinge, summed over the classes."""
    b = np.broadcast_to(b, len(W))
    parts = (
        linear("squared_hinge", "l2", alpha, X, np.where(y == k, 1, -1), W[k], b[k]) for k in range(len(W))
    )
    return sum(parts)


def ordinal(alpha, X, y, w, thresholds):
    """All thresholds, logistic."""
    F = (X @ w)[:, None] - np.sort(thresholds)
    sign = np.where(y[:, None] > np.arange(len(thresholds)), 1.0, -1.0)
    return alpha * (w @ w) / 2 + np.logaddexp(0, -sign * F).sum(axis=1).mean()
