"""Sums by Triton, 64 numbers to one at a time: in the order of `sums`, or with what each addition loses."""

import torch
import triton
import triton.language as tl

from gapfit.compiled import precise
from gapfit.device.kernels import spelt

__all__ = ["exactly", "fold"]

_BLOCK = 128  # sums of a program
_FEW = 2**14  # numbers that are soon fetched
_AT_ONCE = 64  # numbers of a sum


@triton.jit
def _term(x, y, place, n, PRODUCT: tl.constexpr):
    here = tl.load(x + place, mask=place < n, other=0.0)
    if PRODUCT:
        here *= tl.load(y + place, mask=place < n, other=0.0)
    return here


@triton.jit
def _eight(x, y, place, width, n, PRODUCT: tl.constexpr):
    a, b = _term(x, y, place, n, PRODUCT), _term(x, y, place + width, n, PRODUCT)
    c, d = _term(x, y, place + 2 * width, n, PRODUCT), _term(x, y, place + 3 * width, n, PRODUCT)
    e, f = _term(x, y, place + 4 * width, n, PRODUCT), _term(x, y, place + 5 * width, n, PRODUCT)
    g, h = _term(x, y, place + 6 * width, n, PRODUCT), _term(x, y, place + 7 * width, n, PRODUCT)
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


@triton.jit
def _fold(x, y, out, n, PRODUCT: tl.constexpr, BLOCK: tl.constexpr):
    # 64 numbers that are BLOCK apart: a program reads one piece of memory
    place = tl.program_id(0).to(tl.int64) * BLOCK * 64 + tl.arange(0, BLOCK)
    width: tl.constexpr = BLOCK
    step: tl.constexpr = 8 * BLOCK
    a, b = _eight(x, y, place, width, n, PRODUCT), _eight(x, y, place + step, width, n, PRODUCT)
    c, d = (
        _eight(x, y, place + 2 * step, width, n, PRODUCT),
        _eight(x, y, place + 3 * step, width, n, PRODUCT),
    )
    e, f = (
        _eight(x, y, place + 4 * step, width, n, PRODUCT),
        _eight(x, y, place + 5 * step, width, n, PRODUCT),
    )
    g, h = (
        _eight(x, y, place + 6 * step, width, n, PRODUCT),
        _eight(x, y, place + 7 * step, width, n, PRODUCT),
    )
    sums = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + sums, ((a + b) + (c + d)) + ((e + f) + (g + h)))


def fold(x: torch.Tensor, y: torch.Tensor | None = None) -> torch.Tensor:
    """The sum of x, or of the products x y."""
    x, product = x.contiguous(), y is not None and x.numel() > 0
    other = x if y is None else y.contiguous()
    while product or x.numel() > _FEW:
        n = x.numel()
        programs = triton.cdiv(n, _AT_ONCE * _BLOCK)
        out = torch.empty(programs * _BLOCK, dtype=torch.float64, device=x.device)
        _fold[(programs,)](x, other, out, n, PRODUCT=product, BLOCK=_BLOCK)
        x, other, product = out, out, False
    return torch.tensor(x.cpu().numpy().sum())


_two_sum = spelt(precise.two_sum)


@triton.jit
def _exactly(x, out, rest, n, AT_ONCE: tl.constexpr, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK * AT_ONCE + tl.arange(0, BLOCK)
    total = tl.load(x + place, mask=place < n, other=0.0)
    lost = tl.zeros((BLOCK,), tl.float64)
    size = tl.zeros((BLOCK,), tl.float64)
    for k in tl.static_range(1, AT_ONCE):
        here = place + k * BLOCK
        total, less = _two_sum(total, tl.load(x + here, mask=here < n, other=0.0))
        lost += less
        size += tl.abs(less)
    tl.store(out + tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK), total)
    tl.store(rest + tl.program_id(0), tl.sum(lost, axis=0))
    tl.store(rest + tl.num_programs(0) + tl.program_id(0), tl.sum(size, axis=0))


def exactly(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums of 64 numbers each, and what their additions have lost: its sums, and those of its sizes."""
    x, n = x.contiguous(), x.numel()
    programs = triton.cdiv(n, _AT_ONCE * _BLOCK)
    out = torch.empty(programs * _BLOCK, dtype=torch.float64, device=x.device)
    rest = torch.empty((2, programs), dtype=torch.float64, device=x.device)
    # strictly: a product and a sum in one rounding would lose what is not counted
    _exactly[(programs,)](x, out, rest, n, AT_ONCE=_AT_ONCE, BLOCK=_BLOCK, enable_fp_fusion=False)
    return out, rest
