"""One shard: an Arrow IPC file with one record batch, whose numbers are used as they lie there.

Columns: ``x``, a list of (index, value) or a list of numbers for each row; ``y``, ``weight``, ``qid`` where
there are any. Anything that reads Arrow reads them. What is in a file is checked before it is used: compiled
loops follow its indices.
"""

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gapfit._types import Data as Matrix
from gapfit.atomic import replacing
from gapfit.errors import DataError
from gapfit.room import ask_for


class Columns(NamedTuple):
    """What a shard holds."""

    X: Matrix
    y: NDArray[Any] | None = None
    weight: NDArray[np.float64] | None = None
    qid: NDArray[np.int64] | None = None


def libraries() -> tuple[Any, Any]:
    """pyarrow and xxhash, which the extra `disk` installs."""
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("xxhash")
    except ImportError as error:
        raise ImportError(f"shards need {error.name}: pip install 'gapfit[disk]'", name=error.name) from error


class _Hashed:
    """A file that is hashed while it is written."""

    def __init__(self, file: Any, hasher: Any) -> None:
        self.file, self.hasher, self.size, self.closed = file, hasher, 0, False

    def write(self, data: Any) -> int:
        self.hasher.update(data)
        self.size += len(data)
        return int(self.file.write(data))

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None:
        """It is its maker's to close."""

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        return self.size


def write_arrow(path: Path, columns: Columns) -> tuple[int, str]:
    """Write a shard, as a whole or not at all; returns its bytes and its checksum."""
    arrow, xxhash = libraries()
    X = columns.X
    if sparse.issparse(X):
        entries = arrow.StructArray.from_arrays(
            [arrow.array(X.indices.astype(np.int32, copy=False)), arrow.array(X.data)], ["index", "value"]
        )
        x = arrow.ListArray.from_arrays(arrow.array(X.indptr.astype(np.int32, copy=False)), entries)
    else:
        x = arrow.FixedSizeListArray.from_arrays(arrow.array(np.ascontiguousarray(X).ravel()), X.shape[1])
    arrays = {"x": x}
    for name in ("y", "weight", "qid"):
        if (values := getattr(columns, name)) is not None:
            arrays[name] = arrow.array(values.tolist() if values.dtype.kind == "U" else values)
    batch = arrow.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))
    with replacing(path) as file:
        out = _Hashed(file, xxhash.xxh3_64())
        with arrow.ipc.new_file(arrow.PythonFile(out, mode="w"), batch.schema) as writer:
            writer.write_batch(batch)
    return out.size, out.hasher.hexdigest()


def checksum(path: Path) -> str:
    """Of a whole file."""
    _, xxhash = libraries()
    hasher = xxhash.xxh3_64()
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(2**22):
            hasher.update(piece)
    return str(hasher.hexdigest())


def mapped(path: str) -> Any:
    """The file as memory: for who needs little of it."""
    arrow, _ = libraries()
    return arrow.memory_map(path)


def copied(path: str) -> Any:
    """The file in memory of its own: for who needs all of it. To map it page by page takes twice as long, and
    a file that shrank meanwhile would end the process."""
    arrow, _ = libraries()
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        ask_for(size, f"the shard {path}", "write smaller shards")
        content = np.empty(size, np.uint8)
        there = 0
        while there < len(content):
            if not (more := file.readinto(content.data[there:])):
                raise DataError(f"{there} bytes, where there were {len(content)}", path)
            there += more
    return arrow.BufferReader(arrow.py_buffer(content))


class Reader:
    """A shard. Arrays are views of what `source` makes of the file, and keep that alive."""

    def __init__(self, path: Path, source: Callable[[str], Any] = mapped) -> None:
        arrow, _ = libraries()
        self.path = str(path)
        try:
            with source(self.path) as file:
                found = arrow.ipc.open_file(file)
                if found.num_record_batches != 1:
                    raise DataError(f"{found.num_record_batches} record batches instead of one", self.path)
                self.batch = found.get_batch(0)
        except FileNotFoundError as error:
            raise DataError("this shard has vanished", self.path) from error
        except arrow.ArrowException as error:
            raise DataError(f"not an Arrow file, or damaged: {error}", self.path) from error
        self.names = self.batch.schema.names

    def matrix(self, kind: str, columns: int, dtype: str) -> Matrix:
        """X; its sizes fit together, and nothing is said of its numbers."""
        x, rows = self._column("x"), self.batch.num_rows
        if kind == "dense":
            values = self._numbers(x.flatten(), np.dtype(dtype))
            if len(values) != rows * columns:
                raise DataError(f"rows of {len(values) / rows:g} numbers, not of {columns}", self.path)
            return values.reshape(rows, columns)
        try:
            starts, entries = x.offsets, x.values
            index, value = entries.field("index"), entries.field("value")
        except (AttributeError, KeyError) as error:
            raise DataError("x is no list of (index, value)", self.path) from error
        indptr = self._numbers(starts, np.dtype(np.int32))
        indices, data = self._numbers(index, np.dtype(np.int32)), self._numbers(value, np.dtype(dtype))
        if not (len(indptr) == rows + 1 and indptr[0] == 0 and indptr[-1] == len(indices) == len(data)):
            raise DataError("the rows do not fit to the entries", self.path)
        X = sparse.csr_array((rows, columns), dtype=data.dtype)  # its constructor would look at all of it
        X.data, X.indices, X.indptr = data, indices, indptr
        X.has_canonical_format = True
        return X

    def vector(self, name: str, word: bool = False) -> NDArray[Any]:
        """y, weight or qid."""
        column = self._column(name)
        if word:
            found = np.array(column.to_pylist(), dtype=np.str_)
            if len(found) and not all(isinstance(one, str) for one in column[:1].to_pylist()):
                raise DataError(f"{name} holds no words", self.path)
            return found
        return self._numbers(column, np.dtype(np.int64 if name == "qid" else np.float64))

    def _column(self, name: str) -> Any:
        if name not in self.names:
            raise DataError(f"no column {name}", self.path)
        column = self.batch.column(name)
        if column.null_count:
            raise DataError(f"a value of {name} is missing", self.path)
        return column

    def _numbers(self, column: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
        arrow, _ = libraries()
        try:
            if column.null_count:
                raise DataError("a value is missing", self.path)
            found: NDArray[Any] = column.to_numpy(zero_copy_only=True)
        except arrow.ArrowException as error:
            raise DataError(f"numbers that cannot be used as they are: {error}", self.path) from error
        if found.dtype != dtype:
            raise DataError(f"numbers of type {found.dtype}, not {dtype}", self.path)
        return found


def check_numbers(X: Matrix, path: str) -> None:
    """Refuse what is not finite, and indices that are out of range or out of order."""
    values = X.data if sparse.issparse(X) else X
    if not np.isfinite(values).all():
        raise DataError("a number that is not finite", path)
    if not sparse.issparse(X):
        return
    if (np.diff(X.indptr) < 0).any():
        raise DataError("rows of negative length", path)
    if len(X.indices) and (X.indices.min() < 0 or X.indices.max() >= X.shape[1]):
        raise DataError(f"an index lies outside [0, {X.shape[1]})", path)
    rising = np.diff(X.indices) > 0
    starts = X.indptr[1:-1]
    rising[starts[(starts > 0) & (starts < len(X.indices))] - 1] = True
    if not rising.all():
        raise DataError("indices must increase along a row", path)
