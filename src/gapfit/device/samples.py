"""One kernel for what happens to every sample: each vector is read once, and sums come along.

A formula of a sample is a function of two tuples, its entries of some vectors and numbers that all samples
share, and returns two: what is to be written, and what is to be added up. It is written in the words of
compiled code (`min`, `max`, `abs`, `chosen` and other such formulas), which are torch's where tensors are in
memory, and Triton's on a card. Sums may be in any order.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from gapfit.device.formulas import in_tiles, on_tensors

__all__ = ["FORMULAS", "for_each"]

Formula = Callable[[Any, Any], Any]

FORMULAS: list[tuple[Formula, int]] = []  # all of them, and how many numbers they add up


def for_each(formula: Formula, sums: int = 0) -> Callable[..., torch.Tensor]:
    """What applies a formula, which adds up so many numbers, to all samples."""
    FORMULAS.append((formula, sums))

    def run(
        vectors: Sequence[torch.Tensor], numbers: Sequence[float] = (), out: Sequence[torch.Tensor] = ()
    ) -> torch.Tensor:
        """Write to `out`; returns the sums, where the vectors are."""
        if vectors[0].is_cuda:
            from gapfit.device.kernels import launch

            return launch(formula, vectors, numbers, out, sums)
        written, added = on_tensors(formula)(vectors, numbers)
        for place, what in zip(out, written, strict=True):
            place.copy_(what)
        return in_tiles(*(x.double() for x in added)).sum(1) if sums else vectors[0].new_zeros(0)

    return run
