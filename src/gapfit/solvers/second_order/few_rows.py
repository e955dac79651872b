"""Products in which few samples take part."""

from functools import reduce
from typing import Any

import numpy as np

from gapfit._types import Matrix, Slope, Vector
from gapfit.elsewhere import loops_of

_FEW = 4  # times less than all samples are taken out of a dense X before they are used


def where_not_zero(design: Any, *vectors: Vector) -> tuple[Any, list[Vector]]:
    """A dense design and vectors less the samples where these are zero, if most are; sparse products pass
    over them anyway, and rows that are not at hand are not fetched for one product."""
    if design.picks:
        rows = np.flatnonzero(reduce(np.logical_or, vectors))
        if _FEW * len(rows) < design.shape[0]:
            return design.take(rows), [u[rows] for u in vectors]
    return design, list(vectors)


def adjoints_of(design: Any, *vectors: Vector) -> list[Slope]:
    """`adjoints` of vectors that may be zero but for few samples; a device picks these on its own."""
    if loops_of(vectors[0]) is not None:
        found: list[Slope] = design.adjoints_of_few(*vectors)
        return found
    design, some = where_not_zero(design, *vectors)
    return design.adjoints(*some) if len(some) > 1 else [design.adjoint(*some)]


def gram_of(design: Any, weight: Vector, centre: Slope, summed: Slope) -> Matrix:
    """`gram_for_steps` of the samples whose weight is not zero; a device picks them on its own."""
    if loops_of(weight) is None:
        design, (weight,) = where_not_zero(design, weight)
    gram: Matrix = design.gram_for_steps(weight, centre, summed)
    return gram
