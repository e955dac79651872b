"""The kernel of `samples`, by Triton: a block of samples for each program, and the sums of each block."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
import triton
import triton.language as tl

from gapfit.compiled.atoms import chosen
from gapfit.device.formulas import parts_of, renamed

__all__ = ["launch", "spelt"]

_BLOCK = 512  # samples
_NUMBERS = 2  # that samples may share


@triton.jit
def _chosen(condition, yes, no):
    return tl.where(condition, yes, no)


@triton.jit
def _smaller(x, y):
    return tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def _larger(x, y):
    return tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def _size(x):
    return tl.abs(x)


_NAMES: dict[str, Any] = {"min": _smaller, "max": _larger, "abs": _size, "chosen": _chosen, "tl": tl}


@cache
def spelt(formula: Any) -> Any:
    """The formula, and those that it is made of, in Triton's words."""
    if formula is chosen:
        return _chosen
    function = getattr(formula, "py_func", formula)
    numbers = {
        name: tl.constexpr(value)
        for name in function.__code__.co_names
        if isinstance(value := function.__globals__.get(name), float)
    }
    return triton.jit(renamed(formula, {**_NAMES, **numbers, **parts_of(formula, spelt)}))


@triton.jit
def _each(
    vectors, out, sums, n, a: tl.float64, b: tl.float64,
    FORMULA: tl.constexpr, HOW: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """`HOW` says which vectors are one number that is stored once."""
    rows = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    here = rows < n
    entries = ()
    for i in tl.static_range(len(vectors)):
        place = tl.zeros((BLOCK,), tl.int64) if HOW[i] else rows
        entries = entries + (tl.load(vectors[i] + place, mask=here, other=0.0).to(tl.float64),)  # type: ignore[assignment]  # noqa: RUF005
    written, added = FORMULA(entries, (a, b))
    for i in tl.static_range(len(out)):
        tl.store(out[i] + rows, written[i].to(out[i].dtype.element_ty), mask=here)
    for i in tl.static_range(len(added)):
        total = tl.sum(tl.where(here, added[i].to(tl.float64), 0.0), axis=0)
        tl.store(sums + i * tl.num_programs(0) + tl.program_id(0), total)


def launch(
    formula: Callable[..., Any], vectors: Sequence[torch.Tensor], numbers: Sequence[float],
    out: Sequence[torch.Tensor], sums: int,
) -> torch.Tensor:  # fmt: skip
    """See `samples.for_each`."""
    n = max(len(x) for x in vectors)
    programs = triton.cdiv(n, _BLOCK)
    partial = torch.empty((sums, programs), dtype=torch.float64, device=vectors[0].device)
    if n:
        once = tuple(int(x.stride(0) == 0) for x in vectors)
        read = tuple(x if same else x.contiguous() for x, same in zip(vectors, once, strict=True))
        shared = (*map(float, numbers), *(math.nan,) * (_NUMBERS - len(numbers)))
        # strictly: what proofs rest on is not to be rounded otherwise than it is written
        _each[(programs,)](
            read, tuple(out), partial, n, *shared, FORMULA=spelt(formula), HOW=once, BLOCK=_BLOCK,
            enable_fp_fusion=False,
        )  # fmt: skip
        torch.autograd.graph.increment_version(out)  # as torch's own functions do
    return partial.sum(1)
