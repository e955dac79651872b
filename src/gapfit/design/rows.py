"""Norms of the rows of a dense or sparse matrix."""

import numpy as np
from scipy import sparse

from gapfit._types import Data, Vector

_BLOCK_ELEMENTS = 2**20


def row_norms(X: Data, centre: Vector, order: float = 2.0) -> Vector:
    """The l_order norm of each row of X - centre, not below its true value by rounding."""
    if order == 2 and sparse.issparse(X):
        entries = X.data.astype(np.float64, copy=False) ** 2
        squares = sparse.csr_array((entries, X.indices, X.indptr), shape=X.shape) @ np.ones(X.shape[1])
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
