"""One pass over a dense X on a card, by Triton: scores, losses, their slopes, and the sums of all of these.

A tile of rows is read once. Its scores are sums along the rows, a formula makes losses and slopes of them,
and the slopes are summed up along the columns while the tile is still at hand. Products are in float64, or in
single precision for steps that need not be exact; sums from tile to tile are in float64 in any case.
"""

import gc
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import torch
import triton
import triton.language as tl

from gapfit.device.losses import FORMULAS

__all__ = ["Prepared", "pays", "through"]

_WIDEST = 4096  # columns of a tile
_MOST = 16  # programs for each processor of the card
_LONG = 2000  # columns, from which on exponentials in double precision cost less than another pass
_CHEAP = ("atoms", "parabola")  # formulas without any
_UNIT = 16  # entries: rows that begin at multiples of so many are read as fast as any
_OFTEN = 2  # passes of the same kind: the next ones are replayed
_PARTS = 6  # numbers of a sample that a formula knows
_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"  # then nothing is timed
_TILES = [  # as digits: entries, warps, stages of the loop, and which rows' slopes are summed up apart; and
    # programs for each processor
    triton.Config({"TILE": tile, "PER": per}, num_warps=tile // 100 % 10)
    for tile, per in (
        (8192_430, 8), (16384_830, 8), (4096_831, 8), (8192_432, 8), (4096_832, 8),
        # one or two warps for a row: threads hardly wait for one another
        (2048_112, 16), (2048_132, 8), (4096_212, 8), (4096_232, 8), (4096_430, 8),
    )
]  # fmt: skip
_NOTHING, _ONCE, _EACH = 0, 1, 2  # a number is zero, the same for all samples, or each sample's own

# -- the pass ---------------------------------------------------------------------------------------------


@triton.jit
def _same(vector, HOW: tl.constexpr, KIND: tl.constexpr):
    """The number of all samples, or zero: then the compiler leaves out what it would do."""
    if HOW == 1:
        return tl.load(vector).to(KIND)
    else:
        return tl.full((), 0.0, KIND)


@triton.jit
def _own(vector, same, rows, here, HOW: tl.constexpr):
    """The numbers of these samples."""
    if HOW == 2:
        return tl.load(vector + rows, mask=here, other=0.0).to(same.dtype)
    else:
        return same


def _fitting(tiles: list[Any], _: Any, COLUMNS: int, **__: Any) -> list[Any]:
    """Tiles of whole rows, whose sums have room in the registers of a warp."""
    found = [
        tile for tile in tiles
        if tile.kwargs["TILE"] // 1000 >= COLUMNS and 1024 * tile.num_warps >= COLUMNS
    ]  # fmt: skip
    return found[: 1 if _INTERPRETED else None]


@triton.autotune(
    _TILES, key=["COLUMNS", "HOW"], cache_results=True, prune_configs_by={"early_config_prune": _fitting}
)
@triton.jit
def _through(
    X, w, numbers, sizes, out, FORMULA: tl.constexpr, HOW: tl.constexpr, COLUMNS: tl.constexpr,
    TILE: tl.constexpr, PER: tl.constexpr,
):  # fmt: skip
    """`w` ends with what is added to all scores; `numbers` are six vectors; `sizes` are those of X; `out` is
    for scores, and for slopes and sums; `HOW` says how the numbers are given, and then whether scores are
    kept, by what the width of X is to be multiplied (a power of two, which tells the compiler where rows
    begin), whether single precision will do, whether rows fill their tile, and which formula it is: each has
    tiles of its own."""
    KIND: tl.constexpr = tl.float32 if HOW[8] else tl.float64
    ROWS: tl.constexpr = TILE // 1000 // COLUMNS
    # rows whose slopes are summed up apart: none, all, or as many as a load of all threads is made of, so
    # that sums over the others stay within a thread
    LOADED: tl.constexpr = TILE // 100 % 10 * 32 * (128 // X.dtype.element_ty.primitive_bitwidth) // COLUMNS
    GROUP: tl.constexpr = 1 if TILE % 10 == 0 else ROWS if TILE % 10 == 1 else max(1, min(ROWS, LOADED))
    n, d = sizes[0], sizes[1] * HOW[7]
    columns = tl.arange(0, COLUMNS)
    inside = columns < d
    weights = tl.load(w + columns, mask=inside, other=0.0).to(KIND)
    shift = tl.load(w + d).to(KIND)
    a, b, c = (
        _same(numbers[0], HOW[0], KIND), _same(numbers[1], HOW[1], KIND), _same(numbers[2], HOW[2], KIND)
    )  # fmt: skip
    p, q, r = (
        _same(numbers[3], HOW[3], KIND), _same(numbers[4], HOW[4], KIND), _same(numbers[5], HOW[5], KIND)
    )  # fmt: skip
    slope = tl.zeros((GROUP, COLUMNS), tl.float64)
    value = tl.zeros((GROUP,), tl.float64)
    total = tl.zeros((GROUP,), tl.float64)
    for tile in tl.range(tl.program_id(0), tl.cdiv(n, ROWS), tl.num_programs(0), num_stages=TILE // 10 % 10):
        rows = tl.cast(tile, tl.int64) * ROWS + tl.arange(0, ROWS)
        here = rows < n
        there = here[:, None] if HOW[9] else here[:, None] & inside[None, :]
        x = tl.load(X + rows[:, None] * d + columns[None, :], mask=there, other=0.0).to(KIND)
        f = tl.sum(x * weights[None, :], axis=1) + shift
        known = (
            _own(numbers[0], a, rows, here, HOW[0]), _own(numbers[1], b, rows, here, HOW[1]),
            _own(numbers[2], c, rows, here, HOW[2]), _own(numbers[3], p, rows, here, HOW[3]),
            _own(numbers[4], q, rows, here, HOW[4]), _own(numbers[5], r, rows, here, HOW[5]),
        )  # fmt: skip
        phi, u = FORMULA(f, known)
        u = tl.where(here, u, 0.0)
        if HOW[6]:
            tl.store(out[0] + rows, f.to(tl.float64), mask=here)
        # within a tile as precise as the products: to widen every number costs more than to add it up
        phi = tl.reshape(tl.where(here, phi, 0.0), (ROWS // GROUP, GROUP))
        value += tl.sum(phi, axis=0).to(tl.float64)
        total += tl.sum(tl.reshape(u, (ROWS // GROUP, GROUP)), axis=0).to(tl.float64)
        parts = tl.reshape(x * u[:, None], (ROWS // GROUP, GROUP, COLUMNS))
        slope += tl.sum(parts, axis=0).to(tl.float64)
    place = out[1] + tl.program_id(0).to(tl.int64) * (d + 2)
    tl.store(place + columns, tl.sum(slope, axis=0), mask=inside)
    tl.store(place + d, tl.sum(value, axis=0))
    tl.store(place + d + 1, tl.sum(total, axis=0))


def pays(X: torch.Tensor, formula: str, *, single: bool = False, **_: bool) -> bool:
    """Are rows short enough for one tile, and long enough for exponentials in double precision, of which
    every thread that holds a part of a row computes its own?"""
    dear = formula not in _CHEAP and not single
    return formula in FORMULAS and X.shape[1] <= _WIDEST and (not dear or X.shape[1] >= _LONG)


class Prepared:
    """A formula and the numbers of all samples, and how these are given: what many passes have in common."""

    def __init__(self, formula: str, parts: tuple[torch.Tensor, ...]) -> None:
        self.formula, self.parts = formula, parts
        self.how = (*map(_how, parts), *(_NOTHING,) * (_PARTS - len(parts)))
        self.passes: dict[Any, _Pass] = {}

    @cached_property
    def short(self) -> tuple[torch.Tensor, ...]:
        """The numbers in single precision: half to read, and no thread of a row has to round them again."""
        return tuple(x[:1].float().expand(len(x)) if x.stride(0) == 0 else x.float() for x in self.parts)

    def numbers(self, *, single: bool) -> tuple[torch.Tensor, ...]:
        """As many as all formulas have."""
        parts = self.short if single else self.parts
        return (*parts, *(parts[0],) * (_PARTS - len(parts)))


class _Pass:
    """A pass over this X with these losses, and where its results are.

    Launched by Python it takes a tenth of a millisecond before the card is at work. So what is done again
    and again is recorded, with all that it reads and writes in its place, and replayed.
    """

    def __init__(self, X: torch.Tensor, losses: Prepared, *, single: bool, kept: bool) -> None:
        (n, d), unit = X.shape, math.gcd(X.shape[1], _UNIT)
        columns = triton.next_power_of_2(max(d, 16))
        processors = torch.cuda.get_device_properties(X.device).multi_processor_count if X.is_cuda else 1
        self.X, self.losses, self.columns, self.processors = X, losses, columns, processors
        self.sizes, self.numbers = (n, d // unit), losses.numbers(single=single)
        which = list(FORMULAS).index(losses.formula)
        self.how = (*losses.how, int(kept), unit, int(single), int(columns == d), which)
        self.w = torch.empty(d + 1, dtype=torch.float64, device=X.device)
        self.scores = torch.empty(n if kept else 0, dtype=torch.float64, device=X.device)
        self.slopes = torch.empty((_MOST * processors, d + 2), dtype=torch.float64, device=X.device)
        self.total = torch.empty(d + 2, dtype=torch.float64, device=X.device)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.shift, self.times = math.nan, 0

    def __call__(self, w: torch.Tensor, shift: float) -> None:
        self.w[:-1].copy_(w)
        if shift != self.shift:
            self.w[-1:].fill_(shift)
            self.shift = shift
        self.times += 1
        if self.graph is None and self.times > _OFTEN and self.X.is_cuda:
            self._record()
        if self.graph is None:
            self._launch()
        else:
            self.graph.replay()

    def _launch(self) -> None:
        _through[lambda tile: (self.processors * tile["PER"],)](
            self.X, self.w, self.numbers, self.sizes, (self.scores, self.slopes),
            FORMULA=FORMULAS[self.losses.formula], HOW=self.how, COLUMNS=self.columns,
        )  # fmt: skip
        used = self.processors * _through.best_config.kwargs["PER"]
        torch.sum(self.slopes[:used], 0, out=self.total)

    def _record(self) -> None:
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream(self.X.device)
        here = torch.cuda.current_stream(self.X.device)
        stream.wait_stream(here)
        with torch.cuda.stream(stream), _nothing_collected():
            graph.capture_begin(capture_error_mode="thread_local")
            self._launch()
            graph.capture_end()
        here.wait_stream(stream)
        self.graph = graph


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """An older graph that Python's collector releases while another one is recorded spoils the recording."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def through(
    X: torch.Tensor, w: torch.Tensor, shift: float, losses: Prepared, *, single: bool = False,
    kept: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """X'u, followed by the sums of the losses and of their slopes; and the scores, if they are to be kept.
    They are there until the next pass with the same losses."""
    key = X.data_ptr(), X.shape, single, kept
    if key not in losses.passes:
        losses.passes[key] = _Pass(X, losses, single=single, kept=kept)
    one = losses.passes[key]
    one(w, shift)
    return one.total, one.scores


def _how(vector: torch.Tensor) -> int:
    """Is it stored once for all samples? Then it is looked at."""
    if vector.stride(0) != 0:
        return _EACH
    return _ONCE if float(vector[0]) else _NOTHING
