"""Data files in pieces of bounded size, and from the middle on."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gapfit.datasets.columns import Roles
from gapfit.datasets.csv_text import iter_csv
from gapfit.datasets.lines import CHUNK_BYTES, Lines, opened
from gapfit.datasets.npz import read_npz
from gapfit.datasets.parquet import iter_parquet
from gapfit.datasets.record import Data, check_features
from gapfit.datasets.svmlight import Parser
from gapfit.datasets.svmlight_rows import Rows
from gapfit.errors import DataError


class Piece(NamedTuple):
    """Samples, where in the file they end, and which share of it that is."""

    data: Data
    position: dict[str, int]
    done: float


def pieces(
    path: Path, format: str, size: int, start: dict[str, int] | None, **options: Any
) -> Iterator[Piece]:
    """Pieces of about so many bytes, after the position `start`."""
    found: Iterator[Piece] = READERS[format](path, size, start or {}, **options)
    return found


def _svmlight(
    path: Path, size: int, start: dict[str, int], *, target: Any, n_features: int | None, dtype: Any
) -> Iterator[Piece]:
    """A plain file is entered where it was left; a packed one is unpacked up to there."""
    if target is not None:
        raise ValueError("target is for tables; a svmlight file knows its targets")
    whole = max(os.path.getsize(path), 1)
    with opened(path) as file:
        lines = Lines(file, str(path), CHUNK_BYTES)
        lines.skip(start.get("bytes", 0))
        lines.line = start.get("line", 1)
        parser = Parser(lines, n_features, dtype, False, False)
        parser.columns, parser.queried = start.get("columns", 0), start.get("queried", -1)
        rows = Rows(dtype, False)
        for block, taken in lines.blocks():
            parser.parse(block, taken, rows)
            if rows.data.size * (4 + dtype.itemsize) + 12 * len(rows) >= size:
                yield _taken(parser, rows, file.tell() / whole)
                rows = Rows(dtype, False)
        if len(rows):
            yield _taken(parser, rows, 1.0)


def _taken(parser: Parser, rows: Rows, done: float) -> Piece:
    lines = parser.lines
    position = dict(bytes=lines.at, line=lines.line, columns=parser.columns, queried=parser.queried)
    return Piece(parser.take(rows), position, done)


def _rowwise(blocks: Iterator[tuple[Data, float]], start: dict[str, int]) -> Iterator[Piece]:
    """Blocks whose first rows, so many, were there already."""
    skip, at = start.get("rows", 0), 0
    for data, done in blocks:
        at += data.X.shape[0]
        if at <= skip:
            continue
        if at - data.X.shape[0] < skip:
            raise DataError("this file is not the one whose conversion began")
        yield Piece(data, {"rows": at}, done)


def _csv(path: Path, size: int, start: dict[str, int], *, target: Any, n_features: Any, dtype: Any) -> Any:
    delimiter = "\t" if path.name.removesuffix(".gz").endswith(".tsv") else ","
    blocks = iter_csv(path, size, Roles(target), dtype, delimiter=delimiter)
    return _rowwise(_checked(blocks, n_features, path), start)


def _parquet(
    path: Path, size: int, start: dict[str, int], *, target: Any, n_features: Any, dtype: Any
) -> Any:
    return _rowwise(_checked(iter_parquet(path, size, Roles(target), dtype), n_features, path), start)


def _checked(blocks: Any, n_features: int | None, path: Path) -> Iterator[tuple[Data, float]]:
    for data, done in blocks:
        check_features(n_features, data.X.shape[1], str(path))
        yield data, done


def _npy(path: Path, size: int, start: dict[str, int], *, target: Any, n_features: Any, dtype: Any) -> Any:
    """One matrix; `target` is the number of a column."""
    try:
        table = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise DataError(f"not an array of numbers: {error}", str(path)) from error
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        raise DataError(f"a {table.ndim}-d array of {table.dtype}, not a matrix of numbers", str(path))
    if target is not None and not -table.shape[1] <= int(target) < table.shape[1]:
        raise DataError(f"no column {target} among {table.shape[1]}", str(path))

    def blocks() -> Iterator[tuple[Data, float]]:
        n, step = len(table), max(1, size // (dtype.itemsize * max(table.shape[1], 1)))
        for first in range(0, n, step):
            block = np.asarray(table[first : first + step])
            y = None if target is None else block[:, int(target)].astype(np.float64)
            X = np.ascontiguousarray(block if y is None else np.delete(block, int(target), axis=1), dtype)
            if not np.isfinite(X).all() or (y is not None and not np.isfinite(y).all()):
                raise DataError(f"rows from {first} on hold what is not a finite number", str(path))
            yield Data(X, y), min(first + step, n) / n

    return _rowwise(_checked(blocks(), n_features, path), start)


def _npz(path: Path, size: int, start: dict[str, int], *, target: Any, n_features: Any, dtype: Any) -> Any:
    """An archive is packed, and so it is read as a whole."""
    if target is not None:
        raise ValueError("target is for tables; an npz file knows its targets")
    data = read_npz(path, n_features=n_features, dtype=dtype)
    if getattr(data.y, "ndim", 1) != 1:
        raise DataError("shards have one target a sample", str(path))

    def blocks() -> Iterator[tuple[Data, float]]:
        n, X = data.X.shape[0], data.X
        held = (X.data.nbytes + X.indices.nbytes) if hasattr(X, "indices") else X.nbytes
        step = max(1, n * size // max(held, 1))
        for first in range(0, n, step):
            rows = slice(first, first + step)
            y, qid = (None if part is None else part[rows] for part in (data.y, data.qid))
            yield Data(X[rows], y, qid, data.names), min(first + step, n) / n

    return _rowwise(blocks(), start)


READERS: dict[str, Any] = {
    "svmlight": _svmlight, "csv": _csv, "parquet": _parquet, "npy": _npy, "npz": _npz,
}  # fmt: skip
