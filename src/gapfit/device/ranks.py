"""Pairs of positives and negatives that are in the wrong order, by Triton: a sort of short keys, two passes.

As in `sorting`, numbers of cells are sorted instead of scores; here their last bit says which class a sample
is of. So if all samples of a class weigh the same, nothing but keys is read in the order of the scores. The
first pass adds up weights block by block; the second one adds up within blocks, compares scores that share a
cell, and writes slopes to where their samples are.
"""

import torch
import triton
import triton.language as tl

from gapfit.device.sorting import FURTHEST, keys_of

__all__ = ["wrong_pairs"]

_BLOCK = 1024  # samples
_WINDOW = 2**22  # samples whose slopes are written at a time: their memory stays in the card's cache


@triton.jit
def _weights(keys, index, signed, units, place, here, ONCE: tl.constexpr):
    """Those of positives, and of negatives, at some places of the order; both are zero elsewhere."""
    if ONCE:
        negative = (tl.load(keys + place, mask=here, other=0) & 1) == 1
        weight = tl.where(negative, tl.load(units + 1), tl.load(units))
        weight = tl.where(here, weight, 0.0)
    else:
        weight = tl.load(signed + tl.load(index + place, mask=here, other=0), mask=here, other=0.0)
    return tl.maximum(weight, 0.0), tl.maximum(-weight, 0.0)


@triton.jit
def _added(keys, index, signed, units, sums, n, ONCE: tl.constexpr, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    up, down = _weights(keys, index, signed, units, place, place < n, ONCE)
    tl.store(sums + tl.program_id(0), tl.sum(up, axis=0))
    tl.store(sums + tl.num_programs(0) + tl.program_id(0), tl.sum(down, axis=0))


@triton.jit
def _counted(
    keys, index, scores, signed, units, sums, starts, rows, u, pairs, far, limit: tl.float64, n,
    ONCE: tl.constexpr, LIMIT: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    block, blocks = tl.program_id(0), tl.num_programs(0)
    place = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    here = place < n
    up, down = _weights(keys, index, signed, units, place, here, ONCE)
    above = tl.load(starts + block) + tl.cumsum(up, axis=0)
    taken = tl.load(starts + blocks + block) + tl.cumsum(down, axis=0)
    cell = tl.load(keys + place, mask=here, other=0) >> 1
    row = tl.load(index + place, mask=here, other=0)
    # those of the same cell that are above though they come later, or below though they came before
    for side in tl.static_range(2):
        same, away, go = here, 1, 1
        while go > 0:
            other = place - away if side == 0 else place + away
            same = same & (other >= 0) & (other < n)
            same = same & ((tl.load(keys + other, mask=same, other=0) >> 1) == cell)
            there = tl.load(index + other, mask=same, other=0)
            x = tl.load(scores + row, mask=same, other=0.0)
            score = tl.load(scores + there, mask=same, other=0.0)
            wrong = same & ((score < x) if side == 0 else (score > x))
            more, less = _weights(keys, index, signed, units, other, wrong, ONCE)
            above += -more if side == 0 else more
            taken += -less if side == 0 else less
            go = tl.max(same.to(tl.int32), axis=0)
            away += 1
            if away > LIMIT:
                tl.atomic_max(far, go)
                go = 0
    total = tl.load(starts + blocks - 1) + tl.load(sums + blocks - 1)
    before = tl.minimum(taken, limit)
    part = tl.maximum(tl.minimum(down, limit - (taken - down)), 0.0)
    slope = tl.where(up > 0.0, -up * before, part * tl.maximum(total - above, 0.0))
    tl.store(u + place, slope, mask=here)
    tl.store(rows + place, row.to(tl.int32), mask=here)
    tl.store(pairs + block, tl.sum(up * before, axis=0))


@triton.jit
def _placed(rows, slopes, u, n, WINDOW: tl.constexpr, BLOCK: tl.constexpr):
    """Slopes to where their samples are, one part of memory after the other."""
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(rows + place, mask=place < n, other=-1)
    here = (row >= 0) & (row // WINDOW == tl.program_id(1))
    tl.store(u + row, tl.load(slopes + place, mask=here, other=0.0), mask=here)


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
    n, blocks = len(scores), triton.cdiv(len(scores), _BLOCK)
    sums, found, far = u.new_empty((2, blocks)), u.new_empty(blocks), keys.new_zeros(1, dtype=torch.int32)
    how = {"ONCE": units is not None, "BLOCK": _BLOCK}
    given = signed if units is None else units
    _added[(blocks,)](keys, index, signed, given, sums, n, **how)
    starts = torch.cumsum(sums, 1) - sums
    slopes, rows = torch.empty_like(u), torch.empty(n, dtype=torch.int32, device=u.device)
    _counted[(blocks,)](
        keys, index, scores, signed, given, sums, starts, rows, slopes, found, far, limit, n,
        LIMIT=FURTHEST, **how,
    )  # fmt: skip
    _placed[(blocks, triton.cdiv(n, _WINDOW))](rows, slopes, u, n, WINDOW=_WINDOW, BLOCK=_BLOCK)
    pairs, many = torch.stack([found.sum(), far[0].double()]).tolist()
    return pairs, bool(many)
