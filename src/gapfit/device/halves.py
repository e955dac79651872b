"""Rows as sums of two bfloat16 matrices, by Triton, for products on tensor cores."""

import torch
import triton
import triton.language as tl

__all__ = ["halves"]

_ENTRIES = 4096  # of a tile
_WIDEST = 1024  # columns of it


@triton.jit
def _halves(X, rows, roots, centre, high, low, count, d, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    here = place < count
    there = here[:, None] & (columns < d)[None, :]
    row = tl.load(rows + place, mask=here, other=0)
    root = tl.load(roots + place, mask=here, other=0.0)
    middle = tl.load(centre + columns, mask=columns < d, other=0.0)
    x = tl.load(X + row[:, None] * d + columns[None, :], mask=there, other=0.0).to(tl.float32)
    x = (x - middle[None, :]) * root[:, None]
    first = x.to(tl.bfloat16)
    at = place[:, None] * d + columns[None, :]
    tl.store(high + at, first, mask=there)
    tl.store(low + at, (x - first.to(tl.float32)).to(tl.bfloat16), mask=there)


def halves(
    X: torch.Tensor, rows: torch.Tensor, roots: torch.Tensor, centre: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """(X[rows] - centre) * roots, as a matrix and what is missing from it."""
    count, d = len(rows), X.shape[1]
    columns = min(triton.next_power_of_2(max(d, 16)), _WIDEST)
    high, low = torch.empty((2, count, d), dtype=torch.bfloat16, device=X.device)
    tile = _ENTRIES // columns
    grid = (triton.cdiv(count, tile), triton.cdiv(d, columns))
    _halves[grid](X, rows, roots, centre, high, low, count, d, COLUMNS=columns, ROWS=tile)
    return high, low
