"""Files of one shape: a JSON header and raw arrays, under a checksum. Model files and checkpoints are such.

The layout is on the page docs/model_files.md. A file may come from anywhere, or from a disk that failed, so
every number in it is checked against the size of the file before memory is taken for what it describes.
"""

import hashlib
import json
import os
import re
import stat
import struct
from collections.abc import Callable, Sequence
from math import prod
from reprlib import repr as show  # what a file says may be huge, or nested deeply: it is cut short
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_PREFIX = struct.Struct("<8sIIQ")  # magic, format, size of the header, size of the file
_DIGEST = 32  # bytes of SHA-256, at the end
_ALIGN = 64
_DTYPES = {"|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8"}
_TEXT = re.compile(r"<U[1-9][0-9]{0,7}")


def storable(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of this type have a place in a file."""
    return _known(dtype.newbyteorder("<").str)


def _known(dtype: Any) -> bool:
    return isinstance(dtype, str) and (dtype in _DTYPES or _TEXT.fullmatch(dtype) is not None)


class Container(NamedTuple):
    """One kind of such files."""

    what: str  # it is called
    magic: bytes  # no text begins like this, and a change of line ends shows
    formats: tuple[int, ...]  # that can be read; the last one is written
    error: Callable[[str], Exception]  # to be raised where a file is none of this kind, or damaged
    header_limit: int  # bytes
    sides: int  # of an array, at most
    refuses: Callable[[NDArray[Any]], str]  # what an array holds that has no place in such a file, if any

    def write(self, file: IO[bytes], header: dict[str, Any], arrays: Sequence[NDArray[Any]]) -> None:
        """Write all of a file, which is open and empty."""
        table: list[dict[str, Any]] = []
        pieces: list[Any] = []
        end = 0
        for array in arrays:
            array = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
            offset = _aligned(end)
            table.append({"dtype": array.dtype.str, "shape": list(array.shape), "offset": offset})
            pieces += [bytes(offset - end), array.reshape(-1).view(np.uint8)]
            end = offset + array.nbytes
        text = json.dumps({**header, "arrays": table}, allow_nan=False).encode()
        text += b" " * (_aligned(_PREFIX.size + len(text)) - _PREFIX.size - len(text))
        if len(text) > self.header_limit:
            limit = self.header_limit
            raise ValueError(f"the parameters take {len(text)} bytes; {self.what} has room for {limit}")
        size = _PREFIX.size + len(text) + end + _DIGEST
        digest = hashlib.sha256()
        for piece in (_PREFIX.pack(self.magic, self.formats[-1], len(text), size), text, *pieces):
            digest.update(piece)
            file.write(piece)
        file.write(digest.digest())
        file.flush()

    def read(self, path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[NDArray[Any]]]:
        """The header and the arrays (read-only, little-endian); an error if anything is amiss."""
        status = os.stat(path)
        self.need(stat.S_ISREG(status.st_mode), "this is not a regular file")
        with open(path, "rb") as file:
            # before the rest is read, which may be anything
            header_size = self._check_prefix(file.read(_PREFIX.size), status.st_size)
            file.seek(0)
            data = file.read(status.st_size)
        self.need(len(data) == status.st_size, "the file changed while it was read")
        body = memoryview(data)[:-_DIGEST]
        intact = hashlib.sha256(body).digest() == data[-_DIGEST:]
        self.need(intact, "the checksum is wrong: the file is damaged")
        first = _PREFIX.size + header_size
        header = self._parse(data[_PREFIX.size : first])
        return header, self._arrays(header.pop("arrays", None), body[first:])

    def need(self, condition: Any, reason: str) -> None:
        """Raise the error unless the condition holds."""
        if not condition:
            raise self.error(reason)

    def _check_prefix(self, start: bytes, size: int) -> int:
        """The size of the header."""
        self.need(start[: len(self.magic)] == self.magic, f"this is not {self.what}")
        self.need(len(start) == _PREFIX.size, "the file ends too early")
        _, version, header_size, expected = _PREFIX.unpack(start)
        known = f"this version of gapfit loads format {' and '.join(map(str, self.formats))} only"
        self.need(version in self.formats, f"it has format {version}; {known}")
        self.need(size >= expected, f"the file ends too early: {size} bytes of {expected}")
        self.need(size == expected, f"the file has {size - expected} bytes too many")
        self.need(header_size <= self.header_limit, f"its header is larger than {self.header_limit} bytes")
        first = _PREFIX.size + header_size
        possible = first % _ALIGN == 0 and first + _DIGEST <= size
        self.need(possible, f"its header cannot have {header_size} bytes")
        return int(header_size)

    def _parse(self, text: bytes) -> dict[str, Any]:
        try:
            header = json.loads(text.decode(), object_pairs_hook=_distinct, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise self.error(f"its header is not valid JSON: {error}") from error
        self.need(isinstance(header, dict), "its header is not a JSON object")
        return dict(header)

    def _arrays(self, table: Any, data: memoryview) -> list[NDArray[Any]]:
        """Views of the data. They must tile it: no overlap, no gap but for alignment, nothing left over."""
        self.need(isinstance(table, list), "its header has no list of arrays")
        views, end, need = [], 0, self.need
        for k, entry in enumerate(table):
            described = isinstance(entry, dict) and entry.keys() == {"dtype", "shape", "offset"}
            need(described, f"array {k} needs dtype, shape and offset")
            name, shape, offset = entry["dtype"], entry["shape"], entry["offset"]
            need(_known(name), f"array {k} has an unknown dtype {show(name)}")
            need(isinstance(shape, list) and len(shape) <= self.sides, f"array {k} has no valid shape")
            # every side, so that zero times a huge number cannot occur either
            need(all(type(n) is int and 0 <= n <= len(data) for n in shape), f"array {k} has no valid shape")
            dtype = np.dtype(name)
            size = prod(shape) * dtype.itemsize  # integers of Python: they do not overflow
            follows = type(offset) is int and offset == _aligned(end)
            need(follows, f"array {k} does not follow the one before it")
            need(offset + size <= len(data), f"array {k} reaches beyond the end of the file")
            need(not any(data[end:offset]), f"there are stray bytes before array {k}")
            view = np.frombuffer(data[offset : offset + size], dtype).reshape(shape)
            need(_has_values(view), f"array {k} holds bytes that are no value of its dtype")
            need(not (wrong := self.refuses(view)), f"array {k} holds {wrong}")
            views.append(view)
            end = offset + size
        need(end == len(data), "there are stray bytes after the last array")
        return views


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are distinct: readers disagree on what a second one means."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name appears twice in an object")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _has_values(array: NDArray[Any]) -> bool:
    """Whether the bytes are values of the dtype."""
    if array.dtype.kind == "b":
        return bool((array.view(np.uint8) <= 1).all())
    return array.dtype.kind != "U" or bool((array.reshape(-1).view("<u4") <= 0x10FFFF).all())


def _aligned(position: int) -> int:
    return -(-position // _ALIGN) * _ALIGN
