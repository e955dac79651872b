"""Pairs of positives and negatives that are in the wrong order, by Triton: a sort of short keys, two passes.

As in `sorting`, numbers of cells are sorted instead of scores; here their last bit says which class a sample
is of. So if all samples of a class weigh the same, nothing but keys is read in the order of the scores, and
samples are counted. The first pass adds up weights block by block; the second one adds up within blocks,
compares scores that share a cell, and writes slopes to where their samples are.
"""

import torch
import triton
import triton.language as tl

from gapfit.device.sorting import FURTHEST, keys_of

__all__ = ["wrong_pairs"]

_BLOCK = 1024  # samples


@triton.jit
def _negatives(keys, place, here):
    """One for each negative at these places of the order."""
    return tl.load(keys + place, mask=here, other=0).to(tl.int32) & 1


@triton.jit
def _weights(index, signed, place, here):
    """Those of positives, and of negatives, at these places; both are zero elsewhere."""
    weight = tl.load(signed + tl.load(index + place, mask=here, other=0), mask=here, other=0.0)
    return tl.maximum(weight, 0.0), tl.maximum(-weight, 0.0)


@triton.jit
def _added(keys, index, signed, sums, n, ONCE: tl.constexpr, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    if ONCE:
        tl.store(sums + tl.program_id(0), tl.sum(_negatives(keys, place, place < n), axis=0))
    else:
        up, down = _weights(index, signed, place, place < n)
        tl.store(sums + tl.program_id(0), tl.sum(up, axis=0))
        tl.store(sums + tl.num_programs(0) + tl.program_id(0), tl.sum(down, axis=0))


@triton.jit
def _counted(
    given, added, out, limit: tl.float64, n, ONCE: tl.constexpr, LIMIT: tl.constexpr, BLOCK: tl.constexpr
):
    """`added` are the sums of blocks, and of all blocks up to each one; `out` is for slopes, and for what the
    pairs of a block add up to, and whether a cell is too long."""
    keys, index, scores, signed, units = given
    sums, ends = added
    u, pairs, far = out
    block, blocks = tl.program_id(0), tl.num_programs(0)
    place = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    here = place < n
    key = tl.load(keys + place, mask=here, other=0)
    row = tl.load(index + place, mask=here, other=0)
    if ONCE:
        below = _negatives(keys, place, here)
        taken = (tl.load(ends + block) - tl.load(sums + block)).to(tl.int32) + tl.cumsum(below, axis=0)
        above = (place + 1).to(tl.int32) - taken
    else:
        up, down = _weights(index, signed, place, here)
        above = tl.load(ends + block) - tl.load(sums + block) + tl.cumsum(up, axis=0)
        taken = tl.load(ends + blocks + block) - tl.load(sums + blocks + block) + tl.cumsum(down, axis=0)
    # those of the same cell that are above though they come later, or below though they came before
    for side in tl.static_range(2):
        same, away, go = here, 1, 1
        while go > 0:
            other = place - away if side == 0 else place + away
            same = same & (other >= 0) & (other < n)
            same = same & ((tl.load(keys + other, mask=same, other=0) >> 1) == (key >> 1))
            x = tl.load(scores + row, mask=same, other=0.0)
            score = tl.load(scores + tl.load(index + other, mask=same, other=0), mask=same, other=0.0)
            wrong = same & ((score < x) if side == 0 else (score > x))
            if ONCE:
                less = _negatives(keys, other, wrong)
                more = tl.where(wrong, 1 - less, 0)
            else:
                more, less = _weights(index, signed, other, wrong)
            above += -more if side == 0 else more
            taken += -less if side == 0 else less
            go = tl.max(same.to(tl.int32), axis=0)
            away += 1
            if away > LIMIT:
                tl.atomic_max(far, go)
                go = 0
    if ONCE:
        positive, negative = tl.load(units), -tl.load(units + 1)
        total = positive * (n - tl.load(ends + blocks - 1)).to(tl.float64)
        above_, taken_ = positive * above.to(tl.float64), negative * taken.to(tl.float64)
        up_, down_ = tl.where(below == 0, positive, 0.0), tl.where(below == 1, negative, 0.0)
    else:
        total = tl.load(ends + blocks - 1)
        above_, taken_, up_, down_ = above, taken, up, down
    before = tl.minimum(taken_, limit)
    part = tl.maximum(tl.minimum(down_, limit - (taken_ - down_)), 0.0)
    slope = tl.where(up_ > 0.0, -up_ * before, part * tl.maximum(total - above_, 0.0))
    tl.store(u + row, slope, mask=here)
    tl.store(pairs + block, tl.sum(tl.where(here, up_ * before, 0.0), axis=0))


def wrong_pairs(
    scores: torch.Tensor, signed: torch.Tensor, units: torch.Tensor | None, limit: float, u: torch.Tensor
) -> float:
    """As `compiled.rank.positives_below_negatives` for the descending order of these scores. `units` are the
    weights of positives and of negatives, if all of a class weigh the same."""
    keys, index = torch.sort(keys_of(scores, signed, first=False), stable=True)
    pairs, far = _both_passes(keys, index, scores, signed, units, limit, u)
    if far:  # too many share a cell: each has one of its own
        index = torch.sort(scores, descending=True, stable=True).indices
        keys = 2 * torch.arange(len(scores), device=u.device) + (signed[index] < 0.0)
        pairs, _ = _both_passes(keys, index, scores, signed, units, limit, u)
    return pairs


def _both_passes(
    keys: torch.Tensor, index: torch.Tensor, scores: torch.Tensor, signed: torch.Tensor,
    units: torch.Tensor | None, limit: float, u: torch.Tensor,
) -> tuple[float, bool]:  # fmt: skip
    """The sum over the pairs, if no sample shares its cell with one that is too far away."""
    n, blocks, once = len(scores), triton.cdiv(len(scores), _BLOCK), units is not None
    found, far = u.new_empty(blocks), keys.new_zeros(1, dtype=torch.int32)
    sums = u.new_empty((1, blocks), dtype=torch.int64) if once else u.new_empty((2, blocks))
    _added[(blocks,)](keys, index, signed, sums, n, ONCE=once, BLOCK=_BLOCK)
    _counted[(blocks,)](
        (keys, index, scores, signed, units if once else signed), (sums, torch.cumsum(sums, 1)),
        (u, found, far), limit, n, ONCE=once, LIMIT=FURTHEST, BLOCK=_BLOCK,
    )  # fmt: skip
    pairs, many = torch.stack([found.sum(), far[0].double()]).tolist()
    return pairs, bool(many)
