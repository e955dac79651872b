"""Shards as parts of a design: each is read, used and let go of in every pass.

A file is looked at closely when it is first used: its structure, its numbers, and its checksum unless it is
as old as the manifest says. From then on its size and its time of change must stay what they were.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gapfit.design.memory import MemoryDesign
from gapfit.design.parts import LocalParts
from gapfit.errors import DataError
from gapfit.fingerprint import fingerprint
from gapfit.shards.arrow import Reader, check_numbers, checksum, copied, mapped
from gapfit.shards.manifest import Manifest, Shard


class ShardParts(LocalParts):
    """The shards of a folder."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest
        self.edges = np.concatenate(([0], np.cumsum([one.rows for one in manifest.shards], dtype=np.intp)))
        self.columns, self.dtype, self.size = manifest.columns, np.dtype(manifest.dtype), manifest.entries
        self.seen: dict[int, tuple[int, int]] = {}  # shards that were looked at: size and time of change

    def load(self, k: int) -> MemoryDesign:
        reader = self.opened(k, copied)
        manifest = self.manifest
        X = reader.matrix(manifest.kind, manifest.columns, manifest.dtype)
        if k not in self.seen:
            self._look_at(k, X, reader.path)
        return MemoryDesign(X)

    def opened(self, k: int, source: Callable[[str], Any] = mapped) -> Reader:
        """The file of the k-th shard, which is what it was."""
        shard = self.manifest.shards[k]
        path = self.folder / shard.file
        self._check_unchanged(k, shard, path)
        reader = Reader(path, source)
        if reader.batch.num_rows != shard.rows:
            raise DataError(f"{reader.batch.num_rows} rows, where {shard.rows} were written", str(path))
        return reader

    def _check_unchanged(self, k: int, shard: Shard, path: Path) -> None:
        try:
            now = os.stat(path)
        except OSError as error:
            raise DataError(f"this shard cannot be read any more: {error.strerror}", str(path)) from error
        if now.st_size != shard.bytes:
            reason = f"this shard has {now.st_size} bytes, where {shard.bytes} were written"
            raise DataError(reason, str(path))
        if self.seen.get(k, (now.st_size, now.st_mtime_ns)) != (now.st_size, now.st_mtime_ns):
            raise DataError("this shard has changed while it was in use", str(path))

    def _look_at(self, k: int, X: object, path: str) -> None:
        """The first time."""
        shard, now = self.manifest.shards[k], os.stat(path)
        if now.st_mtime_ns != shard.mtime_ns:
            self._check_sum(shard, path)
        check_numbers(X, path)
        self.seen[k] = now.st_size, now.st_mtime_ns

    def _check_sum(self, shard: Shard, path: str) -> None:
        if (found := checksum(Path(path))) != shard.xxh3:
            raise DataError(f"the checksum is {found}, where {shard.xxh3} was written", path)

    def verify(self) -> None:
        """Read everything, and compare checksums."""
        for k, shard in enumerate(self.manifest.shards):
            self.opened(k)
            self._check_sum(shard, str(self.folder / shard.file))

    @property
    def bytes(self) -> float:
        return float(self.manifest.bytes)

    def digest(self) -> str:
        manifest = self.manifest
        sums = [(shard.xxh3, shard.bytes, shard.rows) for shard in manifest.shards]
        return fingerprint(manifest.kind, manifest.columns, manifest.dtype, sums)
