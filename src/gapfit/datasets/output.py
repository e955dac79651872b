"""Files to write: complete or not there at all."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from gapfit.atomic import replacing
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
        path = Path(target)
        device = path.exists() and not path.is_file()  # which stays what it is, as a link stays a link
        with open(path, "wb") if device else replacing(path.resolve()) as file:
            stream = packed(file, os.fspath(target))
            yield stream
            if stream is not file:
                stream.close()
