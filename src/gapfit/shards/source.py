"""A folder of shards, to be fitted to as it is."""

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gapfit._types import Data
from gapfit.design.base import Design
from gapfit.design.given import Given
from gapfit.design.parted import RESIDENT, PartedDesign
from gapfit.errors import DataError
from gapfit.shards.manifest import read_manifest
from gapfit.shards.parts import ShardParts


class Shards(Given):
    """Data on disk: a design, targets, weights and queries. `open_shards` makes it.

    Attributes
    ----------
    shape : rows and columns of X.
    design : the design; in memory, if all rows fit into `resident`.
    y, sample_weight, groups : of all rows, or None.
    names : of the columns, or None.
    """

    def __init__(self, parts: ShardParts, resident: float, client: Any = None) -> None:
        self.parts, self.resident, self.client = parts, resident, client
        manifest = parts.manifest
        self.shape = manifest.rows, manifest.columns
        self.names = None if manifest.names is None else tuple(manifest.names)

    def __repr__(self) -> str:
        return f"Shards({str(self.parts.folder)!r})"

    def __len__(self) -> int:
        return self.shape[0]

    @cached_property
    def design(self) -> Design:  # type: ignore[override]
        if self.client is not None:
            from gapfit.cluster import spread

            return spread(self.parts, self.client)
        parted = PartedDesign(self.parts, self.resident)
        return parted.take(slice(None)) if self.parts.bytes <= self.resident else parted

    @property
    def y(self) -> Any:
        """Read each time: who fits has his own."""
        kind = self.parts.manifest.y
        return None if kind is None else self._vector("y", kind == "word")

    @cached_property
    def sample_weight(self) -> Any:
        return self._vector("weight") if self.parts.manifest.weight else None

    @cached_property
    def groups(self) -> Any:
        return self._vector("qid") if self.parts.manifest.qid else None

    def _vector(self, name: str, word: bool = False) -> Any:
        pieces = [self.parts.opened(k).vector(name, word) for k in range(len(self.parts.slices))]
        return np.concatenate(pieces)

    def blocks(self) -> Iterator[Data]:
        """X, one shard after the other."""
        for k in range(len(self.parts.slices)):
            yield self.parts.load(k).X

    def verify(self) -> None:
        """Read all files and compare their checksums with the manifest's."""
        self.parts.verify()


def open_shards(path: str | os.PathLike[str], *, resident: float = RESIDENT, client: Any = None) -> Shards:
    """The shards in a folder, for `Problem(shards, None, loss)` and `LinearClassifier().fit(shards)`.

    Parameters
    ----------
    path : folder that `gapfit shard` or `shard` has written.
    resident : bytes of rows that may be in memory at once, beside the files that the system keeps there. If
        all of them fit, the fit runs in memory.
    client : `distributed.Client` or the address of a scheduler, whose workers load the shards and keep them;
        the folder must have the same path for all of them. None is for this process alone.

    Raises
    ------
    DataError
        If there is no manifest, if it is damaged, or if the conversion is not finished. Files are looked at
        when they are used; one that has vanished, shrunk or changed is an error then, which names it.
    """
    folder = Path(path)
    manifest = read_manifest(folder)
    if not manifest.complete:
        raise DataError("the conversion is not finished: the same `gapfit shard` goes on", str(folder))
    if not manifest.shards:
        raise DataError("there are no samples", str(folder))
    return Shards(ShardParts(folder, manifest), resident, client)
