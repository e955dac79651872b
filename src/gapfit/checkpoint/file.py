"""The file of a checkpoint: a container of JSON and arrays, whole or not there at all."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from gapfit.atomic import replacing
from gapfit.container import Container
from gapfit.errors import CheckpointError

KINDS = "biuf"  # of arrays
_CHECKPOINT = Container(
    "a checkpoint of gapfit", b"\x89gapchk\n", (2,), CheckpointError,
    header_limit=2**30, sides=4, refuses=lambda array: "" if array.dtype.kind in KINDS else "texts",
)  # fmt: skip
read = _CHECKPOINT.read


def write(path: str, header: dict[str, Any], arrays: Sequence[NDArray[Any]]) -> None:
    """Put a new file in the place of the old one; OSError, and the old one stays, if that fails."""
    with replacing(path) as file:
        _CHECKPOINT.write(file, header, arrays)
