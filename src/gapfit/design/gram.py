"""Tiles of a kernel matrix, computed when they are needed: nothing of size n x n is stored.

A source of tiles knows its samples and gives the entries K[rows, columns], in single precision for a solver
that only looks for a direction, in double where bounds rest on them. Sums of columns run through tiles small
enough for the processor's cache, their rows shared among threads.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gapfit import limits, threads
from gapfit._types import Data, Indices, Vector
from gapfit.design.definite import INFINITE, symmetric
from gapfit.design.kernel_functions import KernelFunction
from gapfit.design.rows import take_rows
from gapfit.rounding import EPS

_ROWS, _COLUMNS = 256, 1024  # of a tile that is added up at once; more rows if there are fewer columns
_TILE, _STRIP = 2**17, 96  # entries of a strip of a matrix that is kept, and its rows, at most
_BLOCK = 2**22  # entries of a block of columns, where there are many features
_SPARSE = 3  # times as many entries, most of them zero, are as quickly multiplied as stored zeros are skipped

Tile = Callable[[Indices], Any]  # rows -> K[rows, columns]
Keep = Callable[[slice], Callable[[slice, Any], None]]  # columns -> (rows, tile) -> nothing


class Over(NamedTuple):
    """The rows that a sum of columns is for: all, or some, of these samples or of a source; `keep` is shown
    every tile."""

    rows: Indices | None = None
    source: Any = None
    keep: Keep | None = None


EVERY_ROW = Over()


class Tiles(ABC):
    """K for some samples; `columns` may be looked at from other samples, the rows of `source`."""

    n: int
    work: float = 1.0  # multiplications for an entry
    roundings: int = 8  # of an entry, whose length is that of its two samples
    unit: float = EPS  # of the precision that the entries were given in
    most: int = 4096  # variables in a working set, at most
    depth: float = 0.1  # how far a working set is solved, in terms of the violation of all variables

    @abstractmethod
    def columns(self, columns: Indices, dtype: Any, source: Any = None) -> Tile:
        """The function that gives K[rows, columns] for rows of `source`, by default of this."""

    @property
    @abstractmethod
    def diagonal(self) -> Vector:
        """k(x, x) of every sample."""

    @abstractmethod
    def take(self, rows: Any) -> "Tiles":
        """The same kernel for some of the samples."""

    width: int = _COLUMNS

    def room(self, entries: int) -> Any:
        """Memory for a tile in single precision that is filled again and again."""
        return np.empty(entries, dtype=np.float32)

    def tile(self, rows: Indices, columns: Indices, dtype: Any) -> Any:
        """K[rows, columns]."""
        out = np.empty((len(rows), len(columns)), dtype)
        self.fill(rows, columns, out)
        return out

    def fill(self, rows: Indices, columns: Indices, out: Any) -> None:
        """out = K[rows, columns], in its precision."""
        for first in range(0, len(columns), self.width):
            some = slice(first, first + self.width)
            of = self.columns(columns[some], out.dtype)
            parts = threads.parts(len(rows), self.work * len(rows) * len(columns[some]))

            def fill(part: slice, some: slice = some, of: Tile = of) -> None:
                for chosen in strips(part, len(columns)):
                    out[chosen, some] = of(rows[chosen])

            threads.each(fill, parts)

    def whole(self) -> Any:
        """K, symmetric to the last bit."""
        each = np.arange(self.n)
        return symmetric(self.tile(each, each, np.float64))

    def sums(self, columns: Indices, weights: Vector, dtype: Any, over: Over = EVERY_ROW) -> Vector:
        """K[rows, columns] @ weights, added up in double precision."""
        from gapfit.compiled.gram import add_weighted_sums  # compiled code is loaded only when it is to run

        source, keep = over.source, over.keep
        rows = np.arange((source or self).n) if over.rows is None else over.rows
        out = np.zeros(len(rows))
        for first in range(0, len(columns), self.width):
            some = slice(first, first + self.width)
            of, weight = self.columns(columns[some], dtype, source), np.ascontiguousarray(weights[some])
            shown = None if keep is None else keep(some)
            parts = threads.parts(len(rows), self.work * len(rows) * len(weight))

            def add(part: slice, of: Tile = of, weight: Vector = weight, shown: Any = shown) -> None:
                for chosen in strips(part, len(weight)):
                    tile = of(rows[chosen])
                    add_weighted_sums(tile, weight, out[chosen])
                    if shown is not None:
                        shown(chosen, tile)

            threads.each(add, parts)
        return out


def strips(part: slice, columns: int) -> Iterator[slice]:
    """The part cut into as many rows as make tiles that the processor's cache holds."""
    rows = max(_ROWS, _ROWS * _COLUMNS // (2 * max(columns, 1)))
    for start in range(part.start, part.stop, rows):
        limits.look()
        yield slice(start, min(start + rows, part.stop))


class _Prepared(NamedTuple):
    """Samples ready for products in one precision."""

    X: Data  # dense, or CSR where most entries are zero
    squares: Any  # of their lengths

    @classmethod
    def of(cls, X: Data, dtype: Any, centre: Any) -> "_Prepared":
        if sparse.issparse(X):
            X = sparse.csr_array(X, dtype=dtype)
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
            X.indices, X.indptr = (
                X.indices.astype(np.int32),
                X.indptr.astype(np.int64),
            )  # one compiled version
            squares = np.asarray(X.multiply(X).sum(axis=1), dtype=dtype).ravel()
        else:
            X = np.subtract(X, centre, dtype=np.float64).astype(dtype, copy=False)
            squares = np.einsum("ij,ij->i", X, X)
        return cls(X, squares)

    def between(self, few: slice, many: slice) -> Any:
        """Inner products of some samples with others, few of which may be dense."""
        if sparse.issparse(self.X):
            return np.ascontiguousarray(self.dots(np.arange(many.stop)[many], self.across(few)).T)
        return self.X[few] @ self.X[many].T

    def across(self, columns: Indices | slice) -> Any:
        """The transpose of some samples, dense."""
        some = self.X[columns]
        return np.ascontiguousarray(some.toarray().T) if sparse.issparse(some) else some.T

    def dots(self, rows: Indices, across: Any) -> Any:
        if not sparse.issparse(self.X):
            return self.X[rows] @ across
        from gapfit.compiled.gram import sparse_dots

        out = np.empty((len(rows), across.shape[1]), across.dtype)
        sparse_dots(self.X.data, self.X.indices, self.X.indptr, rows, across, out)
        return out


class FunctionTiles(Tiles):
    """A kernel that is a function of inner products."""

    def __init__(
        self, X: Data, function: KernelFunction, centre: Any = None, thin: bool | None = None
    ) -> None:
        n, d = X.shape
        self.n, self.function = n, function
        if sparse.issparse(X):
            entries = X.nnz
        else:
            entries = n * d if thin is False else np.count_nonzero(X)
        self.thin = thin if thin is not None else _SPARSE * entries < n * d
        if self.thin != sparse.issparse(X):
            X = sparse.csr_array(X) if self.thin else X.toarray()
        self.X = X
        shift = function.centred and not self.thin
        self.centre = (X.sum(axis=0, dtype=np.float64) / n if shift else 0.0) if centre is None else centre
        self.work = 2.0 + (entries / max(n, 1) if self.thin else d)
        self.roundings = d + 16
        self.width = min(max(_BLOCK // max(d, 1), 32), _COLUMNS)
        self._known: dict[str, _Prepared] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_known": {}}  # which can be made again

    def prepared(self, dtype: Any) -> _Prepared:
        key = np.dtype(dtype).char
        if key not in self._known:
            self._known[key] = _Prepared.of(self.X, dtype, self.centre)
        return self._known[key]

    def columns(self, columns: Indices, dtype: Any, source: Any = None) -> Tile:
        mine, theirs = self.prepared(dtype), (source or self).prepared(dtype)
        across, squares = mine.across(columns), mine.squares[columns]
        return lambda rows: self.function.apply(theirs.dots(rows, across), theirs.squares[rows], squares)

    @cached_property
    def diagonal(self) -> Vector:
        return self.function.diagonal(self.prepared(np.float64).squares)

    def whole(self) -> Any:
        """One half of K is computed, strip by strip, and the other is its mirror image."""
        from gapfit.compiled.gram import mirror  # compiled code is loaded only when it is to run

        samples, out = self.prepared(np.float64), np.empty((self.n, self.n))
        step = max(min(_TILE // max(self.n, 1), _STRIP, self.width), 1)

        def fill(first: int) -> None:
            limits.look()
            rows, columns = slice(first, first + step), slice(0, min(first + step, self.n))
            dots, squares = samples.between(rows, columns), samples.squares
            tile = self.function.apply(dots, squares[rows], squares[columns])
            if not np.isfinite(tile).all():
                raise ValueError(INFINITE)
            out[rows, columns] = tile
            mirror(out, first, columns.stop)

        threads.each(fill, range(0, self.n, step))
        return out

    def take(self, rows: Any) -> "FunctionTiles":
        return FunctionTiles(take_rows(self.X, rows), self.function, self.centre, self.thin)

    def again(self) -> Callable[[], "FunctionTiles"]:
        """What makes the same of a copy of the samples: the same numbers, whatever becomes of these."""
        return partial(FunctionTiles, self.X.copy(), self.function, self.centre, self.thin)

    def seen_by(self, X: Data) -> "FunctionTiles":
        """Other samples as a source of rows."""
        return FunctionTiles(X, self.function, self.centre, self.thin)


class CallableTiles(Tiles):
    """A kernel that is a Python function of two matrices of samples."""

    work = 100.0

    def __init__(self, X: Data, function: Callable[[Any, Any], Any]) -> None:
        self.n, self.X, self.function = X.shape[0], X, function

    def columns(self, columns: Indices, dtype: Any, source: Any = None) -> Tile:
        mine, theirs = self.X[columns], self.X if source is None else source.X

        def tile(rows: Indices) -> Any:
            found = self.function(theirs[rows], mine)
            values = np.asarray(found.toarray() if sparse.issparse(found) else found, dtype=dtype)
            if values.shape != (len(rows), len(columns)):
                raise ValueError(
                    f"kernel returned an array of shape {values.shape}, not {(len(rows), len(columns))}"
                )
            return np.ascontiguousarray(values)

        return tile

    @cached_property
    def diagonal(self) -> Vector:
        each = np.arange(self.n)
        return np.concatenate([
            np.diagonal(self.columns(each[k : k + 64], np.float64)(each[k : k + 64])) for k in each[::64]
        ])  # fmt: skip

    def take(self, rows: Any) -> "CallableTiles":
        return CallableTiles(self.X[rows], self.function)

    def seen_by(self, X: Data) -> "CallableTiles":
        return CallableTiles(X, self.function)
