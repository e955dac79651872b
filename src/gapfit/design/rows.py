"""Rows of a dense or sparse matrix: some of them, differences, norms, and which are equal."""

from copy import copy
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gapfit import limits, threads
from gapfit._types import Data, Vector
from gapfit.rounding import EPS, gamma

_BLOCK_ELEMENTS = 2**20
_CACHE_ELEMENTS = 2**17
_FEW = 10_000  # rows; together they have no more entries than 32 bits count, were each of them all of X


def take_rows(X: Data, rows: Any, stored: Any = None) -> Data:
    """X[rows], knowing of sparse rows that they stay in order: finding out takes as long as copying them.

    ``stored`` is X as compiled code wants it, if that is at hand.
    """
    if type(X) is np.ndarray or not sparse.issparse(X):
        return X[rows]
    if X.format == "csr" and _are_numbers(rows, X.shape[0]):
        few = X.nnz <= threads.PAYS and len(rows) <= _FEW
        found = _gathered(X, rows) if few else _copied_together(X, rows, stored)
        return _in_the_manner_of(X, *found)
    taken = X[rows]
    if X.has_canonical_format:
        taken.has_canonical_format = True
    return taken


def _are_numbers(rows: Any, n: int) -> bool:
    """Do they number rows from zero, as compiled code takes them?"""
    if not (isinstance(rows, np.ndarray) and rows.dtype == np.intp):
        return False
    return not len(rows) or bool(rows.view(np.uintp).max() < n)  # unsigned, negative ones are large


def _gathered(X: Data, rows: NDArray[np.intp]) -> tuple[Any, Any, Any]:
    """Entries, columns and starts of few rows, in fewer steps than SciPy takes: they are as long as a fit."""
    begins = X.indptr[rows]
    lengths = X.indptr[rows + 1] - begins
    starts = np.zeros(len(rows) + 1, X.indptr.dtype)
    np.add.accumulate(lengths, out=starts[1:])
    chosen = np.repeat(begins - starts[:-1], lengths)
    chosen += np.arange(len(chosen), dtype=chosen.dtype)
    return X.data[chosen], X.indices[chosen], starts


def _copied_together(X: Data, rows: NDArray[np.intp], stored: Any) -> tuple[Any, Any, Any]:
    """The same of many, by several threads."""
    from gapfit.compiled.rows import as_rows

    entries, columns, starts = packed(stored or as_rows(X.data, X.indices, X.indptr), rows, X.dtype)
    return entries, columns, starts.astype(X.indices.dtype, copy=False)


def _in_the_manner_of(X: Data, entries: Any, columns: Any, starts: Any) -> Data:
    """A matrix of such rows. One of as many as X has is made as a copy: what is known of the order within
    rows holds, and SciPy looks at nothing once more."""
    if len(starts) == X.shape[0] + 1:
        taken = copy(X)
        taken.data, taken.indices, taken.indptr = entries, columns, starts
        return taken
    taken = type(X)((entries, columns, starts), shape=(len(starts) - 1, X.shape[1]))
    if X.has_canonical_format:
        taken.has_canonical_format = True
    return taken


def packed(stored: Any, rows: NDArray[np.intp], dtype: Any) -> Any:
    """Some of the rows that compiled code has, copied side by side in a precision of their own."""
    from gapfit.compiled.packing import pack
    from gapfit.compiled.rows import Rows

    _, indices, indptr = stored
    starts = np.concatenate(([0], np.cumsum(indptr[rows + 1] - indptr[rows])))
    columns = np.empty(starts[-1] if len(indices) else 0, np.int32)
    room = Rows(np.empty(starts[-1], dtype), columns, starts)
    parts = threads.parts(len(rows), float(starts[-1]))
    threads.each(lambda part: pack(stored, rows, part.start, part.stop, room), parts)
    return room


def row_norms(X: Data, centre: Vector, order: float = 2.0) -> Vector:
    """The l_order norm of each row of X - centre, not below its true value by rounding."""
    if order == 2 and sparse.issparse(X):
        return _distances(X, centre)
    n, d = X.shape
    norms = np.empty(n)
    if order == 2:  # dense, in pieces that a cache holds
        plain, size = X.dtype == np.float64 and not centre.any(), max(1, _CACHE_ELEMENTS // max(d, 1))
        for first in range(0, n, size):
            less = X[first : first + size]
            if not plain:
                less = np.subtract(less, centre, dtype=np.float64)
            norms[first : first + size] = np.vecdot(less, less)
        return np.asarray(np.sqrt(norms * (1 + 2 * (d + 2) * EPS)))
    size = max(1, _BLOCK_ELEMENTS // max(d, 1))
    for first in range(0, n, size):
        rows = X[first : first + size]
        dense = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
        less = np.abs(dense - centre)
        # in units of the largest: large powers of small numbers would vanish
        unit = less.max(axis=1, initial=0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(unit[:, None] > 0, less / unit[:, None], 0.0)
        if order < np.inf:
            unit = unit * (shares**order).sum(axis=1) ** (1.0 / order)
        norms[first : first + size] = unit * (1 + gamma(d + 128))
    return norms


def _distances(X: Data, centre: Vector) -> Vector:
    """The Euclidean ones of sparse rows, which stay sparse."""
    from gapfit.compiled.rows import as_rows, put_distances

    stored, out = as_rows(X.data, X.indices, X.indptr), np.empty(X.shape[0])
    parts = threads.parts(X.shape[0], X.nnz)
    threads.each(lambda rows: put_distances(stored, rows.start, rows.stop, centre, EPS, out), parts)
    return out


def different_rows(
    X: Data, codes: NDArray[np.uint64], count: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.uint64]]:
    """Those of the first `count` rows of X that equal none before them; and for all, their number and hash.

    Rows are equal only if their codes are.
    """
    duplicates, words = _duplicates(), _words(X)
    hashes = np.empty(count, np.uint64)
    threads.each(
        lambda rows: duplicates.hash_rows(words, codes, rows.start, rows.stop, hashes),
        threads.parts(count, float(words.indptr[count])),
    )
    different, number = np.empty((2, count), np.int64)
    slots = np.zeros(2 * _power_of_two(count), np.uint32)
    found = duplicates.number_rows(words, codes, hashes, slots, different, number)
    return different[:found], number, hashes


def _power_of_two(n: int) -> int:
    """That is no less, and no less than eight."""
    return max(8, 1 << (n - 1).bit_length())


def rows_as_set(
    X: Data, codes: NDArray[np.uint64], weight: Vector
) -> tuple[NDArray[np.intp], Vector, NDArray[np.intp], Data]:
    """The different rows of few, in the order of their hashes; the weight of each; for all, the place of
    their equal among these; and a copy of them."""
    X = X if type(X) is np.ndarray else in_order(X)
    words, n, size = _words(X), len(codes), _power_of_two(len(codes))
    keys, places, merged = np.empty((3, n), np.uint64), np.empty((4, n), np.int64), np.zeros(n)
    slots, begins = np.zeros(2 * size, np.uint32), np.zeros(size + 1, np.int64)
    entries, columns = np.empty_like(words.data), np.empty(words.indices.size, np.uint32)
    copy = words._replace(data=entries, indices=columns, indptr=np.empty(n + 1, np.int64))
    count = _duplicates().put_set(words, codes, weight, slots, begins, keys, places, merged, copy)
    different, merged, number = places[0, :count], merged[:count], places[1]
    size, starts = copy.indptr[count], copy.indptr[: count + 1]
    entries = entries[:size].view(X.dtype)
    if type(X) is np.ndarray:
        return different, merged, number, entries.reshape(count, X.shape[1])
    columns, starts = (
        one.astype(X.indices.dtype, copy=False) for one in (columns[:size].view(np.int32), starts)
    )
    return different, merged, number, _in_the_manner_of(X, entries, columns, starts)


def in_order(X: Data) -> Data:
    """Sparse rows as kernels want them, each entry once and in its place: they would square its parts."""
    if not X.has_canonical_format:
        X = X.copy()  # the user's stays as it is
        X.sum_duplicates()
    return X


def other_of_two(codes: NDArray[np.uint64]) -> int:
    """Where the second of two different codes stands first; 0 if there are more or fewer."""
    return int(_duplicates().other_of_two(codes))


@cache
def _duplicates() -> Any:
    """Compiled code, loaded only when it is to run. To import it once more takes as long as to run it."""
    from gapfit.compiled import duplicates

    return duplicates


def _words(X: Data) -> Any:
    """Rows as compiled code has them, their entries as integers of as many bits."""
    from gapfit.compiled.rows import as_rows, dense_rows

    kind = np.uint64 if X.dtype == np.float64 else np.uint32
    if type(X) is np.ndarray:
        return dense_rows(X.view(kind))
    X = in_order(X)
    return as_rows(X.data.view(kind), X.indices, X.indptr)


def rows_of_csr(X: Data, rows: slice) -> Data:
    """Some rows of a CSR matrix, as a view. (Slicing copies, and so does the constructor.)"""
    first, last = X.indptr[rows.start], X.indptr[rows.stop]
    part = sparse.csr_array((rows.stop - rows.start, X.shape[1]), dtype=X.dtype)
    part.data, part.indices = X.data[first:last], X.indices[first:last]
    part.indptr = X.indptr[rows.start : rows.stop + 1] - first
    return part


def row_differences(X: Data, first: NDArray[np.intp], second: NDArray[np.intp]) -> Data:
    """X[first] - X[second] in double precision, rounded."""
    if sparse.issparse(X):
        X = X.astype(np.float64, copy=False)
        return take_rows(X, first) - take_rows(X, second)
    d = X.shape[1]
    differences, step = np.empty((len(first), d)), max(1, _CACHE_ELEMENTS // d)
    for start in range(0, len(first), step):
        limits.look()
        some = slice(start, start + step)
        np.subtract(X[first[some]], X[second[some]], out=differences[some], dtype=np.float64)
    return differences
