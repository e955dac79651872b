"""Products in which few samples take part."""

from typing import Any

import numpy as np

from gapfit._types import Vector
from gapfit.design.forms import Rows

_FEW = 4  # times less than all samples are taken out of a dense X before they are used


def where_not_zero(design: Any, *vectors: Vector) -> tuple[Any, list[Vector]]:
    """A dense design and vectors less the samples where these are zero, if most are; sparse products pass
    over them anyway, and rows that are elsewhere are not fetched for one product."""
    n, d = design.shape
    if design.size == n * d and design.has(Rows):
        rows = np.flatnonzero(np.any(vectors, axis=0))
        if _FEW * len(rows) < n:
            return design.take(rows), [u[rows] for u in vectors]
    return design, list(vectors)
