"""Rows as sums of two bfloat16 matrices, by Triton, for products on tensor cores."""

import torch
import triton
import triton.language as tl

__all__ = ["halves"]

_ENTRIES = 4096  # of a tile
_WIDEST = 1024  # columns of it


@triton.jit
def _halves(
    X, rows, mass, unit, centre, out, sizes, COLUMNS: tl.constexpr, ROWS: tl.constexpr, SIGNED: tl.constexpr
):
    count, d = sizes[0], sizes[1]
    place = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    here = place < count
    there = here[:, None] & (columns < d)[None, :]
    row = tl.load(rows + place, mask=here, other=0)
    weight = tl.load(mass + row, mask=here, other=0.0)
    root = tl.sqrt(tl.abs(weight) / tl.load(unit)).to(tl.float32)
    middle = tl.load(centre + columns, mask=columns < d, other=0.0).to(tl.float32)
    x = tl.load(X + row[:, None] * d + columns[None, :], mask=there, other=0.0).to(tl.float32)
    x = (x - middle[None, :]) * root[:, None]
    first = x.to(tl.bfloat16)
    at = place[:, None] * (2 * d) + columns[None, :]
    tl.store(out[1] + at, first, mask=there)
    tl.store(out[1] + at + d, (x - first.to(tl.float32)).to(tl.bfloat16), mask=there)
    if SIGNED:
        turned = tl.where((weight < 0)[:, None], -x, x).to(tl.bfloat16)
        tl.store(out[0] + place[:, None] * d + columns[None, :], turned, mask=there)


def halves(
    X: torch.Tensor, rows: torch.Tensor, mass: torch.Tensor, unit: torch.Tensor, centre: torch.Tensor, *,
    signed: bool,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """X[rows] - centre, times the roots of |mass| / unit: as a matrix, beside it what is missing from it. And
    that matrix once more, negative where the mass is, if it is `signed`."""
    count, d = len(rows), X.shape[1]
    columns = min(triton.next_power_of_2(max(d, 16)), _WIDEST)
    both = torch.empty((count, 2 * d), dtype=torch.bfloat16, device=X.device)
    left = torch.empty((count, d), dtype=torch.bfloat16, device=X.device) if signed else both[:, :d]
    tile = _ENTRIES // columns
    grid = (triton.cdiv(count, tile), triton.cdiv(d, columns))
    _halves[grid](
        X, rows, mass, unit, centre, (left, both), (count, d), COLUMNS=columns, ROWS=tile, SIGNED=signed
    )
    return left, both
