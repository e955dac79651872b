"""Pairs within queries that are in the wrong order, or not far enough apart, by Triton.

Every sample is compared with all of its query: so many pairs a card compares in the time in which it would
sort them, as long as queries are lists. Nothing but comparisons and sums: small weights are not lost in large
ones, as they would be in differences of prefix sums.
"""

import torch
import triton
import triton.language as tl

__all__ = ["pairs_within"]

_BLOCK, _CHUNK = 64, 64  # samples, and those that they are compared with at a time


@triton.jit
def _compared(samples, u, pairs, n, BLOCK: tl.constexpr, CHUNK: tl.constexpr):
    scores, query, starts, level, weight, price = samples
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    here = place < n
    f = tl.load(scores + place, mask=here, other=0.0)
    own = tl.load(level + place, mask=here, other=0)
    which = tl.load(query + place, mask=here, other=0)
    begin = tl.load(starts + which, mask=here, other=n)
    end = tl.load(starts + which + 1, mask=here, other=0)
    below = tl.zeros((BLOCK,), tl.float64)
    above = tl.zeros((BLOCK,), tl.float64)
    last = tl.max(end, axis=0)
    for at in range(tl.min(begin, axis=0), last, CHUNK):
        other = at + tl.arange(0, CHUNK)
        there = other < last
        g = tl.load(scores + other, mask=there, other=0.0)
        their = tl.load(level + other, mask=there, other=0)
        mass = tl.load(weight + other, mask=there, other=0.0)
        cost = tl.load(price + other, mask=there, other=0.0)
        same = (other[None, :] >= begin[:, None]) & (other[None, :] < end[:, None])
        # who should be below, but is not by far enough, and who should be above?
        low = same & (their[None, :] < own[:, None]) & (f[:, None] - g[None, :] < 1.0)
        high = same & (their[None, :] > own[:, None]) & (g[None, :] - f[:, None] < 1.0)
        below += tl.sum(tl.where(low, mass[None, :], 0.0), axis=1)
        above += tl.sum(tl.where(high, cost[None, :], 0.0), axis=1)
    down = tl.load(price + place, mask=here, other=0.0) * below
    tl.store(u + place, tl.load(weight + place, mask=here, other=0.0) * above - down, mask=here)
    tl.store(pairs + tl.program_id(0), tl.sum(down, axis=0))


def pairs_within(
    scores: torch.Tensor, query: torch.Tensor, starts: torch.Tensor, level: torch.Tensor,
    weight: torch.Tensor, price: torch.Tensor,
) -> tuple[float, torch.Tensor]:  # fmt: skip
    """As `compiled.rank.pairs_within_runs`, for scores in any order within their queries."""
    n, blocks = len(scores), triton.cdiv(len(scores), _BLOCK)
    u, pairs = torch.empty_like(scores), scores.new_empty(blocks)
    samples = scores, query, starts, level, weight, price
    _compared[(blocks,)](samples, u, pairs, n, BLOCK=_BLOCK, CHUNK=_CHUNK)
    return float(pairs.sum()), u
