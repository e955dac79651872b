"""Loops over samples in the order of their scores, for vectors on a device: its sort, and prefix sums.

As in `loops`, functions have the names of those of memory (`compiled.order`, `losses.ranking`,
`compiled.contingency`), whose loops are run where tensors are in memory. Sums in order count as many roundings
as there are samples, here and there.
"""

from collections.abc import Iterator
from typing import Any

import torch

from gapfit.compiled import contingency, rank
from gapfit.device.array import DeviceArray

__all__ = ["ORDERED"]


def descending(scores: Any) -> Any:
    if scores.is_cuda:
        from gapfit.device.sorting import descending as by_keys

        order, values = by_keys(scores)
    else:
        values, order = torch.sort(scores, descending=True, stable=True)
    return DeviceArray(order), DeviceArray(values)


def prefix_sums(values: Any, weight: Any, order: Any) -> Any:
    """Of the weights in this order, and of their products with the values, from zero on."""
    n = len(values)
    mass, moment = found = values.new_empty((2, n + 1))
    found[:, 0] = 0.0
    if weight.stride(0) == 0:  # one number for all: then its sums are known
        torch.arange(n + 1, out=mass)
        torch.cumsum(values, 0, out=moment[1:])
        if (unit := float(weight[0])) != 1.0:
            found *= unit
    else:
        some = weight[order]
        torch.cumsum(some, 0, out=mass[1:])
        torch.cumsum(some * values, 0, out=moment[1:])
    return DeviceArray(mass), DeviceArray(moment)


def wrong_pairs(scores: Any, signed: Any, units: Any, limit: Any, u: Any) -> float:
    if not u.is_cuda:
        order = torch.sort(scores, descending=True, stable=True).indices
        return float(rank.positives_below_negatives(*_in_memory(order, signed), float(limit), u.numpy()))
    from gapfit.device.ranks import wrong_pairs as counted

    return counted(scores, signed, units, float(limit), u)


def linear_fractional(positive: Any, negative: Any, scores: Any, *numbers: Any) -> tuple[float, float]:
    if not scores.is_cuda:
        sums = (tuple(_in_memory(*part)) for part in (positive, negative))
        t, p = contingency.linear_fractional(*sums, scores.numpy(), *numbers)
        return float(t), float(p)
    from gapfit.device.ratios import best_table

    shift, scale, *others = numbers
    return best_table(positive, negative, scores, [shift, *scale, *others])


def _in_memory(*tensors: torch.Tensor) -> Iterator[Any]:
    """The same numbers, for compiled loops."""
    return (x.contiguous().numpy() for x in tensors)


ORDERED = (descending, prefix_sums, wrong_pairs, linear_fractional)
