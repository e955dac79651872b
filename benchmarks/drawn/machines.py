"""J of anybody's kernel machine, and a lower bound, from the attributes that libsvm's machines have.

    J = |f|^2 / 2 + C * sum of phi(y, f(x) + b)                       svc, svr; summed over pairs of classes
    J = |f|^2 / 2 - nu * rho + mean of max(0, rho - y (f(x) + b))     nu_svc
    J = |f|^2 / 2 - nu * n * rho + sum of max(0, rho - f(x))          one_class

libsvm divides the function of a nu machine by rho, and does not tell it: the sum of its coefficients was nu.
"""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from .objective import EPSILON


class Machine(NamedTuple):
    """Coefficients v of f, one for each of its samples, whose kernel matrix is K."""

    K: Any
    y: Any
    v: Any
    b: float


def gram(X):
    """The kernel matrix, for gamma="scale"."""
    mean, square = X.mean(), X.multiply(X).mean() if sparse.issparse(X) else np.square(X).mean()
    return rbf_kernel(X, gamma=1 / (X.shape[1] * (square - mean**2)))


def value(kind, C, nu, machine):
    """J."""
    K, y, v, b = machine
    f = K @ v
    square = 0.5 * v @ f
    if kind == "svr":
        return square + C * np.maximum(0, np.abs(y - f - b) - EPSILON).sum()
    if kind == "one_class":  # rho is -b
        return square + nu * len(f) * b + np.maximum(0, -b - f).sum()
    if kind == "nu_svc":
        rho = nu / np.abs(v).sum()
        return rho**2 * square - nu * rho + np.maximum(0, rho - rho * y * (f + b)).mean()
    return square + C * np.maximum(0, 1 - y * (f + b)).sum()


def bound(kind, C, nu, machine):
    """What v proves, but for rounding: the dual objective, where v is feasible."""
    K, y, v, _ = machine
    square = 0.5 * v @ K @ v
    if kind == "svr":
        return y @ v - EPSILON * np.abs(v).sum() - square
    if kind == "one_class":
        return -square
    if kind == "nu_svc":
        return -((nu / np.abs(v).sum()) ** 2) * square
    return np.minimum(np.abs(v), C).sum() - square


def machines(K, y, model):
    """Those of a model: one, or one for each pair of classes."""
    of, every, coefs = model.support_, np.arange(len(K)), model.dual_coef_
    coefs = coefs.toarray() if sparse.issparse(coefs) else coefs  # of libsvm's sparse machines
    classes = getattr(model, "classes_", np.zeros(2))
    if len(classes) == 2:
        yield _machine(K, every, y, of, np.ravel(coefs), model.intercept_[0])
        return
    labels = y[of]
    for (i, j), b in zip(combinations(range(len(classes)), 2), model.intercept_, strict=True):
        rows = np.flatnonzero((y == classes[i]) | (y == classes[j]))
        first, second = labels == classes[i], labels == classes[j]
        coef = np.where(first, coefs[j - 1], np.where(second, coefs[i], 0.0))
        mine = first | second
        yield _machine(K, rows, np.where(y[rows] == classes[i], 1.0, -1.0), of[mine], coef[mine], b)


def _machine(K, rows, y, of, coef, b):
    v = np.zeros(len(K))
    v[of] = coef
    return Machine(K[np.ix_(rows, rows)], y, v[rows], float(b))
