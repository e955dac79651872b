"""Weighted Gram matrices on a device: second derivatives, for steps that need not be exact.

On a card the rows that count are gathered, centred and multiplied by the roots of their weights in one pass,
which writes each entry as the sum of two bfloat16 numbers: 16 bits, nearly as many as sums of so many
products in single precision have left. Tensor cores then add up products of the first parts with both, in
single precision; sums of blocks of rows are added up in float64.
"""

from collections.abc import Callable

import torch

from gapfit import limits
from gapfit.device.rows import DenseRows, Rows, SparseRows

__all__ = ["weighted_gram"]

_SMALL = 2**24  # entries of rows, for which there is room, and whose signs are not worth waiting for


def weighted_gram(
    rows: Rows, mass: torch.Tensor, centre: torch.Tensor, at_once: Callable[[], int]
) -> torch.Tensor:
    """The sum of mass_i (x_i - centre)(x_i - centre)', so many rows at a time if these are not few. Only the
    lower triangle counts."""
    mass = mass.contiguous()  # it may be one number, stored once
    chosen = torch.nonzero(mass).ravel()
    count, d = len(chosen), rows.shape[1]
    if not count:
        return torch.zeros((d, d), dtype=torch.float64, device=rows.device)
    unit = torch.linalg.vector_norm(mass, torch.inf)  # single precision has a short range
    split = rows.device.type == "cuda" and not isinstance(rows, SparseRows)
    split = split and rows.values.dtype != torch.float64
    few = count * d <= _SMALL
    step, signed = (count, True) if few else (at_once(), split and bool(mass.min() < 0))
    total: torch.Tensor | None = None
    for first in range(0, count, step):
        limits.look()
        part = chosen[first : first + step]
        if split:
            gram = _in_halves(rows, part, mass, unit, centre, signed)
        else:
            gram = _as_it_is(rows, part, mass, unit, centre)
        total = gram if total is None else total.add_(gram)
    assert total is not None
    return total.mul_(unit)


def _as_it_is(
    rows: Rows, chosen: torch.Tensor, mass: torch.Tensor, unit: torch.Tensor, centre: torch.Tensor
) -> torch.Tensor:
    kind = torch.float64 if rows.values.dtype == torch.float64 else torch.float32
    block = rows.take(chosen).block(0, len(chosen)).to(kind) - centre.to(kind)
    return ((block * (mass[chosen] / unit).to(kind)[:, None]).T @ block).double()


def _in_halves(
    rows: Rows, chosen: torch.Tensor, mass: torch.Tensor, unit: torch.Tensor, centre: torch.Tensor,
    signed: bool,
) -> torch.Tensor:  # fmt: skip
    from gapfit.device.halves import halves

    if not isinstance(rows, DenseRows):
        rows, mass = rows.take(chosen), mass[chosen]
        chosen = torch.arange(len(chosen), device=rows.device)
    left, both = halves(rows.X, chosen, mass, unit, centre, signed=signed)
    products, d = torch.mm(left.T, both, out_dtype=torch.float32), both.shape[1] // 2
    gram, across = products[:, :d].double(), products[:, d:]
    gram += across
    gram += across.T
    return gram
