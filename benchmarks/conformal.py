"""Full conformal sets by certificates, beside a grid of fits and beside split conformal prediction.

    python benchmarks/conformal.py [splits]

For each data set and loss: random splits into 200 samples and 20 new ones, level .1. Coverage, mean width of
the outer sets in terms of those of split conformal prediction (half of the samples for the fit, half for the
quantile, the same loss and alpha), fits and CPU milliseconds for each new sample, and those of a naive grid
of 200 candidates, from ten of its warm fits. Then labels with the logistic loss: coverage, labels in a set,
candidates that were refitted. One thread.
"""

import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GAPFIT_COMPILE", "at_once")  # the first fit is not timed

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import scale
from what_if import FOLDER, data

from gapfit import (
    ConformalClassifier,
    ConformalRegressor,
    LinearClassifier,
    LinearRegressor,
    Problem,
    datasets,
    solve,
)

LEVEL, TRAIN, NEW, ALPHA = 0.1, 200, 20, 0.01


def numbers(name):
    """Scaled by all rows, as if their scale were known."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
    else:
        read = datasets.load(FOLDER / "regression" / f"{name}.libsvm.xz")
        X, y = read.X.toarray(), read.y
    return scale(X), scale(y)


def split_width(X, y, new, loss):
    """Half-width and prediction of split conformal prediction."""
    half = len(y) // 2
    model = LinearRegressor(loss=loss, alpha=ALPHA).fit(X[:half], y[:half])
    residuals = np.sort(np.abs(y[half:] - model.predict(X[half:])))
    rank = int(np.ceil((1 - LEVEL) * (len(residuals) + 1)))
    return residuals[rank - 1], model.predict(new)


def regression(name, loss, splits):
    X, y = numbers(name)
    rng, rows = np.random.default_rng(0), []
    for _ in range(splits):
        order = rng.permutation(len(y))
        train, new = order[:TRAIN], order[TRAIN : TRAIN + NEW]
        model = ConformalRegressor(LinearRegressor(loss=loss, alpha=ALPHA), level=LEVEL).fit(
            X[train], y[train]
        )
        began = time.process_time()
        sets = model.predict_sets(X[new])
        spent = (time.process_time() - began) / NEW
        width, middle = split_width(X[train], y[train], X[new], loss)
        for found, z, f in zip(sets, y[new], middle, strict=True):
            inside = any(a <= z <= b for a, b in found.outer)
            whole = sum(b - a for a, b in found.outer)
            rows.append((inside, whole, found.n_fits, spent, abs(z - f) <= width, 2 * width))
    cover, wide, fits, seconds, split_cover, split_wide = np.mean(np.array(rows, dtype=float), axis=0)
    both = np.vstack([X[train], X[new[:1]]])
    began = time.process_time()
    w = None
    for z in np.linspace(-3, 3, 10):
        w = solve(Problem(both, np.append(y[train], z), loss, alpha=ALPHA), tol=1e-4, start=w).w
    grid = (time.process_time() - began) * 20
    print(
        f"{name} {X.shape} {loss}: cover {cover:.3f}, width {wide:.3f}, {wide / split_wide:.3f} of split's "
        f"(cover {split_cover:.3f}), {fits:.1f} fits, {1e3 * seconds:.0f} ms, "
        f"a grid {1e3 * grid:.0f} ms",
        flush=True,
    )


def labels(name, splits):
    if name == "breast":
        X, y = load_breast_cancer(return_X_y=True)
        X = scale(X)
    else:
        X, y = data(name)
    rng, rows, refits = np.random.default_rng(0), [], 0
    for _ in range(splits):
        order = rng.permutation(len(y))
        train, new = order[:TRAIN], order[TRAIN : TRAIN + NEW]
        model = ConformalClassifier(LinearClassifier(loss="logistic", alpha=ALPHA), level=LEVEL)
        model.fit(X[train], y[train])
        began = time.process_time()
        sets = model.predict_sets(X[new])
        spent = (time.process_time() - began) / NEW
        refits += sets.n_refits
        rows += [(one[k], one.sum(), spent) for one, k in zip(sets.outer, y[new], strict=True)]
    cover, size, seconds = np.mean(np.array(rows, dtype=float), axis=0)
    share = 1 - refits / (2 * NEW * splits)
    print(
        f"{name} {X.shape} labels: cover {cover:.3f}, {size:.2f} labels, {share:.1%} of candidates without a "
        f"fit, {1e3 * seconds:.1f} ms",
        flush=True,
    )


if __name__ == "__main__":
    asked = int(sys.argv[1]) if sys.argv[1:] else 25
    for one in ("diabetes", "housing_scale"):
        for kind in ("squared", "huber", "absolute"):
            regression(one, kind, asked)
    for one in ("breast", "german"):
        labels(one, asked)
