"""Small problems of smooth losses, as Newton's method states them and as gapfit does."""

import numpy as np
from scipy import sparse

from gapfit import Problem
from soak.exact.newton import Smooth


def draw(seed, loss, n=30, d=4):
    rng = np.random.default_rng([seed, len(loss)])
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 0.5)
    f = X @ rng.normal(size=d) / 3
    y = f + rng.normal(size=n)
    if loss in ("logistic", "exponential"):
        y = np.where(y > np.median(y), 1.0, -1.0)
    if loss == "poisson":
        y = rng.poisson(np.exp(np.clip(f, -3, 2))) + 1.0
    weight = rng.random(n) + 0.1 if seed % 2 else np.ones(n)
    return Smooth(X, y, loss, weight, bool(seed % 3), 0.2 * rng.normal(size=n) * (seed % 2))


def problem_of(case, alpha, as_sparse=False):
    X = sparse.csr_array(case.X) if as_sparse else case.X
    return Problem(X, case.y, case.loss, "l2", alpha, case.weight, case.intercept, case.offset)
