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
    """For each offset a bound of all its minimisers, from above or from below.

    In order, the least minimiser b_k is the least over j >= k of the largest over i <= k of the least
    minimiser of the parts i to j together, and either way round. Both rise with each of these, so that
    bounds of them give bounds of it; to pool neighbours by such bounds would not, for these may be the wrong
    way round where the minimisers are not.
    """

    def ends(first: int, last: int) -> tuple[float, float]:
        return offset_interval(*parts.pooled(scores, first, last), 0.0)

    alone = np.array([ends(k, k + 1) for k in range(cone.size)])
    if not cone.ordered or (alone[:-1, 1] <= alone[1:, 0]).all():  # then they are in order by themselves
        bounds = alone[:, int(upper)]
    else:
        runs = {(i, j): ends(i, j + 1)[int(upper)] for i in range(cone.size) for j in range(i, cone.size)}
        bounds = np.array([_in_order(runs, k, cone.size, upper=upper) for k in range(cone.size)])
    room = np.array([4 * resolution_of(scores, x) if np.isfinite(x) else 0.0 for x in bounds])
    return np.asarray(bounds + room if upper else bounds - room)


def _in_order(runs: dict[tuple[int, int], float], k: int, size: int, *, upper: bool) -> float:
    """The bound of the k-th offset by those of the runs that contain it, whichever way round is nearer."""
    before, after = range(k + 1), range(k, size)
    if upper:
        return max(min(runs[i, j] for j in after) for i in before)
    return min(max(runs[i, j] for i in before) for j in after)
