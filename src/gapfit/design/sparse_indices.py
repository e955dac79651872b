"""Are the indices of a sparse matrix in range? Files and users may give others."""

from typing import Any

import numpy as np

from gapfit._types import Data

_UNSIGNED = {np.dtype(np.int32): np.uint32, np.dtype(np.int64): np.uint64}


def check_sparse_indices(X: Data) -> None:
    """Refuse a sparse X whose indices point outside it: compiled code would read foreign memory."""
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional, got shape {X.shape}")
    kind = X.format
    if kind not in ("csr", "csc"):
        X = X if kind == "coo" else X.tocoo()
        kind = "coo"
        ranges = [(X.coords[0], X.shape[0]), (X.coords[1], X.shape[1])]
    else:
        major, minor = X.shape if kind == "csr" else X.shape[::-1]
        indptr = X.indptr
        if (
            len(indptr) != major + 1
            or indptr[0] != 0
            or np.count_nonzero(indptr[1:] < indptr[:-1])
            or (indptr[-1] > min(len(X.indices), len(X.data)))
        ):
            raise ValueError(f"X is a broken {kind} matrix: indptr does not fit its shape and data")
        ranges = [(X.indices[: indptr[-1]], minor)]
    for indices, bound in ranges:
        if len(indices) and not _in_range(indices, bound):
            raise ValueError(f"X is a broken {kind} matrix: an index lies outside [0, {bound})")


def _in_range(indices: Any, bound: int) -> bool:
    """Are they all in [0, bound)? One look tells, for as unsigned numbers negative ones are large."""
    unsigned = _UNSIGNED.get(indices.dtype)
    if unsigned is None:
        return bool(indices.min() >= 0 and indices.max() < bound)
    return bool(indices.view(unsigned).max() < bound)
