"""Columns copied out of X, one after another in memory, and products with some of them."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gapfit import threads
from gapfit._types import Indices, Matrix, Slope, Vector
from gapfit.design.memory import MemoryDesign
from gapfit.records import storable

_NARROW = 500  # columns, whose Gram matrix is small
_BLOCK = 4096  # rows of dense columns that are multiplied at once
_ADDED = 16.0  # multiplications cost as much as to make room for a number, write it and add it to others
_MUCH = 0.4  # of all entries: to read all in order is quicker than to read so many out of order


class Columns:
    """The columns `ids` of a design. More can be added; each keeps its position.

    Sparse ones are copied out of X at once. Dense ones are when they are first worked on: X'u is as quick
    with the rows of X.
    """

    def __init__(self, design: MemoryDesign, ids: Indices) -> None:
        self.design, self.X, self.n = design, design.X, design.shape[0]
        self.ids: Indices = np.empty(0, np.int64)
        self.sparse = sparse.issparse(self.X)
        self.data, self.rows = np.empty(0, design.dtype), np.empty(0, np.uint32)
        self.starts = np.zeros(1, np.int64)
        self.slots: Indices = np.empty(0, np.int64)  # where each column is in `data`; -1: it is not there
        self.known: _Known | None = None
        self.add(ids)

    def add(self, ids: Indices) -> None:
        """Take these columns as well, which must be new."""
        if self.sparse:
            data, rows, sizes = self._sparse(ids)
            self.rows = np.concatenate([self.rows, rows])
            self._append(data, sizes)
            slots = np.arange(len(self.ids), len(self.ids) + len(ids))
        else:
            slots = np.full(len(ids), -1)
        self.slots = np.concatenate([self.slots, slots])
        self.ids = np.concatenate([self.ids, ids])

    def _append(self, data: Any, sizes: Any) -> None:
        self.data = np.concatenate([self.data, data]) if len(self.data) else data
        self.starts = np.concatenate([self.starts, self.starts[-1] + np.cumsum(sizes)])

    def _sparse(self, ids: Indices) -> tuple[Any, Any, Any]:
        from gapfit.compiled.columns import count_columns, take_columns
        from gapfit.compiled.rows import as_rows

        place = np.full(self.X.shape[1], -1, np.int32)
        place[ids] = np.arange(len(ids))
        matrix = as_rows(self.X.data, self.X.indices, self.X.indptr)
        sizes = count_columns(matrix.indices, place, len(ids))
        fill = np.cumsum(sizes) - sizes
        taken, rows = np.empty(int(sizes.sum()), self.X.dtype), np.empty(int(sizes.sum()), np.uint32)
        take_columns(matrix, place, fill, taken, rows)
        return taken, rows, sizes

    def state(self) -> tuple[Indices, Any] | None:
        """Which dense columns are there, in their order, and the Gram matrix of some of them."""
        if self.sparse:
            return None
        there = np.flatnonzero(self.slots >= 0)
        return there[np.argsort(self.slots[there])], self.known

    def restore(self, state: tuple[Indices, Any] | None) -> None:
        """Have them in the same order: sums of many columns depend on it."""
        if state is not None:
            self.at(state[0])
            self.known = state[1]

    @property
    def entries(self) -> float:
        """Of all the columns."""
        return float(self.starts[-1] if self.sparse else self.n * len(self.ids))

    def adjoint(self, u: Vector) -> Slope:
        """<x_j, u> for each column."""
        if self.sparse:
            return self.at(np.arange(len(self.ids))).adjoint(u)
        return self.design.adjoint(u)[self.ids]

    def at(self, positions: Indices) -> "Selection":
        """Some of the columns."""
        missing = positions[self.slots[positions] < 0]
        if len(missing):
            first = len(self.starts) - 1
            self._append(self.X[:, self.ids[missing]].T.ravel(), np.full(len(missing), self.n))
            self.slots[missing] = np.arange(first, first + len(missing))
        return Selection(self, positions)


class Selection:
    """Columns to multiply with. Large ones are cut into parts that threads share."""

    def __init__(self, columns: Columns, positions: Indices) -> None:
        from gapfit.compiled.columns import Columns as Flat  # compiled code is loaded only when it is to run

        self.columns, self.positions, self.n = columns, positions, columns.n
        self.slots = columns.slots[positions]
        self.flat = Flat(columns.data, columns.rows, columns.starts)
        entries = np.cumsum(columns.starts[self.slots + 1] - columns.starts[self.slots])
        self.entries = float(entries[-1]) if len(entries) else 0.0

        def parts(summed: float) -> list[slice]:
            count = len(threads.parts(len(positions), self.entries, summed))
            cuts = np.searchsorted(entries, self.entries * np.arange(1, count) / count).tolist()
            return [slice(*edges) for edges in zip([0, *cuts], [*cuts, len(positions)], strict=True)]

        self.parts = parts(0.0)
        self.few_parts = parts(2.0 * self.n) if columns.sparse else self.parts  # for sums as long as a column

    @property
    def precision(self) -> float:
        """Of `curved` and `gram`, relative."""
        return float(np.finfo(np.float32 if self.columns.sparse else np.float64).eps)

    def take(self, chosen: Indices) -> "Selection":
        """Some of these columns."""
        return Selection(self.columns, self.positions[chosen])

    def adjoint(self, u: Vector) -> Slope:
        """<x_j, u> for each column."""
        from gapfit.compiled.columns import dots

        return np.concatenate(threads.each(lambda part: dots(self.flat, self.slots[part], u), self.parts))

    def scores(self, v: Slope) -> Vector:
        """The sum of v_j x_j."""
        from gapfit.compiled.columns import combine, combine_dense

        if self.columns.sparse:
            return threads.total(
                lambda part: combine(self.flat, self.slots[part], v[part], self.n), self.few_parts
            )
        parts = threads.parts(self.n, self.entries)
        return np.concatenate(
            threads.each(lambda part: combine_dense(self.flat, self.slots, v, part.start, part.stop), parts)
        )

    def moments(self, D: Vector) -> tuple[Slope, Slope]:
        """<x_j, D> and <x_j, D x_j> for each column."""
        from gapfit.compiled.columns import moments

        pairs = threads.each(lambda part: moments(self.flat, self.slots[part], D), self.parts)
        first, second = (np.concatenate(halves) for halves in zip(*pairs, strict=True))
        return first, second

    def curved(self, D: Vector) -> Callable[[Slope], Slope]:
        """The map v -> X'DXv, in a form that pays after some products; sparse X in single precision."""
        if self.columns.sparse:
            from gapfit.compiled.columns import curved

            parts = threads.parts(self.n, 2.0 * len(self._rows.data), summed=2.0 * len(self.positions))
            return lambda v: threads.total(
                lambda some: curved(self._rows, D, v, some.start, some.stop), parts
            )
        k = len(self.positions)
        if k <= min(_NARROW, self.n // 20):
            return partial(np.matmul, self.gram(D))
        return lambda v: self.adjoint(D * self.scores(v))

    def gram_work(self, D: Vector) -> float:
        """Multiplications to set up and factorise the Gram matrix; those of BLAS count for less."""
        k = len(self.positions)
        if self.columns.sparse:
            return (
                0.5 * float((np.diff(self._rows.indptr).astype(np.float64) ** 2).sum())
                + min(k, self.n) ** 3 / 30
            )
        known = self.columns.known
        new = k if known is None else k - int(np.isin(self.slots, known.slots).sum()) * known.holds(D)
        return self.n * k * new / 15 + min(k, self.n) ** 3 / 30

    def gram(self, D: Vector) -> Matrix:
        """X'DX; sparse X in single precision."""
        k = len(self.positions)
        if self.columns.sparse:
            from gapfit.compiled.columns import gram

            parts = threads.parts(self.n, self.gram_work(D), summed=_ADDED * k * k)
            half = threads.total(lambda some: gram(self._rows, D, k, some.start, some.stop), parts)
            return half + np.tril(half, -1).T
        known = self.columns.known
        if known is None or not known.holds(D) or len(known.slots) > 2 * k + _NARROW:
            known = _Known(D, np.empty(0, np.int64), np.empty((0, 0)))
        known = known.extended(self.columns, np.setdiff1d(self.slots, known.slots))
        self.columns.known = known
        return known.at(self.slots)

    @cached_property
    def _rows(self) -> Any:
        from gapfit.compiled.columns import filter_rows, transpose
        from gapfit.compiled.rows import Rows, as_rows

        X, ids = self.columns.X, self.columns.ids[self.positions]
        if self.entries < _MUCH * X.nnz or (np.diff(ids) <= 0).any():
            return Rows(*transpose(self.flat, self.slots, self.n))
        room = int(self.entries) + 1
        taken, slots = np.empty(room, np.float32), np.empty(room, np.uint32)
        place = np.full(X.shape[1], -1, np.int32)
        place[ids] = np.arange(len(ids))
        starts = filter_rows(as_rows(X.data, X.indices, X.indptr), place, taken, slots)
        return Rows(taken[:-1], slots[:-1], starts)


@storable
class _Known(NamedTuple):
    """The Gram matrix X'DX of some dense columns."""

    D: Vector
    slots: Indices
    matrix: Matrix

    def holds(self, D: Vector) -> bool:
        """Is it the one for this D?"""
        return np.array_equal(D, self.D)

    def extended(self, columns: Columns, new: Indices) -> "_Known":
        """The one of these columns as well."""
        if not len(new):
            return self
        X, n, old = columns.data.reshape(-1, columns.n), columns.n, len(self.slots)
        both = np.concatenate([self.slots, new])

        def over(part: slice) -> Matrix:
            total = np.zeros((0, 0))
            for first in range(part.start, part.stop, _BLOCK):
                some = slice(first, min(first + _BLOCK, part.stop))
                block = X[both, some] * np.sqrt(self.D[some])
                product = block @ block[old:].T  # one with its own transpose costs half
                total = product if first == part.start else np.add(total, product, out=total)
            return total

        cells = float(len(both) * len(new))
        strip = threads.total(over, threads.parts(n, 0.1 * n * cells, summed=_ADDED * cells))
        if not old:
            return _Known(self.D, both, strip)
        matrix = np.empty((len(both), len(both)))
        matrix[:old, :old] = self.matrix
        matrix[:, old:] = strip
        matrix[old:, :old] = strip[:old].T
        return _Known(self.D, both, matrix)

    def at(self, slots: Indices) -> Matrix:
        """A copy for some of these columns."""
        order = np.argsort(self.slots)
        slots = order[np.searchsorted(self.slots, slots, sorter=order)]
        return self.matrix[np.ix_(slots, slots)]
