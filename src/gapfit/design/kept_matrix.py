"""A kernel matrix that is there: given by the user, or small enough to be kept.

It is symmetric to the last bit. So a sum of its columns is one of its rows, which lie in memory as they are.
"""

from functools import cached_property
from itertools import pairwise, product
from typing import Any

import numpy as np

from gapfit import threads
from gapfit._types import Data, Indices, Vector
from gapfit.design.gram import EVERY_ROW, Over, Tile, Tiles, strips
from gapfit.rounding import EPS

_RUNS = 8  # of rows one after the other, up to which blocks are copied rather than entries
_AT_ONCE = 256  # columns of a strip that is added up at once


class MatrixTiles(Tiles):
    """Its entries are data: none is rounded."""

    roundings = 0

    def __init__(self, K: Any, unit: float = EPS) -> None:
        self.n, self.K, self.unit = len(K), K, unit
        self.width = max(self.n, 1)

    def whole(self) -> Any:
        return self.K

    def columns(self, columns: Indices, dtype: Any, source: Any = None) -> Tile:
        K = self.K if source is None else source.K
        return lambda rows: K[rows[:, None], columns].astype(dtype, copy=False)

    @cached_property
    def diagonal(self) -> Vector:
        return np.array(np.diagonal(self.K), dtype=np.float64)

    def sums(self, columns: Indices, weights: Vector, dtype: Any, over: Over = EVERY_ROW) -> Vector:
        """Of all rows: as the sum of rows of K, which is symmetric. They are read as they lie in memory."""
        if any(part is not None for part in over):
            return super().sums(columns, weights, dtype, over)
        from gapfit.compiled.gram import add_kept

        out, weights = np.zeros(self.n), np.ascontiguousarray(weights)

        def add(part: slice) -> None:
            for some in strips(part, _AT_ONCE):
                add_kept(self.K, columns, weights, some.start, out[some])

        threads.each(add, threads.parts(self.n, self.work * self.n * len(columns)))
        return out

    def take(self, rows: Any) -> "MatrixTiles":
        from gapfit.compiled.gram import take_kept

        rows = np.arange(self.n)[rows]
        out = np.empty((len(rows), len(rows)))
        ends = [0, *(np.flatnonzero(np.diff(rows) != 1) + 1), len(rows)]
        if len(rows) and len(ends) <= _RUNS + 1:
            runs = [(slice(a, b), slice(rows[a], rows[a] + b - a)) for a, b in pairwise(ends)]
            for (here, there), (across, over) in product(runs, runs):
                out[here, across] = self.K[there, over]
        else:
            take_kept(self.K, rows, np.arange(len(rows)), rows, out)
        return MatrixTiles(out, self.unit)

    def seen_by(self, X: Data) -> "MatrixTiles":
        return MatrixTiles(X)
