"""Some consecutive rows of a matrix, the work of one thread at a time, in float64 a block at a time."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from gapfit._types import Data, Slope, Vector
from gapfit.design.rows import rows_of_csr

_BLOCK_ELEMENTS = 2**21


class RowRange:
    """Some consecutive rows, the work of one thread at a time."""

    def __init__(self, X: Data, rows: slice) -> None:
        self.rows = rows
        whole = rows.start == 0 and rows.stop == X.shape[0]
        self.X = X if whole else rows_of_csr(X, rows) if sparse.issparse(X) else X[rows]

    def scores(self, w: Slope) -> Vector:
        pieces = [block @ w for _, block in self.blocks()]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def adjoint(self, u: Vector) -> Slope:
        total = np.zeros((self.X.shape[1], *u.shape[1:]))
        for rows, block in self.blocks():
            total += block.T @ u[self.rows][rows]
        return total

    def blocks(self) -> Iterator[tuple[slice, Data]]:
        """The rows in float64: all at once if that is what they are, else a block at a time."""
        n, d = self.X.shape
        per_row = d if not sparse.issparse(self.X) else self.X.nnz / max(n, 1)
        size = n if self.X.dtype == np.float64 else int(max(1, _BLOCK_ELEMENTS // max(per_row, 1)))
        for first in range(0, max(n, 1), max(size, 1)):  # no rows are one block of none
            rows = slice(first, min(first + size, n))
            block = self.X if size >= n else self.X[rows]
            yield rows, block.astype(np.float64, copy=False)
