"""The manifest of a folder of shards: what is in it, as JSON that is read with suspicion."""

import json
import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from gapfit.atomic import replacing
from gapfit.errors import DataError

NAME = "manifest.json"
FORMAT = "gapfit shards"
VERSION = 1
_LARGEST = 2**28  # bytes of a manifest: a shard takes about 150


@dataclass(frozen=True)
class Shard:
    """One file."""

    file: str
    rows: int
    entries: int
    bytes: int
    mtime_ns: int  # of the file as it was written: one that has kept it need not be read to be believed
    xxh3: str

    def __post_init__(self) -> None:
        _check_kinds(self)
        if Path(self.file).name != self.file or self.file.startswith("."):
            raise ValueError(f"a shard lies in its folder, not at {self.file!r}")
        if min(self.rows - 1, self.entries, self.bytes) < 0:
            raise ValueError(f"shard {self.file} has negative sizes, or no rows")


@dataclass(frozen=True)
class Manifest:
    """All of them, and what they have in common."""

    kind: str  # sparse, dense
    columns: int
    dtype: str  # float64, float32
    y: str | None = None  # number, word; None if there are no targets
    weight: bool = False
    qid: bool = False
    names: list[str] | None = None
    complete: bool = False
    source: dict[str, Any] = field(default_factory=dict)  # what was converted, and how far
    shards: list[Shard] = field(default_factory=list)

    def __post_init__(self) -> None:
        _check_kinds(self)
        for name, known in (
            ("kind", ("sparse", "dense")),
            ("dtype", ("float64", "float32")),
            ("y", (None, "number", "word")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is {getattr(self, name)!r}, which is none of {known}")
        if self.columns < 0 or (self.names is not None and len(self.names) != self.columns):
            raise ValueError(f"{self.columns} columns, but {len(self.names or [])} names")
        if len({one.file for one in self.shards}) < len(self.shards):
            raise ValueError("a shard is listed twice")

    @property
    def rows(self) -> int:
        return sum(one.rows for one in self.shards)

    @property
    def entries(self) -> int:
        return sum(one.entries for one in self.shards)

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in self.shards)

    def write(self, folder: Path) -> None:
        """As a whole or not at all."""
        text = json.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}, indent=1)
        with replacing(folder / NAME) as file:
            file.write(text.encode())


def read_manifest(folder: str | os.PathLike[str]) -> Manifest:
    """That of a folder; a DataError if it is none."""
    path = Path(folder) / NAME
    try:
        if path.stat().st_size > _LARGEST:
            raise DataError(f"more than {_LARGEST} bytes in a manifest", str(path))
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError("no shards here: `gapfit shard DATA FOLDER` writes some", str(path)) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"not a manifest: {error}", str(path)) from error
    if not isinstance(found, dict) or found.pop("format", None) != FORMAT:
        raise DataError("not a manifest of gapfit's shards", str(path))
    if (version := found.pop("version", None)) != VERSION:
        raise DataError(f"a manifest of version {version!r}; this gapfit reads version {VERSION}", str(path))
    try:
        if not isinstance(found.get("shards"), list):
            raise ValueError("no list of shards")
        found["shards"] = [Shard(**one) for one in found["shards"]]
        return Manifest(**found)
    except (TypeError, ValueError) as error:
        raise DataError(f"a damaged manifest: {error}", str(path)) from error


_KINDS: dict[str, Any] = {
    **dict.fromkeys(("file", "xxh3", "kind", "dtype"), str),
    **dict.fromkeys(("rows", "entries", "bytes", "mtime_ns", "columns"), int),
    **dict.fromkeys(("weight", "qid", "complete"), bool),
    "y": str | None, "names": list | None, "source": dict, "shards": list,
}  # fmt: skip


def _check_kinds(record: Any) -> None:
    for one in fields(record):
        value, kind = getattr(record, one.name), _KINDS[one.name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            raise ValueError(f"{one.name} is {value!r}")
    if any(not isinstance(name, str) for name in getattr(record, "names", None) or ()):
        raise ValueError("names that are no words")
