"""Columns copied out of X, one after another in memory, and products with some of them."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse

from gapfit import threads
from gapfit._types import Indices, Matrix, Slope, Vector
from gapfit.design.memory import MemoryDesign

_NARROW = 500  # columns
_BLOCK = 4096  # rows
_MUCH = 0.4  # of all entries: to read all in order is quicker than to read so many out of order


class Columns:
    """The columns `ids` of a design. More can be added; each keeps its position."""

    def __init__(self, design: MemoryDesign, ids: Indices) -> None:
        self.X, self.n = design.X, design.shape[0]
        self.ids: Indices = np.empty(0, np.int64)
        self.data, self.rows = np.empty(0, design.dtype), np.empty(0, np.uint32)
        self.starts = np.zeros(1, np.int64)
        self.add(ids)

    def add(self, ids: Indices) -> None:
        """Copy these columns, which must be new."""
        if sparse.issparse(self.X):
            data, rows, sizes = self._sparse(ids)
            self.rows = np.concatenate([self.rows, rows])
        else:
            data, sizes = np.ascontiguousarray(self.X[:, ids].T).ravel(), np.full(len(ids), self.n)
        self.data = np.concatenate([self.data, data]) if len(self.data) else data
        self.starts = np.concatenate([self.starts, self.starts[-1] + np.cumsum(sizes)])
        self.ids = np.concatenate([self.ids, ids])

    def _sparse(self, ids: Indices) -> tuple[Any, Any, Any]:
        from gapfit.kernels.columns import count_columns, take_columns
        from gapfit.kernels.rows import as_rows

        place = np.full(self.X.shape[1], -1, np.int32)
        place[ids] = np.arange(len(ids))
        data, indices, indptr = as_rows(self.X.data, self.X.indices, self.X.indptr)
        sizes = count_columns(indices, place, len(ids))
        fill = np.cumsum(sizes) - sizes
        taken, rows = np.empty(int(sizes.sum()), data.dtype), np.empty(int(sizes.sum()), np.uint32)
        take_columns(data, indices, indptr, place, fill, taken, rows)
        return taken, rows, sizes

    def at(self, positions: Indices | None = None) -> "Selection":
        """Some of the columns, by default all."""
        return Selection(self, np.arange(len(self.ids)) if positions is None else positions)


class Selection:
    """Columns to multiply with. Large ones are cut into parts that threads share."""

    def __init__(self, columns: Columns, positions: Indices) -> None:
        self.columns, self.positions, self.n = columns, positions, columns.n
        self.flat = (columns.data, columns.rows, columns.starts)
        entries = np.cumsum(columns.starts[positions + 1] - columns.starts[positions])
        self.entries = float(entries[-1]) if len(entries) else 0.0
        count = len(threads.parts(len(positions), self.entries))
        cuts = np.searchsorted(entries, self.entries * np.arange(1, count) / count).tolist()
        self.parts = [slice(*edges) for edges in zip([0, *cuts], [*cuts, len(positions)], strict=True)]

    @property
    def precision(self) -> float:
        """Of `curved` and `gram`, relative."""
        return float(np.finfo(np.float32 if self.flat[1].size else np.float64).eps)

    def take(self, chosen: Indices) -> "Selection":
        """Some of these columns."""
        return Selection(self.columns, self.positions[chosen])

    def adjoint(self, u: Vector) -> Slope:
        """<x_j, u> for each column."""
        from gapfit.kernels.columns import dots

        return np.concatenate(
            threads.each(lambda part: dots(*self.flat, self.positions[part], u), self.parts)
        )

    def scores(self, v: Slope) -> Vector:
        """The sum of v_j x_j."""
        from gapfit.kernels.columns import combine, combine_dense

        data, rows, starts = self.flat
        if rows.size:
            return threads.total(
                lambda part: combine(data, rows, starts, self.positions[part], v[part], self.n), self.parts
            )
        parts = threads.parts(self.n, self.entries)
        return np.concatenate(
            threads.each(
                lambda part: combine_dense(data, starts, self.positions, v, part.start, part.stop), parts
            )
        )

    def moments(self, D: Vector) -> tuple[Slope, Slope]:
        """<x_j, D> and <x_j, D x_j> for each column."""
        from gapfit.kernels.columns import moments

        pairs = threads.each(lambda part: moments(*self.flat, self.positions[part], D), self.parts)
        first, second = (np.concatenate(halves) for halves in zip(*pairs, strict=True))
        return first, second

    def curved(self, D: Vector) -> Callable[[Slope], Slope]:
        """The map v -> X'DXv, in a form that pays after some products; sparse X in single precision."""
        if self.flat[1].size:
            from gapfit.kernels.columns import curved

            parts = threads.parts(self.n, 2.0 * len(self._rows[0]))
            return lambda v: threads.total(
                lambda some: curved(*self._rows, D, v, some.start, some.stop), parts
            )
        k = len(self.positions)
        if k <= min(_NARROW, self.n // 20):
            return partial(np.matmul, self.gram(D, np.arange(k)))
        return lambda v: self.adjoint(D * self.scores(v))

    @property
    def gram_work(self) -> float:
        """Multiplications in the Gram matrix of all; those of BLAS count for less."""
        if self.flat[1].size:
            return 0.5 * float((np.diff(self._rows[2]).astype(np.float64) ** 2).sum())
        return self.n * len(self.positions) ** 2 / 15

    def gram(self, D: Vector, chosen: Indices) -> Matrix:
        """X'DX of some of the columns, in order; sparse X in single precision."""
        k = len(chosen)
        if self.flat[1].size:
            from gapfit.kernels.columns import gram

            place = np.full(len(self.positions), -1)
            place[chosen] = np.arange(k)
            parts = threads.parts(self.n, len(self._rows[0]))
            half = threads.total(lambda some: gram(*self._rows, place, D, k, some.start, some.stop), parts)
            return half + np.tril(half, -1).T
        whole = self.flat[0].reshape(-1, self.n)

        def over(part: slice) -> Matrix:
            total = np.zeros((k, k))
            for first in range(part.start, part.stop, _BLOCK):
                some = slice(first, min(first + _BLOCK, part.stop))
                block = whole[self.positions[chosen], some] * np.sqrt(D[some])
                total += block @ block.T  # a product with its own transpose costs half
            return total

        return threads.total(over, threads.parts(self.n, 0.1 * self.n * k * k))

    @cached_property
    def _rows(self) -> tuple[Any, Any, Any]:
        from gapfit.kernels.columns import filter_rows, transpose
        from gapfit.kernels.rows import as_rows

        X, ids = self.columns.X, self.columns.ids[self.positions]
        if self.entries < _MUCH * X.nnz or (np.diff(ids) <= 0).any():
            rows: tuple[Any, Any, Any] = transpose(*self.flat, self.positions, self.n)
            return rows
        room = int(self.entries) + 1
        taken, slots = np.empty(room, np.float32), np.empty(room, np.uint32)
        place = np.full(X.shape[1], -1, np.int32)
        place[ids] = np.arange(len(ids))
        starts = filter_rows(*as_rows(X.data, X.indices, X.indptr), place, taken, slots)
        return taken[:-1], slots[:-1], starts
