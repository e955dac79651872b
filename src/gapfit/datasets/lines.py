"""Text files as blocks of whole lines: from a path, an open file or standard input, packed or not.

A line has at most ``LINE_LIMIT`` bytes (64 MiB), so that one without an end does not fill the memory.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from gapfit.datasets.packed import Plain, unpacked
from gapfit.errors import DataError

Source = str | os.PathLike[str] | IO[bytes]

CHUNK_BYTES = 2**22
FIRST_BYTES = 2**16  # a small file does not need the memory of a large one
LINE_LIMIT = 2**26
BOM = b"\xef\xbb\xbf"


def name_of(source: Source) -> str:
    """What messages call the source."""
    if isinstance(source, str | os.PathLike):
        return "<stdin>" if source == "-" else os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<file>"


@contextmanager
def opened(source: Source) -> Iterator[IO[bytes]]:
    """The source as a binary file; closed afterwards if it was opened here."""
    if not isinstance(source, str | os.PathLike):
        yield source
    elif source == "-":
        yield sys.stdin.buffer
    else:
        with open(source, "rb", buffering=0) as file:
            yield file


class Lines:
    """A text in blocks of whole lines.

    Whoever takes a block adds the number of its lines to ``line``, which is the next line's number.
    """

    def __init__(
        self, file: IO[bytes], name: str, chunk_bytes: int = CHUNK_BYTES, line_limit: int = LINE_LIMIT
    ) -> None:
        if chunk_bytes < 1 or line_limit < 1:
            raise ValueError(f"chunk_bytes={chunk_bytes!r} and line_limit={line_limit!r} must be positive")
        self.name = name
        self.file = unpacked(file, name)
        self.line = 1
        self.at = 0  # bytes of the text in the blocks so far
        self.chunk_bytes, self.line_limit = min(chunk_bytes, line_limit), line_limit

    def blocks(self) -> Iterator[tuple[bytearray, int]]:
        """Pairs (block, size): ``block[:size]`` ends with a newline, even if the text does not."""
        rest = bytearray(len(BOM))
        del rest[self._fill(memoryview(rest)) :]
        if rest == BOM:
            rest.clear()
            self.at += len(BOM)
        ended = False
        step = min(FIRST_BYTES, self.chunk_bytes)
        while not ended:
            held = len(rest)  # a long line is looked for in ever larger blocks, so that it takes linear time
            block = bytearray(held + max(step, held))
            block[:held] = rest
            step = min(2 * step, self.chunk_bytes)
            size = held + self._fill(memoryview(block)[held:])
            ended = size < len(block)
            if ended and size and block[size - 1] != ord("\n"):
                block[size] = ord("\n")
                size += 1
            cut = block.rfind(b"\n", 0, size) + 1
            if held or not cut:
                length = block.find(b"\n", 0, size) if cut else size
                if length > self.line_limit:
                    raise DataError(f"more than {self.line_limit} bytes in one line", self.name, self.line)
            rest = block[cut:size]
            if cut:
                self.at += cut
                yield block, cut

    def skip(self, size: int) -> None:
        """Go on after so many bytes of the text: at once, if the file is the text and can be entered."""
        if size and isinstance(self.file, Plain) and self.file.enter(size):
            left = 0
        else:
            left = size
        self.at, piece = size, bytearray(min(left, CHUNK_BYTES))
        while left and (more := self.file.readinto(memoryview(piece)[: min(left, len(piece))])):
            left -= more
        if left:
            raise DataError(f"the file ends before byte {size}, up to where it was read", self.name)

    def texts(self) -> Iterator[str]:
        """The lines one by one, as UTF-8; ``line`` is the number of the one that is looked at."""
        for block, size in self.blocks():
            for line in io.BytesIO(memoryview(block)[:size]):
                try:
                    yield line.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise DataError(f"not UTF-8: {error.reason}", self.name, self.line) from error
                self.line += 1

    def _fill(self, view: memoryview) -> int:
        size = 0
        while size < len(view) and (more := self.file.readinto(view[size:])):
            size += more
        return size
