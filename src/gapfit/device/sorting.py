"""Scores in descending order, by a sort of short keys.

A card's sort reads and writes all that it sorts once for every eight bits. So scores are dealt into 2^32
cells of equal width, and the cells' numbers are sorted: half the bits, half the passes. Few scores share a
cell with another one; a last pass, which fetches the scores in their new order, compares these and puts them
where they belong. The order is that of a stable sort of the scores. Where many share a cell (one score is far
away, or all are the same) they are sorted as they are.
"""

import torch
import triton
import triton.language as tl

__all__ = ["CELLS", "FURTHEST", "cell_of", "descending", "width_of"]

CELLS = 2.0**32 - 1.0
FURTHEST = 24  # places from one score to another one of its cell
_BLOCK = 1024  # scores
_FEW = 2**17  # scores: to sort them is quicker than to launch what follows
_MOST = 2**31 - 1


@triton.jit
def cell_of(x, highest, width):
    """The number of a score's cell, counted from the highest score; never less for a lower score."""
    return tl.minimum(((highest - x) * width), 4294967295.0).to(tl.int64)


@triton.jit
def _keys(scores, ends, keys, n, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    here = place < n
    x = tl.load(scores + place, mask=here, other=0.0)
    cell = cell_of(x, tl.load(ends), tl.load(ends + 1))
    tl.store(keys + place, (cell - 2147483648).to(tl.int32), mask=here)


@triton.jit
def _compared(keys, index, scores, order, values, far, n, LIMIT: tl.constexpr, BLOCK: tl.constexpr):
    """Scores in the order of their keys, and among equal keys in their own."""
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    here = place < n
    key = tl.load(keys + place, mask=here, other=0)
    row = tl.load(index + place, mask=here, other=0)
    x = tl.load(scores + row, mask=here, other=0.0)
    moved = tl.zeros((BLOCK,), tl.int64)
    for side in tl.static_range(2):
        same, away, go = here, 1, 1
        while go > 0:
            other = place - away if side == 0 else place + away
            same = same & (other >= 0) & (other < n)
            same = same & (tl.load(keys + other, mask=same, other=0) == key)
            there = tl.load(index + other, mask=same, other=0)
            score = tl.load(scores + there, mask=same, other=0.0)
            wrong = same & ((score < x) if side == 0 else (score > x))
            moved += tl.where(wrong, -1 if side == 0 else 1, 0)
            go = tl.max(same.to(tl.int32), axis=0)
            away += 1
            if away > LIMIT:
                tl.atomic_max(far, go)
                go = 0
    tl.store(order + place + moved, row.to(tl.int32), mask=here)
    tl.store(values + place + moved, x, mask=here)


def width_of(scores: torch.Tensor, cells: float) -> torch.Tensor:
    """The highest of them, and how many cells there are to a unit of score; none, if that is no number."""
    lowest, highest = torch.aminmax(scores)
    width = cells / (highest - lowest)
    return torch.stack([highest, torch.where(torch.isfinite(width), width, 0.0)])


def descending(scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Which score is k-th, the first of equal ones first, and all of them in that order."""
    n = len(scores)
    if _FEW <= n <= _MOST and scores.is_contiguous():
        blocks, ends = (triton.cdiv(n, _BLOCK),), width_of(scores, CELLS)
        keys = torch.empty(n, dtype=torch.int32, device=scores.device)
        _keys[blocks](scores, ends, keys, n, BLOCK=_BLOCK)
        keys, index = torch.sort(keys, stable=True)
        order, values, far = torch.empty_like(keys), torch.empty_like(scores), keys.new_zeros(1)
        _compared[blocks](keys, index, scores, order, values, far, n, LIMIT=FURTHEST, BLOCK=_BLOCK)
        if not int(far):
            return order, values
    values, index = torch.sort(scores, descending=True, stable=True)
    return index, values
