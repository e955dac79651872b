"""Tables in Parquet files, where pyarrow is installed."""

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from gapfit.datasets.columns import Column, Roles, choose, free_name
from gapfit.datasets.lines import Source, name_of, opened
from gapfit.datasets.output import Target, written
from gapfit.datasets.record import Data, as_dtype, check_writable
from gapfit.errors import DataError


def pyarrow_for(source: str) -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise DataError("Parquet files need pyarrow (pip install pyarrow)", source) from error


def read_parquet(
    source: Source,
    *,
    target: Column | None = None,
    qid: Column | None = None,
    drop: Sequence[Column] = (),
    dtype: DTypeLike = np.float64,
) -> Data:
    """Read a table of numbers from a Parquet file; this needs pyarrow.

    As `read_csv`, from a path or binary file: targets are numbers or words by the type of their column. A
    `DataError` tells that the file is damaged or pyarrow is missing, or the column and row of a value that is
    missing, infinite or no number.
    """
    return next(iter_parquet(source, None, Roles(target, qid, drop), dtype))[0]


def iter_parquet(
    source: Source, block_bytes: int | None, roles: Roles, dtype: DTypeLike
) -> Iterator[tuple[Data, float]]:
    """Read a table in blocks of about so many bytes (None: all at once): each, and the share of the rows that
    is read by then. Parameters as of `read_parquet`."""
    name = name_of(source)
    arrow, parquet = pyarrow_for(name)
    if source == "-":
        raise DataError("a Parquet file cannot be read from standard input", name)
    with opened(source) as file:
        try:
            whole = parquet.ParquetFile(file)
            rows, done = whole.metadata.num_rows, 0
            step = rows if block_bytes is None else block_bytes // (8 * max(whole.metadata.num_columns, 1))
            for table in _tables(arrow, whole, None if block_bytes is None else max(step, 1)):
                done += table.num_rows
                yield _data(table, roles, as_dtype(dtype), name), done / max(rows, 1)
        except (arrow.ArrowException, OSError, UnicodeError) as error:
            raise DataError(f"not a Parquet file, or damaged: {error}", name) from error


def _tables(arrow: Any, whole: Any, rows: int | None) -> Iterator[Any]:
    if rows is None:
        yield whole.read()
        return
    for batch in whole.iter_batches(batch_size=rows):
        yield arrow.Table.from_batches([batch])


def _data(table: Any, roles: Roles, dtype: np.dtype[Any], name: str) -> Data:
    columns = choose(table.column_names, roles, name)
    X = np.empty((table.num_rows, len(columns.features)), dtype=dtype)
    for place, k in enumerate(columns.features):
        with np.errstate(over="ignore"):
            X[:, place] = _column(table, k, "biuf", name)
        _check_finite(X[:, place], table.column_names[k], name)
    y = None if columns.target is None else _column(table, columns.target, "biufU", name)
    queries = None if columns.qid is None else _column(table, columns.qid, "iu", name)
    if queries is not None and ((queries < 0) | (queries > 2**63 - 1)).any():
        raise DataError(f"a qid must be an integer from 0 to {2**63 - 1}", name)
    names = tuple(table.column_names[k] for k in columns.features)
    return Data(X, y, None if queries is None else queries.astype(np.int64), names)


def _column(table: Any, k: int, kinds: str, source: str) -> NDArray[Any]:
    name = table.column_names[k]
    values = table.column(k)
    if values.null_count:
        row = int(values.is_null().to_numpy().argmax())
        raise DataError(f"there is no value in row {row}", source, column=repr(name))
    found: NDArray[Any] = values.to_numpy()
    if found.dtype == object and all(isinstance(value, str) for value in found.tolist()):
        found = found.astype(np.str_)
    if found.dtype.kind not in kinds:
        raise DataError(f"the type {values.type} does not do here", source, column=repr(name))
    _check_finite(found, name, source)
    return found


def _check_finite(values: NDArray[Any], name: str, source: str) -> None:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.isfinite(values).argmin())
        raise DataError(f"row {row} is not a finite number", source, column=repr(name))


def write_parquet(target: Target, data: Data) -> None:
    """Write a table: the features, then ``qid`` and ``target`` if there are any; this needs pyarrow.

    Parameters
    ----------
    target : path or binary file
        Where to.
    data : Data
        A sparse X is made dense. Columns without names are called x0, x1, ...
    """
    X, y, qid, names = check_writable(data)
    if sparse.issparse(y):
        raise ValueError("y must be a vector: a table has one target column")
    arrow, parquet = pyarrow_for(name_of(target))
    dense = X.toarray() if sparse.issparse(X) else X
    table = dict(zip(names or [f"x{k}" for k in range(X.shape[1])], dense.T, strict=True))
    if len(table) < X.shape[1]:
        raise ValueError("the columns of a Parquet file need different names")
    for role, part in (("qid", qid), ("target", y)):
        if part is not None:
            table[free_name(role, list(table))] = part
    with written(target) as file:
        parquet.write_table(arrow.table(table), file)
