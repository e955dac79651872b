"""Small questions about the rows of a dense or sparse matrix."""

import numpy as np
from scipy import sparse

from gapfit._types import Data, Vector


def row_norms(X: Data, centre: Vector | None = None, order: float = 2.0) -> Vector:
    """The l_order norm of each row of X - centre; a sparse X is never made dense as a whole."""
    n, d = X.shape
    block = max(1, 2**20 // max(d, 1))
    norms = np.empty(n)
    for first in range(0, n, block):
        rows = X[first : first + block]
        rows = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
        shifted = rows if centre is None else rows - centre
        norms[first : first + block] = np.linalg.norm(shifted, ord=order, axis=1)
    return norms
