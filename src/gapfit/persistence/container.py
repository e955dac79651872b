"""Model files as containers of JSON and arrays, which know nothing of models."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapfit.container import Container
from gapfit.errors import ModelFileError


def _refused(array: NDArray[Any]) -> str:
    return "NaN, which no fit gives" if array.dtype.kind == "f" and np.isnan(array).any() else ""


MODEL_FILE = Container(
    "a gapfit model file", b"\x89gapfit\n", (1,), ModelFileError,
    header_limit=2**20,  # the worst JSON of this size takes 24 times as much memory
    sides=2, refuses=_refused,
)  # fmt: skip
write, read, need = MODEL_FILE.write, MODEL_FILE.read, MODEL_FILE.need
