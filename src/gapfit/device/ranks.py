"""Pairs of positives and negatives that are in the wrong order, by Triton: two passes over what was sorted.

The first one gathers weights in the order of the scores and adds them up block by block; the second one adds
up within blocks, and writes slopes to where their samples are.
"""

import torch
import triton
import triton.language as tl

__all__ = ["wrong_pairs"]

_BLOCK = 1024  # samples


@triton.jit
def _gathered(order, signed, out, sums, n, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    here = place < n
    weight = tl.load(signed + tl.load(order + place, mask=here, other=0), mask=here, other=0.0)
    tl.store(out + place, weight, mask=here)
    tl.store(sums + tl.program_id(0), tl.sum(tl.maximum(weight, 0.0), axis=0))
    tl.store(sums + tl.num_programs(0) + tl.program_id(0), tl.sum(tl.maximum(-weight, 0.0), axis=0))


@triton.jit
def _counted(order, signed, sums, starts, u, pairs, limit: tl.float64, n, BLOCK: tl.constexpr):
    block, blocks = tl.program_id(0), tl.num_programs(0)
    place = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    here = place < n
    weight = tl.load(signed + place, mask=here, other=0.0)
    row = tl.load(order + place, mask=here, other=0)
    total = tl.load(starts + blocks - 1) + tl.load(sums + blocks - 1)
    above = tl.load(starts + block) + tl.cumsum(tl.maximum(weight, 0.0), axis=0)
    taken = tl.load(starts + blocks + block) + tl.cumsum(tl.maximum(-weight, 0.0), axis=0)
    before = tl.minimum(taken, limit)
    part = tl.maximum(tl.minimum(-weight, limit - (taken + weight)), 0.0)
    slope = tl.where(weight > 0.0, -weight * before, part * tl.maximum(total - above, 0.0))
    tl.store(u + row, slope, mask=here)
    tl.store(pairs + block, tl.sum(tl.maximum(weight, 0.0) * before, axis=0))


def wrong_pairs(order: torch.Tensor, signed: torch.Tensor, limit: float, u: torch.Tensor) -> float:
    """As `compiled.rank.positives_below_negatives`."""
    n = len(order)
    blocks = triton.cdiv(n, _BLOCK)
    sorted_, sums, pairs = torch.empty_like(u), u.new_empty((2, blocks)), u.new_empty(blocks)
    _gathered[(blocks,)](order, signed, sorted_, sums, n, BLOCK=_BLOCK)
    starts = torch.cumsum(sums, 1) - sums
    _counted[(blocks,)](order, sorted_, sums, starts, u, pairs, limit, n, BLOCK=_BLOCK)
    return float(pairs.sum())
