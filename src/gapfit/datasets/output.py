"""Files to write: complete or not there at all."""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from gapfit.datasets.packed import packed

Target = str | os.PathLike[str] | IO[bytes]


@contextmanager
def written(target: Target) -> Iterator[Any]:
    """A binary file that becomes ``target`` when all went well, packed as its name says.

    "-" is standard output.
    """
    if not isinstance(target, str | os.PathLike):
        yield target
    elif target == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with _replacing(Path(target)) as file:
            stream = packed(file, os.fspath(target))
            yield stream
            if stream is not file:
                stream.close()


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    if path.exists() and not path.is_file():  # a pipe or a device stays what it is
        with open(path, "wb") as device:
            yield device
        return
    path = path.resolve()  # a link stays a link
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(draft, "xb") as file:
            yield file
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
