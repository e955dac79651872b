"""Norms of the rows of a dense or sparse matrix."""

import numpy as np
from scipy import sparse

from gapfit import threads
from gapfit._types import Data, Vector

_BLOCK_ELEMENTS = 2**20


def row_norms(X: Data, centre: Vector, order: float = 2.0) -> Vector:
    """The l_order norm of each row of X - centre, not below its true value by rounding."""
    if order == 2 and sparse.issparse(X):
        squares = _squares(X)
        constant = float(centre @ centre)
        cross = X @ centre
        slack = 16 * np.finfo(float).eps * (squares + np.abs(cross) + constant)
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
        return np.asarray(squared_norms(data, indptr))
    entries = X.data.astype(np.float64, copy=False) ** 2
    return np.asarray(sparse.csr_array((entries, X.indices, X.indptr), shape=X.shape) @ np.ones(X.shape[1]))
