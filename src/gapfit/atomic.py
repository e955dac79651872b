"""Files that are there as a whole or not at all, whenever the machine stops."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A new file in the same folder, which takes the place of `path` if all goes well and else is removed.

    Whoever opens `path` meanwhile, or after a crash, finds the old file or the new one and never a part.
    """
    target = Path(path)
    fresh = target.with_name(f".gapfit-{secrets.token_hex(8)}.tmp")
    file = open(fresh, "xb")  # noqa: SIM115  # not by tempfile, whose files nobody else may read
    try:
        with file:
            if target.is_file():
                fresh.chmod(stat.S_IMODE(target.stat().st_mode))  # a private file stays private
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, target)
        _sync_folder(target.parent)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    """Make the new name last; where folders cannot be opened, as on Windows, renaming is all there is."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        return  # some file systems know no such thing, and the file itself is safe
    finally:
        os.close(handle)
