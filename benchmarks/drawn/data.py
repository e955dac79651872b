"""Data of a drawn problem: generated, or a part of a real set."""

from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn import datasets as bundled

import gapfit.datasets

from .problems import LABELS, Drawn

BUNDLED = {
    "binary/breast_cancer": bundled.load_breast_cancer,
    "multiclass/iris": bundled.load_iris,
    "multiclass/wine": bundled.load_wine,
    "multiclass/digits": bundled.load_digits,
    "regression/diabetes": bundled.load_diabetes,
}
FOLDERS = ("binary", "multiclass", "regression", "ordinal")
OUTLIERS = 0.02


def files(folder: Path) -> list[str]:
    """What there is, by name; tests and parts of others are left out."""
    found = [
        path.relative_to(folder).as_posix()
        for kind in FOLDERS
        for path in sorted((folder / kind).glob("*"))
        if ".t." not in path.name and ".test." not in path.name
    ]
    return sorted(BUNDLED) + found


def make(drawn: Drawn, folder: Path):
    """X and y. Real data are sub-sampled to at most n rows, and their columns standardised."""
    rng = np.random.default_rng([drawn.seed, drawn.case, 1])
    if drawn.source == "generated":
        return _generated(drawn, rng)
    if drawn.source in BUNDLED:
        X, y = BUNDLED[drawn.source](return_X_y=True)
    else:
        loaded = gapfit.datasets.load(folder / drawn.source)
        X, y = loaded.X, loaded.y
    chosen = np.sort(rng.permutation(X.shape[0])[: drawn.n])
    X, y = X[chosen], np.asarray(y)[chosen]
    if not sparse.issparse(X):
        X = np.asarray(X, dtype=float)
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    return X, _as_target(drawn, y)


def _as_target(drawn: Drawn, y):
    if drawn.loss in LABELS or drawn.loss in ("svc", "nu_svc", "one_class"):
        return np.where(y == np.unique(y)[-1], 1.0, -1.0)
    if drawn.loss in ("softmax", "crammer_singer", "one_vs_rest", "multiclass_svc", "ordinal"):
        return np.unique(y, return_inverse=True)[1]
    return (y - y.mean()) / max(y.std(), 1e-12)


def _generated(drawn: Drawn, rng: np.random.Generator):
    n, d = drawn.n, drawn.d
    if drawn.density < 1:
        per_row = rng.poisson(drawn.density * d, n).clip(1, d)
        indptr = np.concatenate([[0], np.cumsum(per_row)])
        indices = np.concatenate([np.sort(rng.choice(d, k, replace=False)) for k in per_row])
        X = sparse.csr_matrix((np.abs(rng.normal(size=len(indices))), indices, indptr), shape=(n, d))
    else:
        X = rng.normal(size=(n, d))
        X += np.sqrt(drawn.correlation / (1 - drawn.correlation + 1e-9)) * rng.normal(size=(n, 1))
        X /= X.std()
    if drawn.spread:
        sizes = 10 ** rng.uniform(-drawn.spread, drawn.spread, d)
        X = sparse.csr_matrix(X.multiply(sizes)) if sparse.issparse(X) else X * sizes
    w = rng.normal(size=d) * (rng.random(d) < max(0.1, 3 / d))
    f = X @ w
    f = f / max(f.std(), 1e-12)
    return X, _target(drawn, f, rng)


def _target(drawn: Drawn, f, rng: np.random.Generator):
    n = len(f)
    noisy = f + drawn.noise * 0.3 * rng.logistic(size=n)
    if drawn.loss in LABELS or drawn.loss in ("svc", "nu_svc", "one_class"):
        return np.where(noisy > np.median(noisy), 1.0, -1.0)
    if drawn.loss in ("softmax", "crammer_singer", "one_vs_rest", "multiclass_svc", "ordinal"):
        levels = int(rng.integers(3, 8))
        return np.searchsorted(np.quantile(noisy, np.arange(1, levels) / levels), noisy)
    if drawn.loss == "poisson":
        return rng.poisson(np.exp(np.clip(0.5 * f, -3, 3))).astype(float)
    wild = (rng.random(n) < OUTLIERS) * rng.normal(size=n) * 20
    return f + drawn.noise * 0.3 * rng.normal(size=n) + wild * 0.1
