"""Rows of a dense or sparse matrix: some of them, differences, norms, and which are equal."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gapfit import limits, threads
from gapfit._types import Data, Vector
from gapfit.rounding import EPS, gamma

_BLOCK_ELEMENTS = 2**20
_CACHE_ELEMENTS = 2**17


def take_rows(X: Data, rows: Any, stored: Any = None) -> Data:
    """X[rows], knowing of sparse rows that they stay in order: finding out takes as long as copying them.

    ``stored`` is X as compiled code wants it, if that is at hand.
    """
    if type(X) is np.ndarray or not sparse.issparse(X):
        return X[rows]
    fast = X.nnz > threads.PAYS and _are_numbers(rows, X.shape[0])
    taken = _copy_of_rows(X, rows, stored) if fast else X[rows]
    if X.has_canonical_format:
        taken.has_canonical_format = True
    return taken


def _are_numbers(rows: Any, n: int) -> bool:
    """Do they number rows from zero, as compiled code takes them?"""
    plain = isinstance(rows, np.ndarray) and rows.dtype == np.intp
    return plain and (not len(rows) or bool(rows.min() >= 0 and rows.max() < n))


def _copy_of_rows(X: Data, rows: NDArray[np.intp], stored: Any) -> Data:
    """X[rows], by several threads."""
    from gapfit.compiled.rows import as_rows

    entries, columns, starts = packed(stored or as_rows(X.data, X.indices, X.indptr), rows, X.dtype)
    starts = starts.astype(X.indices.dtype, copy=False)
    return type(X)((entries, columns, starts), shape=(len(rows), X.shape[1]))


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
    from gapfit.compiled import duplicates  # compiled code is loaded only when it is to run

    words = _words(X)
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
) -> tuple[NDArray[np.intp], Vector, NDArray[np.intp]]:
    """The different rows of few, in the order of their hashes; the weight of each; and for all, the place of
    their equal among these."""
    from gapfit.compiled.duplicates import put_set

    n, size = len(codes), _power_of_two(len(codes))
    keys, places, merged = np.empty((3, n), np.uint64), np.empty((4, n), np.int64), np.zeros(n)
    slots, begins = np.zeros(2 * size, np.uint32), np.zeros(size + 1, np.int64)
    count = put_set(_words(X), codes, weight, slots, begins, keys, places, merged)
    return places[0, :count], merged[:count], places[1]


def other_of_two(codes: NDArray[np.uint64]) -> int:
    """Where the second of two different codes stands first; 0 if there are more or fewer."""
    from gapfit.compiled.duplicates import other_of_two as find

    return int(find(codes))


def _words(X: Data) -> Any:
    """Rows as compiled code has them, their entries as integers of as many bits."""
    from gapfit.compiled.rows import as_rows, dense_rows
    from gapfit.design.memory import MemoryDesign

    kind = np.uint64 if X.dtype == np.float64 else np.uint32
    if type(X) is np.ndarray:
        return dense_rows(X.view(kind))
    data, indices, indptr = MemoryDesign(X).rows()
    return as_rows(data.view(kind), indices, indptr)


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
