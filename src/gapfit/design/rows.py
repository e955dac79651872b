"""Rows of a dense or sparse matrix: some of them, their norms, and which are equal."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gapfit import threads
from gapfit._types import Data, Vector

_BLOCK_ELEMENTS = 2**20


def take_rows(X: Data, rows: Any) -> Data:
    """X[rows], knowing of sparse rows that they stay in order: finding out takes as long as copying them."""
    taken = X[rows]
    if sparse.issparse(X) and X.has_canonical_format:
        taken.has_canonical_format = True
    return taken


def row_norms(X: Data, centre: Vector, order: float = 2.0) -> Vector:
    """The l_order norm of each row of X - centre, not below its true value by rounding."""
    if order == 2 and sparse.issparse(X):
        squares, slack = _squares(X), 16 * np.finfo(float).eps
        if not centre.any():
            return np.asarray(np.sqrt(squares * (1 + slack)))
        constant = float(centre @ centre)
        cross = X @ centre
        slack = slack * (squares + np.abs(cross) + constant)
        return np.asarray(np.sqrt(np.maximum(squares - 2 * cross + constant, 0.0) + slack))
    n, d = X.shape
    size = max(1, _BLOCK_ELEMENTS // max(d, 1))
    norms = np.empty(n)
    for first in range(0, n, size):
        rows = X[first : first + size]
        dense = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
        norms[first : first + size] = np.linalg.norm(dense - centre, ord=order, axis=1)
    return norms


def _squares(X: Data) -> Vector:
    """The squared Euclidean norms of sparse rows."""
    if X.nnz > threads.PAYS:
        from gapfit.kernels.rows import as_rows, squared_norms

        data, _, indptr = as_rows(X.data, X.indices, X.indptr)
        parts = threads.parts(X.shape[0], X.nnz)
        return np.concatenate(
            threads.each(lambda rows: squared_norms(data, indptr[rows.start : rows.stop + 1]), parts)
        )
    entries = X.data.astype(np.float64, copy=False) ** 2
    return np.asarray(sparse.csr_array((entries, X.indices, X.indptr), shape=X.shape) @ np.ones(X.shape[1]))


def first_equal(X: Data, codes: NDArray[np.uint64], count: int) -> NDArray[np.intp]:
    """For each of the first `count` rows of X, the first one that equals it; so must their codes."""
    from gapfit.design.memory import MemoryDesign
    from gapfit.kernels import duplicates
    from gapfit.kernels.rows import as_rows

    data, indices, indptr = as_rows(*MemoryDesign(X).rows())
    words = data.view(np.uint64 if data.dtype == np.float64 else np.uint32)
    hashes = np.empty(count, np.uint64)
    threads.each(
        lambda rows: duplicates.hash_rows(words, indices, indptr, codes, rows.start, rows.stop, hashes),
        threads.parts(count, float(indptr[count])),
    )
    return np.asarray(duplicates.first_equal(words, indices, indptr, codes, hashes))
