"""Any data file, by its name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gapfit.datasets.csv_text import read_csv, write_csv
from gapfit.datasets.lines import Source, name_of
from gapfit.datasets.npz import read_npz, write_npz
from gapfit.datasets.output import Target
from gapfit.datasets.packed import packing_of
from gapfit.datasets.parquet import read_parquet, write_parquet
from gapfit.datasets.record import Data, check_features
from gapfit.datasets.svmlight import read_svmlight
from gapfit.datasets.svmlight_output import write_svmlight

READERS: dict[str, Callable[..., Data]] = {
    "svmlight": read_svmlight,
    "csv": read_csv,
    "npz": read_npz,
    "parquet": read_parquet,
}
WRITERS: dict[str, Callable[..., None]] = {
    "svmlight": write_svmlight,
    "csv": write_csv,
    "npz": write_npz,
    "parquet": write_parquet,
}
SUFFIXES = {".csv": "csv", ".tsv": "csv", ".npz": "npz", ".parquet": "parquet", ".pq": "parquet"}
SUFFIXES |= {".npy": "npy"}
FORMATS = (*READERS, "npy")  # a matrix alone, which is only converted to shards
TABLES = ("csv", "parquet")


def load(
    path: Source,
    *,
    format: str | None = None,
    target: str | int | None = None,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    **options: Any,
) -> Data:
    """Read a data file.

    Parameters
    ----------
    path : path, binary file or "-"
        "-" is standard input.
    format : {"svmlight", "csv", "npz", "parquet"}, optional
        By default the name tells: ``.csv``, ``.tsv``, ``.npz``, ``.parquet`` (before ``.gz``, ``.bz2``,
        ``.xz`` or ``.zst``), and svmlight for every other one, as these have names of all kinds.
    target : str or int, optional
        The target's column, in a table (CSV or Parquet). The other formats know their targets.
    n_features : int, optional
        How many columns X has. svmlight files do not say it when the last ones are empty; in the
        other formats it is checked.
    dtype : float64 or float32
        The type of X.
    **options
        For the reader of the format: `read_svmlight`, `read_csv`, `read_npz`, `read_parquet`.

    Returns
    -------
    Data
        X, y, qid and names.

    Raises
    ------
    DataError
        If the file is not what it should be; the message names the place.
    """
    name = name_of(path)
    chosen = format_of(name, format)
    if chosen in TABLES:
        options |= {"target": target}
    elif target is not None:
        raise ValueError(f"target is for tables ({', '.join(TABLES)}); a {chosen} file knows its targets")
    if chosen == "svmlight":
        options |= {"n_features": n_features}
    options = _delimited(name, chosen, options)
    if chosen not in READERS:
        raise ValueError(f"a {chosen} file has no targets of its own: np.load reads it")
    data = READERS[chosen](path, dtype=dtype, **options)
    if chosen != "svmlight":
        check_features(n_features, data.X.shape[1], name)
    return data


def save(path: Target, data: Data, *, format: str | None = None, **options: Any) -> None:
    """Write a data file.

    Parameters
    ----------
    path : path, binary file or "-"
        "-" is standard output. ``.gz``, ``.bz2``, ``.xz`` or ``.zst`` at the end packs a text file.
    data : Data
        What to write.
    format : {"svmlight", "csv", "npz", "parquet"}, optional
        By default the name tells, as in `load`.
    **options
        For the writer of the format: `write_svmlight`, `write_csv`, `write_npz`, `write_parquet`.
    """
    name = name_of(path)
    chosen = format_of(name, format)
    if chosen not in WRITERS:
        raise ValueError(f"a {chosen} file has no targets of its own: np.save writes it")
    WRITERS[chosen](path, data, **_delimited(name, chosen, options))


def _suffix_of(name: str) -> str:
    path = Path(name)
    return (path.with_suffix("") if packing_of(name) else path).suffix.lower()


def format_of(name: str, format: str | None) -> str:
    """The format of a file, by its name unless it is told."""
    if format is None:
        return SUFFIXES.get(_suffix_of(name), "svmlight")
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    return format


def _delimited(name: str, chosen: str, options: dict[str, Any]) -> dict[str, Any]:
    """A .tsv file is a CSV file with tabs."""
    return {"delimiter": "\t"} | options if chosen == "csv" and _suffix_of(name) == ".tsv" else options
