"""Tables as people have them: numbers, words and gaps side by side."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapfit.datasets.columns import Column, Columns, Roles, choose
from gapfit.datasets.csv_text import is_number, records
from gapfit.datasets.lines import Lines, Source, name_of, opened
from gapfit.datasets.parquet import pyarrow_for
from gapfit.datasets.record import Data
from gapfit.errors import DataError

GAPS = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})  # fields that hold nothing, in lower case


def read_table(
    source: Source,
    *,
    format: str = "csv",
    target: Column | None = None,
    drop: Sequence[Column] = (),
    only: Sequence[str] | None = None,
    categorical: Sequence[str] = (),
    header: bool = True,
    delimiter: str = ",",
) -> Data:
    """Read a table whose features may be words, and may be missing. `TableEncoder` makes numbers of it.

    Parameters
    ----------
    source : path, binary file or "-"
    format : {"csv", "parquet"}
    target, drop, header, delimiter : as in `read_csv`
    only : names of the features, in their order, if these are not all columns
    categorical : names of the columns whose values are words, or numbers that stand for something

    Returns
    -------
    Data
        X is an array of objects: floats, NaN where there is none; in categorical columns texts, empty where
        there is none. An empty field, NA, N/A, NaN, null, None and ? are none.

    Examples
    --------
    >>> import io
    >>> text = b"age,job,sick\\n30,smith,no\\n,baker,yes\\n"
    >>> data = read_table(io.BytesIO(text), target="sick", categorical=["job"])
    >>> data.X.tolist(), data.y.tolist(), data.names
    ([[30.0, 'smith'], [nan, 'baker']], ['no', 'yes'], ('age', 'job'))
    """
    roles = Roles(target, None, drop, only)
    with opened(source) as file:
        name = name_of(source)
        if format == "parquet":
            names, rows = _of_parquet(file, name)
        else:
            names, rows = _of_csv(Lines(file, name), header, delimiter)
        columns = choose(names, roles, name)
        words = [_among(names, one, columns, name) for one in categorical]
        table = [(line, fields) for line, fields in rows]
    X = np.empty((len(table), len(columns.features)), dtype=object)
    for place, k in enumerate(columns.features):
        read = _word if k in words else _number
        X[:, place] = [read(fields[k], line, names[k], name) for line, fields in table]
    y = None if columns.target is None else _targets(table, columns.target, names, name)
    return Data(X, y, None, tuple(names[k] for k in columns.features))


def is_gap(value: Any) -> bool:
    """Does it stand for nothing?"""
    if value is None:
        return True
    if isinstance(value, str):
        return value.strip().lower() in GAPS
    return isinstance(value, float) and math.isnan(value)


def _among(names: Sequence[str], column: str, columns: Columns, source: str) -> int:
    """The place of a categorical column, which is a feature."""
    found = choose(names, Roles(None, None, (), [column]), source).features[0]
    if found not in columns.features:
        raise ValueError(f"categorical names {column!r}, which is no feature")
    return found


def _of_csv(lines: Lines, header: bool, delimiter: str) -> tuple[list[str], Iterator[tuple[int, list[Any]]]]:
    rows = records(lines, delimiter)
    line, fields = next(rows, (1, []))
    if not fields:
        raise DataError("the file is empty", lines.name)
    names = list(fields) if header else [f"x{k}" for k in range(len(fields))]

    def checked() -> Iterator[tuple[int, list[Any]]]:
        if not header:
            yield line, fields
        for number, row in rows:
            if len(row) != len(names):
                raise DataError(f"{len(row)} fields instead of {len(names)}", lines.name, number)
            yield number, row

    return names, checked()


def _of_parquet(file: Any, source: str) -> tuple[list[str], Iterator[tuple[int, list[Any]]]]:
    arrow, parquet = pyarrow_for(source)
    try:
        table = parquet.ParquetFile(file).read()
    except (arrow.ArrowException, OSError, UnicodeError) as error:
        raise DataError(f"not a Parquet file, or damaged: {error}", source) from error
    columns = [table.column(k).to_pylist() for k in range(table.num_columns)]
    return list(table.column_names), enumerate(map(list, zip(*columns, strict=True)))


def _word(value: Any, line: int, column: str, source: str) -> str:
    return "" if is_gap(value) else str(value).strip()


def _number(value: Any, line: int, column: str, source: str) -> float:
    if is_gap(value):
        return math.nan
    try:
        number = float(value)
    except (TypeError, ValueError):
        reason = f"expected a number, got {str(value)[:40]!r}; categorical=[{column!r}] takes words"
        reason += f", drop=[{column!r}] leaves it out"
        raise DataError(reason, source, line, repr(column)) from None
    if not math.isfinite(number):
        raise DataError(f"expected a finite number, got {value!r}", source, line, repr(column))
    return number


def _targets(table: Sequence[tuple[int, list[Any]]], k: int, names: list[str], source: str) -> NDArray[Any]:
    """Numbers if the first one is a number; none is missing."""
    for line, fields in table:
        if is_gap(fields[k]):
            raise DataError("there is no target; leave the row out", source, line, repr(names[k]))
    values = [fields[k] for _, fields in table]
    if not values or not is_number(str(values[0])):
        return np.array([str(value) for value in values], dtype=np.str_)
    return np.array([_number(fields[k], line, names[k], source) for line, fields in table])
