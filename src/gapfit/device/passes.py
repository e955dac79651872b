"""Passes over a dense X on a card, by Triton: products in double precision at the rate of the memory.

Entries of X are float32, bfloat16 or float64 and are widened one by one on their way; every product and every
sum is in float64, so that bounds can rest on them. Tiles of rows and columns are read once. A program adds up
the slopes of its own tiles, and these sums are added up in a fixed order: the same X gives the same bytes.
"""

import os

import torch
import triton
import triton.language as tl

__all__ = ["adjoint", "depth", "scores"]

_WIDEST = 4096  # columns of a tile
_PROGRAMS = 8  # for each processor of the card
_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"  # then nothing is timed
_TILES = [
    triton.Config({"ENTRIES": entries}, num_warps=warps)
    for entries in (4096, 8192, 16384)
    for warps in (4, 8)
][: 1 if _INTERPRETED else None]


def _columns(d: int) -> int:
    """Of a tile."""
    return min(triton.next_power_of_2(max(d, 16)), _WIDEST)


@triton.autotune(_TILES, key=["d", "COLUMNS"], cache_results=True)
@triton.jit
def _scores(X, w, out, n, d, COLUMNS: tl.constexpr, ENTRIES: tl.constexpr):
    ROWS: tl.constexpr = ENTRIES // COLUMNS
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS,), tl.float64)
    for first in range(0, d, COLUMNS):
        columns = first + tl.arange(0, COLUMNS)
        there = (rows[:, None] < n) & (columns[None, :] < d)
        x = tl.load(X + rows[:, None] * d + columns[None, :], mask=there, other=0.0).to(tl.float64)
        weights = tl.load(w + columns, mask=columns < d, other=0.0)
        total += tl.sum(x * weights[None, :], axis=1)
    tl.store(out + rows, total, mask=rows < n)


@triton.autotune(_TILES, key=["d", "COLUMNS", "BOTH", "PICKED"], cache_results=True)
@triton.jit
def _adjoint(
    X,
    given,
    out,
    n,
    d,
    COLUMNS: tl.constexpr,
    BOTH: tl.constexpr,
    PICKED: tl.constexpr,
    ENTRIES: tl.constexpr,
):
    """`given` are u, v, and which rows are picked."""
    ROWS: tl.constexpr = ENTRIES // COLUMNS
    tiles = tl.cdiv(n, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    first = tl.zeros((COLUMNS,), tl.float64)
    second = tl.zeros((COLUMNS,), tl.float64)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        rows = tl.cast(tile, tl.int64) * ROWS + tl.arange(0, ROWS)
        here = rows < n
        there = here[:, None] & (columns[None, :] < d)
        if PICKED:
            rows = tl.load(given[2] + rows, mask=here, other=0)
        x = tl.load(X + rows[:, None] * d + columns[None, :], mask=there, other=0.0).to(tl.float64)
        slopes = tl.load(given[0] + rows, mask=here, other=0.0)
        first += tl.sum(x * slopes[:, None], axis=0)
        if BOTH:
            slopes = tl.load(given[1] + rows, mask=here, other=0.0)
            second += tl.sum(x * slopes[:, None], axis=0)
    place = out + tl.program_id(0).to(tl.int64) * 2 * d + columns
    tl.store(place, first, mask=columns < d)
    if BOTH:
        tl.store(place + d, second, mask=columns < d)


def scores(X: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """X w."""
    n, d = X.shape
    columns, out = _columns(d), torch.empty(n, dtype=torch.float64, device=X.device)
    _scores[lambda tile: (triton.cdiv(n, tile["ENTRIES"] // columns),)](X, w, out, n, d, COLUMNS=columns)
    return out


def adjoint(X: torch.Tensor, *vectors: torch.Tensor, picked: torch.Tensor | None = None) -> torch.Tensor:
    """X'u for one u or two, as rows; of the rows that are picked, where all others are zero."""
    d, n = X.shape[1], len(X if picked is None else picked)
    columns, programs = _columns(d), _programs(X)
    vectors = tuple(u.contiguous() for u in vectors)  # one may be a number that is stored once
    out = torch.empty((programs, 2, d), dtype=torch.float64, device=X.device)
    grid = (programs, triton.cdiv(d, columns))
    given = vectors[0], vectors[-1], vectors[0] if picked is None else picked
    both = len(vectors) > 1
    _adjoint[grid](X, given, out, n, d, COLUMNS=columns, BOTH=both, PICKED=picked is not None)
    return out[:, : len(vectors)].sum(0)


def depth(X: torch.Tensor) -> int:
    """How many additions a coordinate of a slope is made of, at most: those of a program, and of programs."""
    n, d = X.shape
    rows, programs = (config.kwargs["ENTRIES"] // _columns(d) for config in _TILES), _programs(X)
    return max(row + triton.cdiv(triton.cdiv(n, row), programs) for row in rows) + programs


def _programs(X: torch.Tensor) -> int:
    """That share the tiles."""
    processors = torch.cuda.get_device_properties(X.device).multi_processor_count if X.is_cuda else 2
    return max(1, min(_PROGRAMS * processors, X.shape[0]))
