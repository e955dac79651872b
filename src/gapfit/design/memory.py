"""A design held in memory: scores X w for a NumPy array or a SciPy CSR matrix.

float32 data are kept as they are and every product is taken in float64, a block of rows at a time: bounds
that are to be trusted must not be summed in single precision, and X must not be copied either.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from gapfit._types import Data, Matrix, Slope, Vector

_BLOCK_ELEMENTS = 2**21


class MemoryDesign:
    """The map w -> X w and its adjoint."""

    def __init__(self, X: Data) -> None:
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()  # the user's stays as it is
            X.sum_duplicates()  # the kernels would square their parts
        self.X = X
        self.shape: tuple[int, int] = X.shape
        self.dtype = X.dtype
        self.size = int(X.nnz if sparse.issparse(X) else X.size)  # stored entries

    def scores(self, w: Slope) -> Vector:
        """X w."""
        return np.concatenate([block @ w for _, block in self._blocks()])

    def adjoint(self, u: Vector) -> Slope:
        """X'u."""
        total = np.zeros(self.shape[1])
        for rows, block in self._blocks():
            total += block.T @ u[rows]
        return total

    def weighted_gram(self, weight: Vector) -> Matrix:
        """X' diag(weight) X, as a dense matrix."""
        total = np.zeros((self.shape[1], self.shape[1]))
        for rows, block in self._blocks():
            weighted = block.T @ (
                block.multiply(weight[rows, None]) if sparse.issparse(block) else block * weight[rows, None]
            )
            total += weighted.toarray() if sparse.issparse(weighted) else weighted
        return total

    def inner(self, a: Slope, other: Slope) -> float:
        """The inner product of two slopes."""
        return float(a @ other)

    def take(self, rows: Any) -> "MemoryDesign":
        """The design of some of the rows."""
        return MemoryDesign(self.X[rows])

    @cached_property
    def largest(self) -> float:
        """The largest absolute entry."""
        entries = self.X.data if sparse.issparse(self.X) else self.X
        return float(max(entries.max(initial=0.0), -entries.min(initial=0.0)))

    def rows(self) -> tuple[Any, Any, Any]:
        """(data, indices, indptr): the rows one after another; indices are empty when X is dense."""
        if sparse.issparse(self.X):
            return self.X.data, self.X.indices, self.X.indptr.astype(np.int64, copy=False)
        n, d = self.shape
        return np.ascontiguousarray(self.X).ravel(), np.empty(0, np.int32), np.arange(n + 1) * d

    def _blocks(self) -> Iterator[tuple[slice, Data]]:
        """The rows in float64: all at once if that is what they are, else a block at a time."""
        n, d = self.shape
        per_row = d if not sparse.issparse(self.X) else self.X.nnz / max(n, 1)
        size = n if self.dtype == np.float64 else int(max(1, _BLOCK_ELEMENTS // max(per_row, 1)))
        for first in range(0, n, max(size, 1)):
            rows = slice(first, min(first + size, n))
            block = self.X if size >= n else self.X[rows]
            yield rows, block.astype(np.float64, copy=False)


def as_design(X: Any) -> MemoryDesign:
    """A validated design: finite numbers, float32 or float64, C-ordered or CSR with indices in range."""
    if isinstance(X, MemoryDesign):
        return X
    if sparse.issparse(X):
        check_sparse_indices(X)
    X = check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True,
        ensure_min_samples=1, ensure_min_features=1, input_name="X",
    )  # fmt: skip
    return MemoryDesign(X)


def check_sparse_indices(X: Data) -> None:
    """Refuse a sparse X whose indices point outside it: compiled code would read foreign memory."""
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional, got shape {X.shape}")
    X = X if X.format in ("csr", "csc") else X.tocoo() if X.format != "coo" else X
    if X.format == "coo":
        ranges = [(X.coords[0], X.shape[0]), (X.coords[1], X.shape[1])]
    else:
        major, minor = X.shape if X.format == "csr" else X.shape[::-1]
        indptr = X.indptr
        if (
            len(indptr) != major + 1
            or indptr[0] != 0
            or (np.diff(indptr) < 0).any()
            or (indptr[-1] > min(len(X.indices), len(X.data)))
        ):
            raise ValueError(f"X is a broken {X.format} matrix: indptr does not fit its shape and data")
        ranges = [(X.indices[: indptr[-1]], minor)]
    for indices, bound in ranges:
        if len(indices) and (indices.min() < 0 or indices.max() >= bound):
            raise ValueError(f"X is a broken {X.format} matrix: an index lies outside [0, {bound})")
