"""Kernels by name, also in a file, and gamma by the variance of the samples."""

from typing import Any

import numpy as np
from scipy import sparse

from gapfit._types import Data, Vector
from gapfit.design.kernel_functions import Gaussian, KernelFunction, Linear, Polynomial, Sigmoid
from gapfit.errors import as_number
from gapfit.persistence.objects import name_among, registered

FUNCTIONS: dict[str, type[KernelFunction]] = {
    "linear": Linear,
    "rbf": Gaussian,
    "poly": Polynomial,
    "sigmoid": Sigmoid,
}
KERNEL_NAME = name_among([*FUNCTIONS, "precomputed"])
KERNEL = registered("kernel", FUNCTIONS, ["precomputed"])
_AT_ONCE = 2**18  # entries that stay in the cache
_TAKES = {
    "linear": (),
    "rbf": ("gamma",),
    "poly": ("gamma", "degree", "coef0"),
    "sigmoid": ("gamma", "coef0"),
}


def named_kernel(kernel: Any, gamma: Any, degree: Any, coef0: Any, X: Data, weight: Vector) -> Any:
    """The kernel function of this name; "precomputed" and functions of one's own are what they are."""
    if callable(kernel) or (isinstance(kernel, str) and kernel == "precomputed"):
        return kernel
    if not isinstance(kernel, str) or kernel not in FUNCTIONS:
        known = ", ".join([*FUNCTIONS, "precomputed"])
        raise ValueError(f"kernel must be one of {known} or a function, got {kernel!r}")
    given = {"gamma": _gamma(gamma, X, weight), "degree": degree, "coef0": coef0}
    return FUNCTIONS[kernel](**{name: given[name] for name in _TAKES[kernel]})


def _gamma(gamma: Any, X: Data, weight: Vector) -> float:
    """gamma as a number: "scale" is 1 / (d * variance of X), "auto" is 1 / d."""
    d = X.shape[1]
    if not isinstance(gamma, str):
        return as_number("gamma", gamma)
    if gamma == "scale":
        variance = _variance(X, weight)
        return 1.0 / (d * variance) if variance > 0 else 1.0
    if gamma == "auto":
        return 1.0 / d
    raise ValueError(f"gamma must be 'scale', 'auto' or a positive number, got {gamma!r}")


def _variance(X: Data, weight: Vector) -> float:
    """Of all entries, each sample counted as often as its weight says."""
    share = weight / weight.sum()
    if sparse.issparse(X):
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        entries = X.data[: X.nnz].astype(np.float64, copy=False)
        each, d = share.repeat(np.diff(X.indptr)), X.shape[1]
        return float(each @ np.square(entries) / d - (each @ entries / d) ** 2)
    mean = float(share @ (X.sum(axis=1, dtype=np.float64) / X.shape[1]))
    each = np.empty(len(X))
    step = max(1, _AT_ONCE // X.shape[1])
    for rows in (slice(first, first + step) for first in range(0, len(X), step)):
        away = np.subtract(X[rows], mean, dtype=np.float64)
        each[rows] = np.einsum("ij,ij->i", away, away) / X.shape[1]
    return float(share @ each)
