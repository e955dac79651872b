"""Writing shards, one after the other; the manifest says after each how far that has come."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gapfit.errors import DataError
from gapfit.reductions import Multiset
from gapfit.shards.arrow import Columns, write_arrow
from gapfit.shards.manifest import NAME, Manifest, Shard, read_manifest


class ShardWriter:
    """Writes blocks of samples to a folder, each as one shard.

    Parameters
    ----------
    folder : a new or empty folder, or one where a conversion of the same source was interrupted.
    source : what is converted, as JSON knows it; `position` below says how far.
    merge : keep one of equal samples of a shard, with their number as weight.
    """

    def __init__(
        self, folder: str | os.PathLike[str], source: dict[str, Any], *, merge: bool = False
    ) -> None:
        self.folder, self.source, self.merge = Path(folder), source, merge
        self.manifest: Manifest | None = None
        self.position: dict[str, Any] | None = None  # after the last shard that was written
        self.folder.mkdir(parents=True, exist_ok=True)
        if (self.folder / NAME).exists():
            self.manifest = found = read_manifest(self.folder)
            self.position = found.source.get("position")
            if {**found.source, "position": None} != {**source, "position": None}:
                raise DataError("shards of other data, or made with other options: remove them", str(folder))
        elif any(self.folder.iterdir()):
            raise DataError("this folder is not empty, and no conversion began here", str(folder))

    @property
    def complete(self) -> bool:
        return self.manifest is not None and self.manifest.complete

    def add(self, block: Columns, names: Any = None, position: Any = None) -> None:
        """Write samples, at least one, as the next shard."""
        if self.merge:
            block = _merged(block)
        if self.manifest is None:
            self.manifest = _described(block, names)
        manifest = self._checked(block)
        number = len(manifest.shards)
        path = self.folder / f"part-{number:06d}.arrow"
        size, digest = write_arrow(path, block)
        entries = int(block.X.nnz if sparse.issparse(block.X) else block.X.size)
        shard = Shard(path.name, block.X.shape[0], entries, size, os.stat(path).st_mtime_ns, digest)
        self.position = position
        self.manifest = replace(
            manifest,
            columns=max(manifest.columns, block.X.shape[1]),
            source={**self.source, "position": position},
            shards=[*manifest.shards, shard],
        )
        self.manifest.write(self.folder)

    def _checked(self, block: Columns) -> Manifest:
        """The manifest, if the block is of the same kind as those before."""
        assert self.manifest is not None
        new, old = _described(block, self.manifest.names), self.manifest
        kind = ("kind", "dtype", "y", "weight", "qid")
        different = [name for name in kind if getattr(new, name) != getattr(old, name)]
        if different or (old.kind == "dense" and new.columns != old.columns):
            raise DataError(f"{different[0] if different else 'columns'} differs from block to block")
        return old

    def finish(self) -> Manifest:
        """Say that this is all."""
        if self.manifest is None:
            raise DataError("there are no samples")
        self.manifest = replace(self.manifest, complete=True)
        self.manifest.write(self.folder)
        return self.manifest


def _described(block: Columns, names: Any) -> Manifest:
    y = None if block.y is None else "word" if np.asarray(block.y).dtype.kind == "U" else "number"
    return Manifest(
        kind="sparse" if sparse.issparse(block.X) else "dense",
        columns=block.X.shape[1],
        dtype=str(block.X.dtype),
        y=y,
        weight=block.weight is not None,
        qid=block.qid is not None,
        names=None if names is None else list(names),
    )


def _merged(block: Columns) -> Columns:
    if block.qid is not None:
        raise ValueError("samples of queries are not merged: leave merge out")
    weight = np.ones(block.X.shape[0]) if block.weight is None else block.weight
    y = np.zeros(len(weight)) if block.y is None else block.y
    origin = Multiset.of(block.X, y, weight, None)
    return Columns(origin.apply(block.X), None if block.y is None else origin.apply(y), origin.weight)
