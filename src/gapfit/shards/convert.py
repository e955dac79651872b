"""From a data file of any size to shards, in bounded memory; what was interrupted goes on where it was."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gapfit.datasets.files import format_of
from gapfit.datasets.pieces import Piece, pieces
from gapfit.datasets.record import as_dtype
from gapfit.shards.arrow import Columns, libraries
from gapfit.shards.manifest import Manifest
from gapfit.shards.writer import ShardWriter

SHARD_BYTES = 24 * 2**20  # of rows in a shard


def shard(
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    format: str | None = None,
    target: str | int | None = None,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    shard_bytes: int = SHARD_BYTES,
    merge: bool = False,
    progress: Callable[[float, float], None] | None = None,
) -> Manifest:
    """Convert a data file to shards, a piece at a time.

    The same call after an interruption goes on after the last shard that was finished.

    Parameters
    ----------
    source : path of a svmlight file (plain or packed), CSV or Parquet table, npy or npz archive.
    folder : where to; new, empty, or left by the same conversion.
    format, target, n_features, dtype : as of `gapfit.datasets.load`.
    shard_bytes : how large a shard is, about. It is held in memory while it is made.
    merge : keep one of equal samples of a shard, with their number as weight.
    progress : called with the share that is done, and the seconds that are left, about.

    Returns
    -------
    Manifest
        Rows, entries and bytes of what was written.
    """
    libraries()  # before anything is read
    if shard_bytes < 1:
        raise ValueError(f"shard_bytes must be positive, got {shard_bytes!r}")
    path = Path(source)
    stat = path.stat()
    options: dict[str, Any] = {"target": target, "n_features": n_features, "dtype": str(as_dtype(dtype))}
    chosen = format_of(str(path), format)
    about = {
        "file": path.name, "bytes": stat.st_size, "mtime_ns": stat.st_mtime_ns, "format": chosen,
        "shard_bytes": shard_bytes, "merge": merge, **options,
    }  # fmt: skip
    writer = ShardWriter(folder, about, merge=merge)
    if not writer.complete:
        options["dtype"] = as_dtype(dtype)
        found = pieces(path, chosen, shard_bytes, writer.position, **options)
        for piece in _timed(found, progress):
            X, y, qid, names = piece.data
            y = y if y is None or y.dtype.kind == "U" else y.astype(np.float64)
            writer.add(Columns(X, y, None, qid), names, piece.position)
            del piece, X, y, qid  # else they would be there while the next ones are made
    return writer.finish()


def _timed(found: Iterator[Piece], progress: Callable[[float, float], None] | None) -> Iterator[Piece]:
    """Pieces, and what is left to be done after each."""
    began = perf_counter()
    for piece in found:
        done = piece.done
        yield piece
        del piece
        if progress is not None:
            progress(done, (perf_counter() - began) * (1.0 - done) / max(done, 1e-9))
