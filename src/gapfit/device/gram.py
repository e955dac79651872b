"""Weighted Gram matrices on a device: second derivatives, for steps that need not be exact.

On a card the rows that count are gathered, centred and multiplied by the roots of their weights in one pass,
which writes each entry as the sum of two bfloat16 numbers: 16 bits, nearly as many as sums of so many
products in single precision have left. Tensor cores then add up products of the first parts with the first
and with the second ones, in single precision; sums of blocks of rows are added up in float64.
"""

import torch

from gapfit import limits
from gapfit.device.rows import DenseRows, Rows, SparseRows

__all__ = ["weighted_gram"]


def weighted_gram(rows: Rows, mass: torch.Tensor, centre: torch.Tensor, step: int) -> torch.Tensor:
    """The sum of mass_i (x_i - centre)(x_i - centre)', `step` rows at a time."""
    d = rows.shape[1]
    gram = torch.zeros((d, d), dtype=torch.float64, device=rows.device)
    split = rows.device.type == "cuda" and not isinstance(rows, SparseRows)
    split = split and rows.values.dtype != torch.float64
    low, high = torch.stack(torch.aminmax(mass)).tolist() if len(mass) else (0.0, 0.0)
    for sign, unit in ((1.0, high), (-1.0, -low)):  # a product with its own transpose needs roots
        if not unit > 0:
            continue
        some = sign * mass > 0
        chosen = torch.arange(len(mass), device=rows.device) if low > 0 else torch.nonzero(some).ravel()
        roots = torch.sqrt(sign * mass[chosen] / unit)  # single precision has a short range
        for first in range(0, len(chosen), step):
            limits.look()
            part = slice(first, first + step)
            of = _in_halves if split else _as_it_is
            gram += (sign * unit) * of(rows, chosen[part], roots[part], centre)
    return gram


def _as_it_is(rows: Rows, chosen: torch.Tensor, roots: torch.Tensor, centre: torch.Tensor) -> torch.Tensor:
    kind = torch.float64 if rows.values.dtype == torch.float64 else torch.float32
    block = (rows.take(chosen).block(0, len(chosen)).to(kind) - centre.to(kind)) * roots.to(kind)[:, None]
    return (block.T @ block).double()


def _in_halves(rows: Rows, chosen: torch.Tensor, roots: torch.Tensor, centre: torch.Tensor) -> torch.Tensor:
    from gapfit.device.halves import halves

    if not isinstance(rows, DenseRows):
        rows, chosen = rows.take(chosen), torch.arange(len(chosen), device=rows.device)
    high, low = halves(rows.X, chosen, roots.float(), centre.float())
    first = torch.mm(high.T, high, out_dtype=torch.float32).double()
    across = torch.mm(high.T, low, out_dtype=torch.float32).double()
    return first + across + across.T
