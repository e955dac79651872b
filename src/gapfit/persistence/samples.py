"""Samples in a file, dense or sparse, and a few small things about them."""

from typing import Any

import numpy as np
from scipy import sparse

from gapfit.persistence.container import need
from gapfit.persistence.values import Kind, Shelf, fields, floats, one_of, read_plain, write_plain

_ROWS = floats(2)


def _write_samples(X: Any, shelf: Shelf) -> Any:
    """An array, or a matrix in CSR format by its three arrays."""
    if not sparse.issparse(X):
        return shelf.put(X)
    X = X.tocsr()
    parts = {"data": X.data, "indices": X.indices.astype(np.int64), "indptr": X.indptr.astype(np.int64)}
    kind = "array" if isinstance(X, sparse.sparray) else "matrix"
    return {
        "csr": kind,
        "columns": int(X.shape[1]),
        **{name: shelf.put(part) for name, part in parts.items()},
    }


def _read_samples(value: Any, shelf: Shelf) -> Any:
    if isinstance(value, dict) and "array" in value:
        return _ROWS.read(value, shelf)
    kind, columns, *arrays = fields(value, "csr", "columns", "data", "indices", "indptr")
    make = {"array": sparse.csr_array, "matrix": sparse.csr_matrix}
    need(type(columns) is int and 0 <= columns < 2**31, "the number of columns is no count")
    data = floats(1).read(arrays[0], shelf)
    indices, indptr = (shelf.take(array, "<i8", 1) for array in arrays[1:])
    rising = len(indptr) > 0 and indptr[0] == 0 and indptr[-1] == len(data) and (np.diff(indptr) >= 0).all()
    need(rising and len(indices) == len(data), "its parts do not fit")
    need(((indices >= 0) & (indices < columns)).all(), "an index is outside of the matrix")
    small = [part.astype(np.int32) if len(data) < 2**31 else part for part in (indices, indptr)]
    return make[one_of(kind, make)]((data, *small), shape=(len(indptr) - 1, columns))


def _write_numbers(value: Any, shelf: Shelf) -> Any:
    return shelf.put(value) if isinstance(value, np.ndarray) else write_plain(float(value))


def _read_numbers(value: Any, shelf: Shelf) -> Any:
    if isinstance(value, dict) and "array" in value:
        return floats(1).read(value, shelf)
    number = read_plain(value)
    need(type(number) is float, "not a number")
    return number


def _read_shape(value: Any, shelf: Shelf) -> tuple[int, int]:
    counts = isinstance(value, list) and len(value) == 2 and all(type(n) is int and n >= 0 for n in value)
    need(counts, "not two counts")
    return value[0], value[1]


SAMPLES = Kind(_write_samples, _read_samples)
NUMBERS = Kind(_write_numbers, _read_numbers)
SHAPE = Kind(lambda shape, shelf: [int(n) for n in shape], _read_shape)
