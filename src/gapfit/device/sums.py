"""Sums of numbers on a device, in an order that is known: proofs count its roundings. torch's is not said.

Eight numbers are added up by pairs, three roundings on the way of each, and so are eight such sums, and so
on: 42 roundings for 2^40 numbers, which `rounding.SUM` covers. On a card one kernel makes one of 64, until
NumPy adds up the last few, by pairs: at most 60 roundings.
"""

import torch

__all__ = ["dot", "total"]


def total(x: torch.Tensor) -> torch.Tensor:
    """The sum of a vector's float64 entries."""
    if not x.is_cuda:
        return _in_eights(x)
    from gapfit.device.folds import fold

    return fold(x)


def dot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The inner product; each product is rounded once more."""
    if not x.is_cuda:
        return _in_eights(x * y)
    from gapfit.device.folds import fold

    return fold(x, y)


def _in_eights(x: torch.Tensor) -> torch.Tensor:
    while x.numel() > 1:
        a, b, c, d, e, f, g, h = torch.nn.functional.pad(x, (0, -x.numel() % 8)).reshape(8, -1)
        x = ((a + b) + (c + d)) + ((e + f) + (g + h))
    return x.sum()
