"""Tangents of a risk that lean in its offsets: with shares of these, slopes in b are balanced."""

from collections.abc import Callable
from math import isfinite
from typing import NamedTuple

import numpy as np

from gapfit._types import Matrix, Vector


class Leaning(NamedTuple):
    """Tangents that lean in b: R(f', b') >= heights[k] + <u_k, f' - f> + <e[k], b' - b> at known f and b."""

    e: Matrix
    heights: Vector
    most: Callable[[], Vector]  # |u_k|, at most, score by score
    mixture: Callable[[Vector], Vector]  # sum over k of shares[k] * u_k


def ends_of_a_box(
    box: Callable[[], tuple[Vector, Vector]],
    total: float,
    conjugate: Callable[[Vector], float],
    scores: Vector,
    b: Vector,
) -> Leaning | None:
    """The tangents at the ends of a dual box, if it has them: all slopes are least there, or largest.

    The box is asked for when it is needed, which is seldom: it takes two numbers a score."""
    lower, upper = box()
    least, most = float(lower.sum()), float(upper.sum())
    if b.size != 1 or not isfinite(most - least):
        return None
    low, high = (float(u @ scores) - conjugate(u) for u in (lower, upper))
    if not isfinite(low + high):
        return None
    slopes = np.array([[least], [most]]) + total
    heights = np.array([low, high]) + slopes[:, 0] * b[0]

    def mixture(shares: Vector) -> Vector:
        lower, upper = box()
        mixed: Vector = shares[0] * lower + shares[1] * upper
        return mixed

    def most_of_each() -> Vector:
        lower, upper = box()
        return np.maximum(-lower, upper)

    return Leaning(slopes, heights, most_of_each, mixture)
