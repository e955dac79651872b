"""Offsets that separate: R(f, b) = sum_k R_k(f, b_k), each minimised by itself, or in order.

Without an order these are problems of one offset each. With b_1 <= ... <= b_q, neighbours whose minimisers
are the wrong way round share an offset, and so do their sums, until none are: pool adjacent violators, which
is exact for any convex functions. Inside a pool the slopes e_k cancel in total only. Of what is left every
partial sum from the left is at most zero; then <e, b> >= 0 for all ordered b, so that e may be left out.
"""

from typing import NamedTuple

import numpy as np

from gapfit._types import Vector
from gapfit.losses.base import Cone, OffsetParts
from gapfit.offset.single import Tangent, minimise_offset, offset_interval, resolution_of


class _Block(NamedTuple):
    """Neighbouring offsets that are equal, the sum of their parts there, and its balanced tangent."""

    first: int
    last: int
    value: float
    at: Tangent


class Separate(NamedTuple):
    """The minimum, and a tangent there; its slope e in b is harmless in the cone, as above."""

    value: float
    u: Vector
    e: Vector
    height: float
    b: Vector


def minimise_separately(parts: OffsetParts, scores: Vector, guess: Vector, *, ordered: bool) -> Separate:
    """The minimum over all offsets, in order or not."""

    def minimise(first: int, last: int, guess: float) -> _Block:
        return _Block(first, last, *minimise_offset(*parts.pooled(scores, first, last), guess))

    resolution = resolution_of(scores, float(np.abs(guess).max()))
    blocks: list[_Block] = []
    for k, start in enumerate(guess):
        block = minimise(k, k + 1, start)
        while ordered and blocks and blocks[-1].at.b > block.at.b + resolution:
            left = blocks.pop()
            block = minimise(left.first, block.last, 0.5 * (left.at.b + block.at.b))
        blocks.append(block)
    b = np.repeat([block.at.b for block in blocks], [block.last - block.first for block in blocks])
    entries = np.concatenate([block.at.u for block in blocks])
    u, e = parts.gather(entries)[0], parts.exact_slopes(entries)
    value, height = sum(block.value for block in blocks), sum(block.at.value for block in blocks)
    # up to the resolution, minimisers that are the wrong way round are equal
    return Separate(value, u, e, height, np.maximum.accumulate(b) if ordered else b)


def separate_bounds(parts: OffsetParts, scores: Vector, cone: Cone, *, upper: bool) -> Vector:
    """For each offset a bound of all its minimisers, from above or from below."""

    def bound(first: int, last: int) -> float:
        return offset_interval(*parts.pooled(scores, first, last), 0.0)[int(upper)]

    blocks: list[tuple[int, int, float]] = []
    for k in range(cone.size):
        first, last, value = k, k + 1, bound(k, k + 1)
        while cone.ordered and blocks and blocks[-1][2] > value:
            first = blocks.pop()[0]
            value = bound(first, last)
        blocks.append((first, last, value))
    bounds = np.repeat([value for _, _, value in blocks], [last - first for first, last, _ in blocks])
    room = np.array([4 * resolution_of(scores, x) if np.isfinite(x) else 0.0 for x in bounds])
    return np.asarray(bounds + room if upper else bounds - room)
