r"""The file of a checkpoint: JSON and raw arrays under a checksum, whole or not there at all.

    8 bytes   "\x89gapchk\n"
    4         the format, 1
    8         size of the JSON text
    8         size of the file
              JSON, then the arrays as it describes them, each at a multiple of 64 bytes
    32        BLAKE2b of everything before

All numbers are little-endian. The file may come from a disk that failed, so every number is checked against
its size before it is followed.
"""

import json
import os
import stat
import struct
from collections.abc import Sequence
from hashlib import blake2b
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapfit.atomic import replacing
from gapfit.errors import CheckpointError

FORMAT = 1
MAGIC = b"\x89gapchk\n"

_PREFIX = struct.Struct("<8sIQQ")
_DIGEST = 32
_ALIGN = 64
_SIDES = 4  # of an array, at most
_DTYPES = {"|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8"}


def write(path: str, header: dict[str, Any], arrays: Sequence[NDArray[Any]]) -> None:
    """Put a new file in the place of the old one; OSError, and the old one stays, if that fails."""
    table: list[Any] = []
    pieces: list[Any] = []
    end = 0
    for array in arrays:
        fortran = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
        flat = np.asarray(array.T if fortran else array, array.dtype.newbyteorder("<"), order="C")
        start = _aligned(end)
        table.append([flat.dtype.str, list(array.shape), int(fortran), start])
        pieces += [bytes(start - end), flat.reshape(-1).view(np.uint8)]
        end = start + flat.nbytes
    text = json.dumps({**header, "arrays": table}, allow_nan=False).encode()
    text += b" " * (_aligned(_PREFIX.size + len(text)) - _PREFIX.size - len(text))
    size = _PREFIX.size + len(text) + end + _DIGEST
    digest = blake2b(digest_size=_DIGEST)
    with replacing(path) as file:
        for piece in (_PREFIX.pack(MAGIC, FORMAT, len(text), size), text, *pieces):
            digest.update(piece)
            file.write(piece)
        file.write(digest.digest())


def read(path: str) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """The header and the arrays; CheckpointError if anything is amiss."""
    size = os.stat(path).st_size
    _need(stat.S_ISREG(os.stat(path).st_mode), "it is not a regular file")
    with open(path, "rb") as file:
        start = file.read(_PREFIX.size)
        _need(start[: len(MAGIC)] == MAGIC, "it is not a checkpoint of gapfit")
        _need(len(start) == _PREFIX.size, "the file ends too early")
        _, version, text_size, expected = _PREFIX.unpack(start)
        _need(version == FORMAT, f"it has format {version}, and this version of gapfit reads format {FORMAT}")
        _need(size >= expected, f"the file ends too early: {size} bytes of {expected}")
        _need(size == expected, f"the file has {size - expected} bytes too many")
        data = start + file.read(size - len(start))
    _need(len(data) == size, "the file changed while it was read")
    body = memoryview(data)[:-_DIGEST]
    intact = blake2b(body, digest_size=_DIGEST).digest() == data[-_DIGEST:]
    _need(intact, "the checksum is wrong: the file is damaged")
    first = _PREFIX.size + text_size
    _need(first % _ALIGN == 0 and first + _DIGEST <= size, "the size of its header cannot be")
    header = _parse(data[_PREFIX.size : first])
    return header, _arrays(header.pop("arrays", None), body[first:])


def _need(condition: Any, reason: str) -> None:
    if not condition:
        raise CheckpointError(reason)


def _parse(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"its header is not valid JSON: {error}") from error
    _need(isinstance(header, dict), "its header is not a JSON object")
    return dict(header)


def _arrays(table: Any, data: memoryview) -> list[NDArray[Any]]:
    """Views of the data, which follow one another without overlap."""
    _need(isinstance(table, list), "its header has no list of arrays")
    views, end = [], 0
    for entry in table:
        _need(isinstance(entry, list) and len(entry) == 4, "an array is not described")
        name, shape, fortran, offset = entry
        _need(isinstance(name, str) and name in _DTYPES, "an array has an unknown dtype")
        _need(isinstance(shape, list) and len(shape) <= _SIDES, "an array has no valid shape")
        _need(all(type(n) is int and 0 <= n <= len(data) for n in shape), "an array has no valid shape")
        dtype = np.dtype(name)
        size = prod(shape) * dtype.itemsize  # integers of Python: they do not overflow
        _need(type(offset) is int and offset == _aligned(end), "an array does not follow the one before it")
        _need(offset + size <= len(data), "an array reaches beyond the end of the file")
        flat = np.frombuffer(data[offset : offset + size], dtype)
        valid = dtype.kind != "b" or bool((flat.view(np.uint8) <= 1).all())
        _need(valid, "an array holds bytes that are no value of its dtype")
        views.append(flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape))
        end = offset + size
    _need(end == len(data), "there are stray bytes after the last array")
    return views


def _aligned(position: int) -> int:
    return -(-position // _ALIGN) * _ALIGN
