"""Loops over samples in the order of their scores, for vectors on a device: its sort, and prefix sums.

As in `loops`, functions have the names of the compiled loops: `compiled.order`, `compiled.rank` and
`compiled.contingency`. Sums in order count as many roundings as there are samples, here and there.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from gapfit.device.array import DeviceArray
from gapfit.device.formulas import fused

__all__ = ["ORDERED"]


def descending(scores: Any) -> Any:
    values, order = torch.sort(scores, descending=True, stable=True)
    return DeviceArray(order), DeviceArray(values)


def prefix_sums(values: Any, weight: Any, order: Any) -> Any:
    """Of the weights in this order, and of their products with the values, from zero on."""
    n, once = len(values), weight.stride(0) == 0  # one number for all: then its sums are known
    found = values.new_zeros((2, n + 1))
    mass, moment = found
    if once:
        torch.arange(n + 1, out=mass)
        torch.cumsum(values, 0, out=moment[1:])
        found *= weight[:1]
    else:
        some = weight[order]
        torch.cumsum(some, 0, out=mass[1:])
        torch.cumsum(some * values, 0, out=moment[1:])
    return DeviceArray(mass), DeviceArray(moment)


def positives_below_negatives(order: Any, signed: Any, limit: Any, u: Any) -> float:
    if u.is_cuda:
        from gapfit.device.ranks import wrong_pairs

        return wrong_pairs(order, signed, limit, u)
    signed = signed[order]
    above, taken = (torch.cumsum(torch.clamp(x, min=0.0), 0) for x in (signed, -signed))
    positive, before = signed > 0.0, torch.clamp(taken, max=limit)
    part = torch.clamp(torch.minimum(-signed, limit - (taken + signed)), min=0.0)
    u[order] = torch.where(positive, -signed * before, part * torch.clamp(above[-1] - above, min=0.0))
    return float(torch.where(positive, signed * before, 0.0).sum())


def linear_fractional(
    positive: Any, negative: Any, scores: Any, shift: Any, scale: Any, c: Any, x: Any, d: Any, whole: Any
) -> tuple[float, float]:
    """For every t the p that is best for it, by halves: the gain of one more negative falls."""
    numbers = (*map(_number, scale),), (*map(_number, (c, x, d, whole)),)
    search = _best_counts(len(scores).bit_length())
    found = search(positive, negative, scores, _number(shift), *numbers)
    value, p = (torch.cat(list(part)) for part in found)
    best = int(value.argmax())
    return float(positive[0][best % len(positive[0])]), float(p[best])


@cache
def _best_counts(halvings: int) -> Callable[..., Any]:
    def of(positive: Any, negative: Any, scores: Any, shift: Any, scale: Any, ratio: Any) -> Any:
        (mass, moment), (false_mass, false_moment), (up, down), (c, x, d, whole) = (
            positive, negative, scale, ratio,
        )  # fmt: skip
        base, gain, n = x * mass + d, c * mass, len(scores)

        def slope(total: Any, j: Any) -> Any:
            return gain / (total * total) + down * (scores[j] + shift)

        low = torch.zeros(len(mass), dtype=torch.int64, device=mass.device)
        high = torch.full_like(low, n)
        for _ in range(halvings):
            middle = torch.clamp((low + high) // 2, max=n - 1)
            rises = (low < high) & (slope(base + false_mass[middle + 1], middle) >= 0.0)
            low, high = (
                torch.where(rises, middle + 1, low),
                torch.where(rises, high, torch.minimum(middle, high)),
            )
        j, last = low, torch.clamp(low, max=n - 1)
        first, end = false_mass[j], false_mass[last + 1]
        rise = down * (scores[last] + shift)
        inside = (j < n) & (gain / ((base + first) * (base + first)) + rise > 0.0)
        far = torch.sqrt(gain / torch.where(inside, -rise, 1.0)) - base
        far = torch.where(inside, torch.minimum(torch.maximum(far, first), end), first)
        least = torch.where(inside & (whole > 0.0), torch.floor(far), first)
        most = torch.where(inside & (whole > 0.0), torch.minimum(least + 1.0, end), far)
        sums = false_moment[j] + shift * first
        values = [
            -gain / (base + p) + up * (moment + shift * mass)
            + down * (sums + torch.where(p > first, (p - first) * (scores[last] + shift), 0.0))
            for p in (least, most)
        ]  # fmt: skip
        return values, [least, most]

    return fused(of)


def _number(x: float) -> torch.Tensor:
    """On the host, or every new one would be compiled for."""
    return torch.tensor(float(x), dtype=torch.float64)


ORDERED = (descending, prefix_sums, positives_below_negatives, linear_fractional)
