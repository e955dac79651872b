"""Tables of numbers as comma separated text."""

import csv
import io
import math
import os
from array import array
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from gapfit.datasets.columns import Column, Roles, choose, free_name
from gapfit.datasets.lines import Lines, Source, name_of, opened
from gapfit.datasets.output import Target, written
from gapfit.datasets.record import Data, as_dtype, check_writable
from gapfit.errors import DataError


def read_csv(
    source: Source,
    *,
    target: Column | None = None,
    qid: Column | None = None,
    drop: Sequence[Column] = (),
    header: bool = True,
    delimiter: str = ",",
    dtype: DTypeLike = np.float64,
) -> Data:
    """Read a table of numbers.

    Every column but target and qid is a feature, and every field of it a finite number: an empty
    field is an error. The text is UTF-8; fields may be quoted; blank lines are skipped.

    Parameters
    ----------
    source : path, binary file or "-"
        "-" is standard input. gzip, bzip2, xz and zstd are recognised by their first bytes.
    target : str or int, optional
        The column of the target, by name or position (from 0; -1 is the last one). If its first
        field is a number all must be; otherwise the targets are words. Without it y is None.
    qid : str or int, optional
        The column of the queries, integers from 0.
    drop : list of str or int
        Columns to leave out, by name or position: a number of the row, a comment. Their fields may be
        anything.
    header : bool
        Whether the first line holds the columns' names; otherwise they are called x0, x1, ...
    delimiter : str
        One character.
    dtype : float64 or float32
        The type of X.

    Returns
    -------
    Data
        X as an array, and the names of its columns.

    Raises
    ------
    DataError
        For the first wrong field; the message names file, line and column.

    Examples
    --------
    >>> import io
    >>> data = read_csv(io.BytesIO(b"age,height,sick\\n30,1.7,no\\n41,1.8,yes\\n"), target="sick")
    >>> data.X.tolist(), data.y.tolist(), data.names
    ([[30.0, 1.7], [41.0, 1.8]], ['no', 'yes'], ('age', 'height'))
    """
    roles = Roles(target, qid, drop)
    return next(iter_csv(source, None, roles, dtype, header=header, delimiter=delimiter))[0]


def iter_csv(
    source: Source,
    block_bytes: int | None,
    roles: Roles,
    dtype: DTypeLike,
    *,
    header: bool = True,
    delimiter: str = ",",
) -> Iterator[tuple[Data, float]]:
    """Read a table in blocks of about so many bytes (None: all at once): each, and the share of the file that
    is read by then. Parameters as of `read_csv`."""
    dtype = as_dtype(dtype)
    whole = os.path.getsize(source) if block_bytes and isinstance(source, str | os.PathLike) else 0
    with opened(source) as file:
        lines = Lines(file, name_of(source))
        rows = records(lines, delimiter)
        line, fields = next(rows, (1, []))
        if not fields:
            raise DataError("the file is empty", lines.name)
        if header and sum(map(is_number, fields)) > len(fields) / 2:
            raise DataError("numbers instead of names; header=False reads a file without", lines.name, line)
        names = fields if header else [f"x{k}" for k in range(len(fields))]
        table = _Table(lines.name, names, roles)
        if not header:
            table.add(line, fields)
        for line, fields in rows:
            table.add(line, fields)
            if block_bytes and 8 * len(table.values) >= block_bytes:
                yield table.data(dtype), file.tell() / max(whole, 1)
                table = table.emptied()
        if not block_bytes or len(table.lines):
            yield table.data(dtype), 1.0


def records(lines: Lines, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The number of the line and the fields, for every record."""
    reader = csv.reader(_texts(lines), delimiter=delimiter, strict=True)
    while True:
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(str(error), lines.name, reader.line_num) from error
        if fields:
            yield reader.line_num, fields


def _texts(lines: Lines) -> Iterator[str]:
    for text in lines.texts():
        if "\0" in text:
            raise DataError("a NUL character", lines.name, lines.line)
        yield text


def is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


class _Table:
    """Records, sorted into features, targets and queries."""

    def __init__(self, source: str, names: list[str], roles: Roles) -> None:
        self.source, self.names = source, names
        self.columns = choose(names, roles, source)
        self.special = sorted(set(range(len(names))) - set(self.columns.features), reverse=True)
        self.values, self.queries, self.lines = array("d"), array("q"), array("q")
        self.targets: list[str] = []
        self.words: bool | None = None  # are targets words? The first one tells

    def emptied(self) -> "_Table":
        """For the records that follow."""
        other = copy(self)
        other.values, other.queries, other.lines = array("d"), array("q"), array("q")
        other.targets = []
        return other

    def add(self, line: int, fields: list[str]) -> None:
        if len(fields) != len(self.names):
            raise DataError(f"{len(fields)} fields instead of {len(self.names)}", self.source, line)
        if self.columns.target is not None:
            self.targets.append(fields[self.columns.target])
        if self.columns.qid is not None:
            self.queries.append(self._query(line, fields[self.columns.qid]))
        self.lines.append(line)
        for k in self.special:
            del fields[k]
        try:
            self.values.extend(map(float, fields))
        except ValueError:
            wrong = next(k for k, field in enumerate(fields) if not is_number(field))
            raise self._not_finite(line, self.columns.features[wrong], fields[wrong]) from None

    def _query(self, line: int, field: str) -> int:
        if not (field.isascii() and field.isdigit() and len(field) < 20 and int(field) < 2**63):
            reason = f"a qid must be an integer from 0 to {2**63 - 1}, got {field[:40]!r}"
            raise DataError(reason, self.source, line, repr(self.names[self.columns.qid or 0]))
        return int(field)

    def _not_finite(self, line: int, column: int, field: str) -> DataError:
        reason = f"expected a finite number, got {field[:40]!r}"
        if not field.strip():
            reason += ": a value is missing; missing='median' fills it in, or leave the row or the column out"
        elif not is_number(field):
            name = self.names[column]
            reason += f"; target={name!r} if it is to be predicted, categorical=[{name!r}] if it is a "
            reason += f"feature, drop=[{name!r}] leaves it out"
        return DataError(reason, self.source, line, repr(self.names[column]))

    def data(self, dtype: np.dtype[Any]) -> Data:
        shape = len(self.lines), len(self.columns.features)
        with np.errstate(over="ignore"):
            X = np.asarray(self.values).reshape(shape).astype(dtype, copy=False)
        for row, k in np.argwhere(~np.isfinite(X))[:1].tolist():
            field = repr(self.values[row * shape[1] + k])
            raise self._not_finite(self.lines[row], self.columns.features[k], field)
        y = None if self.columns.target is None else self._targets(self.columns.target)
        qid = None if self.columns.qid is None else np.array(self.queries, dtype=np.int64)
        return Data(X, y, qid, tuple(self.names[k] for k in self.columns.features))

    def _targets(self, column: int) -> NDArray[Any]:
        """Numbers if the first one is a number, so that a slip of the pen is not taken for a class."""
        if self.words is None:
            self.words = bool(self.targets) and not is_number(self.targets[0])
        if self.words:
            return np.array(self.targets, dtype=np.str_)
        y = np.empty(len(self.targets))
        for i, field in enumerate(self.targets):
            if not (is_number(field) and math.isfinite(float(field))):
                raise self._not_finite(self.lines[i], column, field)
            y[i] = float(field)
        return y


def write_csv(target: Target, data: Data, *, delimiter: str = ",") -> None:
    """Write a table with a header: the features, then ``qid`` and ``target`` if there are any.

    Parameters
    ----------
    target : path, binary file or "-"
        "-" is standard output; ``.gz``, ``.bz2``, ``.xz`` or ``.zst`` at the end of a path packs.
    data : Data
        A sparse X is written with its zeros. Columns without names are called x0, x1, ...
    delimiter : str
        One character.
    """
    X, y, qid, names = check_writable(data)
    if sparse.issparse(y):
        raise ValueError("y must be a vector: a table has one target column")
    header = list(names) if names is not None else [f"x{k}" for k in range(X.shape[1])]
    features = len(header)
    header += [free_name("qid", header)] if qid is not None else []
    header += [free_name("target", header)] if y is not None else []
    form = "{:.9g}".format if X.dtype == np.float32 else repr
    step = max(1, 2**20 // max(1, features))
    with written(target) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        writer.writerow(header)
        for start in range(0, X.shape[0], step):
            rows = slice(start, start + step)
            block = X[rows].toarray() if sparse.issparse(X) else X[rows]
            table = [list(map(form, row)) for row in block.tolist()]
            for part in (qid, y):
                if part is not None:
                    for row, value in zip(table, part[rows].tolist(), strict=True):
                        row.append(value)
            writer.writerows(table)
        text.flush()
        text.detach()
