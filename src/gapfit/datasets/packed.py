"""gzip, bzip2, xz and zstd files, unpacked and packed as a stream.

A file that unpacks to more than ``RATIO_LIMIT`` times its size, and more than 64 MiB, is refused: a
few hostile bytes could fill the memory. Honest ones can be unpacked by another program and piped in.
"""

import bz2
import gzip
import importlib
import io
import lzma
import zlib
from pathlib import Path
from typing import IO, Any

from gapfit.errors import DataError

RATIO_LIMIT = 256
RATIO_SLACK = 2**26

# Packed files are known by their first bytes when they are read, and by their names when written.
MAGIC = {"gz": b"\x1f\x8b", "bz2": b"BZh", "xz": b"\xfd7zXZ\x00", "zst": b"\x28\xb5\x2f\xfd"}


OPENERS: dict[str, Any] = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}


def packing_of(name: str) -> str | None:
    """gz, bz2, xz, zst or None, by the end of the name."""
    suffix = Path(name).suffix.lower().lstrip(".")
    return suffix if suffix in MAGIC else None


def unpacked(file: IO[bytes], name: str) -> "io.RawIOBase":
    """The file itself if it is not packed, and what is in it otherwise; corrupt data raise DataError."""
    raw = Plain(file)
    head = raw.peek(max(map(len, MAGIC.values())))
    kind = next((k for k, magic in MAGIC.items() if head.startswith(magic)), None)
    if kind is None and packing_of(name):
        raise DataError(f"this is not a {packing_of(name)} file, in spite of its name", name)
    return raw if kind is None else _Unpacked(raw, kind, name)


def packed(file: IO[bytes], name: str) -> Any:
    """A file to write to, whose bytes are packed as the name says; closing it leaves ``file`` open."""
    kind = packing_of(name)
    if kind == "gz":
        return gzip.GzipFile("", "wb", fileobj=file, mtime=0)  # equal data give equal bytes
    if kind == "bz2":
        return bz2.BZ2File(file, "wb")
    if kind == "xz":
        return lzma.LZMAFile(file, "wb", preset=1)
    if kind == "zst":
        library = _zstd(name)
        if hasattr(library, "ZstdFile"):
            return library.ZstdFile(file, "wb")
        return library.ZstdCompressor().stream_writer(file, closefd=False)
    return file


def _zstd(name: str) -> Any:
    for module in ("compression.zstd", "backports.zstd", "zstandard"):
        try:
            return importlib.import_module(module)
        except ImportError:
            continue
    raise DataError("zstd needs Python 3.14, or the package zstandard (pip install zstandard)", name)


class Plain(io.RawIOBase):
    """A binary file that counts what was taken from it, and whose first bytes can be looked at."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.taken = 0
        self.head = b""

    def readable(self) -> bool:
        return True

    def peek(self, size: int) -> bytes:
        while len(self.head) < size and (more := self._read(size - len(self.head))):
            self.head += more
        return self.head

    def enter(self, place: int) -> bool:
        """Go on from there, if the file can be entered anywhere."""
        if not (hasattr(self.file, "seekable") and self.file.seekable()):
            return False
        self.file.seek(place)
        self.head = b""
        return True

    def _read(self, size: int) -> bytes:
        found = self.file.read(size)
        if not isinstance(found, bytes):
            raise TypeError(
                f"the file must be open in binary mode and blocking, but gave {type(found).__name__}"
            )
        return found

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        if not self.head and hasattr(self.file, "readinto"):
            size = self.file.readinto(view)
            if size is None:
                raise BlockingIOError("the file must be blocking")
        else:
            found = self.head[: len(view)] or self._read(len(view))
            self.head = self.head[len(found) :]
            size = len(found)
            view[:size] = found
        self.taken += size
        return int(size)


class _Unpacked(io.RawIOBase):
    """What is in a packed file."""

    def __init__(self, raw: Plain, kind: str, name: str) -> None:
        self.raw, self.name = raw, name
        self.given = 0
        self.errors: tuple[type[Exception], ...] = (EOFError, OSError, zlib.error, lzma.LZMAError)
        self.file: Any
        if kind == "zst":
            library = _zstd(name)
            self.file = library.ZstdFile(raw) if hasattr(library, "ZstdFile") else _ZstdFrames(raw, library)
            self.errors += (library.ZstdError,)
        else:
            self.file = OPENERS[kind](raw)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            size = self.file.readinto(buffer)
        except self.errors as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the disk's fault
            what = "it ends too early" if isinstance(error, EOFError) else str(error)
            raise DataError(f"cannot unpack this file: {what}", self.name) from error
        self.given += size
        if self.given > RATIO_SLACK + RATIO_LIMIT * self.raw.taken:
            advice = "if that is right, unpack it with another program"
            raise DataError(f"unpacks to more than {RATIO_LIMIT} times its size; {advice}", self.name)
        return int(size)


class _ZstdFrames(io.RawIOBase):
    """The frames of a zstd file. zstandard's own reader takes a truncated one for complete."""

    def __init__(self, raw: io.RawIOBase, library: Any) -> None:
        self.raw, self.decompressor = raw, library.ZstdDecompressor()
        self.frame: Any = None
        self.input = self.output = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.output:
            self.input = self.input or self.raw.read(1024) or b""  # which gives 32 MiB at the very most
            if not self.input:
                if self.frame is not None:
                    raise EOFError
                return 0
            self.frame = self.frame or self.decompressor.decompressobj()
            self.output, self.input = self.frame.decompress(self.input), b""
            if self.frame.eof:
                self.input, self.frame = self.frame.unused_data, None
        view = memoryview(buffer).cast("B")
        size = min(len(view), len(self.output))
        view[:size], self.output = self.output[:size], self.output[size:]
        return size
