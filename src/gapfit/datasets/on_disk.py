"""Data that stay on disk."""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gapfit.shards import Shards


def open_shards(path: str | os.PathLike[str], **options: Any) -> "Shards":
    """The shards in a folder, for fits that read them pass by pass: see `gapfit.shards.open_shards`."""
    from gapfit import shards  # which needs the extra `disk`

    return shards.open_shards(path, **options)
