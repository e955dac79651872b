"""Scores in descending order, by a sort of short keys.

A card's sort reads and writes all that it sorts once for every eight bits. So scores are dealt into cells of
equal width, and the cells' numbers are sorted, of 32 bits together with the class of a sample: half the bits,
half the passes. Few scores share a cell with another one of their class; a last pass, which fetches the
scores in their new order, compares these and puts them where they belong. The order is that of a stable sort
of the scores. Where many share a cell (one score is far away, or all are the same) the scores themselves are
sorted.
"""

from collections.abc import Iterator

import torch
import triton
import triton.language as tl

__all__ = ["FURTHEST", "keys_of", "orders"]

FURTHEST = 24  # places from one score to another one of its cell
_BLOCK = 1024  # scores


@triton.jit
def _keys(scores, marks, lowest, highest, keys, n, FIRST: tl.constexpr, BLOCK: tl.constexpr):
    """Cells are counted from the highest score down; never less for a lower score. There is one only, if
    their width is no number."""
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    here = place < n
    x = tl.load(scores + place, mask=here, other=0.0)
    other = (tl.load(marks + place, mask=here, other=1) <= 0).to(tl.int64)
    top = tl.load(highest)
    to_a_unit = 2147483647.0 / (top - tl.load(lowest))
    to_a_unit = tl.where((to_a_unit > 0.0) & (to_a_unit < float("inf")), to_a_unit, 0.0)
    cell = tl.minimum((top - x) * to_a_unit, 2147483647.0).to(tl.int64)
    key = other * 2147483648 + cell if FIRST else 2 * cell + other
    tl.store(keys + place, (key - 2147483648).to(tl.int32), mask=here)


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
    tl.store(order + place + moved, row, mask=here)
    tl.store(values + place + moved, x, mask=here)


def keys_of(scores: torch.Tensor, marks: torch.Tensor, *, first: bool) -> torch.Tensor:
    """A key for each sample: its cell, and whether its mark is not positive, which counts first or last."""
    n, ends = len(scores), torch.aminmax(scores)
    keys = torch.empty(n, dtype=torch.int32, device=scores.device)
    _keys[(triton.cdiv(n, _BLOCK),)](scores, marks, *ends, keys, n, FIRST=first, BLOCK=_BLOCK)
    return keys


def orders(
    scores: torch.Tensor, positive: torch.Tensor
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """The order of the positives by descending score, then that of the others; the scores so ordered; and
    whether too many share a cell, so that the next order is to be taken. The host need not wait for that
    before it has asked for all that follows from the order."""
    n, marks = len(scores), positive.view(torch.uint8)
    keys, index = torch.sort(keys_of(scores, marks, first=True), stable=True)
    order, values, far = torch.empty_like(index), torch.empty_like(scores), keys.new_zeros(1)
    blocks = (triton.cdiv(n, _BLOCK),)
    _compared[blocks](keys, index, scores, order, values, far, n, LIMIT=FURTHEST, BLOCK=_BLOCK)
    yield order, values, far
    index = torch.sort(scores, descending=True, stable=True).indices
    order = index[torch.sort(marks[index], descending=True, stable=True).indices]
    yield order, scores[order], torch.zeros_like(far)
