"""Loops over samples in the order of their scores, for vectors on a device: its sort, and prefix sums.

As in `loops`, functions have the names of those of memory (`losses.contingency`, `losses.ranking`,
`losses.queries`, `compiled.contingency`), whose loops are run where tensors are in memory. Sums in order
count as many roundings as there are samples, here and there.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from gapfit.compiled import contingency, rank
from gapfit.compiled.atoms import chosen
from gapfit.device.array import DeviceArray
from gapfit.device.samples import for_each

__all__ = ["ORDERED"]

_MOST = 4096  # pairs for each sample: to compare more takes longer than to sort them in memory


def ranked_apart(scores: Any, samples: Any, known: Any) -> list[list[DeviceArray]]:
    """Positives, and negatives; which samples these are is counted among all."""
    for order, values, doubtful in _orders(scores, samples.positive):
        parts = [
            _summed(order[some], values[some], samples, known and known[k])
            for k, some in enumerate((slice(samples.positives), slice(samples.positives, None)))
        ]
        if not int(doubtful):
            break
    return [[DeviceArray(part) for part in parts_] for parts_ in parts]


def _summed(rows: Any, f: Any, samples: Any, known: Any) -> tuple[torch.Tensor, ...]:
    """A class in order, with the sums that oracles ask for."""
    if samples.unit is None:
        weight = samples.weight[rows]
        return rows, f, _from_zero(weight), _from_zero(weight * f)
    # one number for all: its sums are known
    if known is None:
        known = torch.arange(len(f) + 1, dtype=torch.float64, device=f.device).mul_(samples.unit)
    moment = _from_zero(f)
    return rows, f, known, moment if samples.unit == 1.0 else moment.mul_(samples.unit)


def _orders(scores: Any, positive: Any) -> Iterable[tuple[torch.Tensor, torch.Tensor, torch.Tensor | bool]]:
    """The order of positives by descending score, then that of the others; the scores so ordered; and whether
    the next of these has to be taken."""
    if scores.is_cuda:
        from gapfit.device.sorting import orders

        return orders(scores, positive)
    index = torch.sort(torch.where(positive, 1.0, 0.0).double(), descending=True, stable=True).indices
    sizes = [int(positive.sum()), len(scores)]
    for some in (slice(sizes[0]), slice(*sizes)):
        index[some] = index[some][torch.sort(scores[index[some]], descending=True, stable=True).indices]
    return [(index, scores[index], False)]


def _from_zero(x: torch.Tensor) -> torch.Tensor:
    """The sums of the first k numbers, from none on."""
    out = x.new_empty(len(x) + 1)
    out[0] = 0.0
    torch.cumsum(x, 0, out=out[1:])
    return out


def taken_of(classes: Any, amounts: tuple[float, float], unit: float | None) -> list[Any]:
    """All that the host wants to know of scores, at once."""
    ends = []
    for (_, _, mass, _), amount in zip(classes, amounts, strict=True):
        if unit is None:
            k = int(torch.searchsorted(mass, mass.new_full((1,), amount), right=True)) - 1
            before, after = mass[[k, min(k + 1, len(mass) - 1)]].tolist()
        else:  # masses are multiples of it, as they were rounded
            k = round(amount / unit)
            k -= k * unit > amount
            before, after = k * unit, min(k + 1, len(mass) - 1) * unit
        ends.append((k, before, after))
    places = [
        scores[min(max(at, 0), len(scores) - 1)]
        for (_, scores, _, _), (k, _, _) in zip(classes, ends, strict=True) for at in (k - 1, k)
    ]  # fmt: skip
    found = torch.stack(places).tolist()
    return [
        (k, lowest if k else math.inf, following if k < len(part[1]) else -math.inf, before, after)
        for part, (k, before, after), lowest, following in zip(
            classes, ends, found[::2], found[1::2], strict=True
        )
    ]


def _above(x, t):
    positive, f = x
    return (chosen(positive > 0.0, f >= t[0], f >= t[1]),), ()


_label = for_each(_above)


def labelled(positive: Any, scores: Any, first: Any, second: Any) -> Any:
    share = torch.empty_like(scores)
    _label((positive.view(torch.uint8), scores), (first, second), (share,))
    return share


def _leaning(x, t):
    share, positive, step, f = x
    u = step * (share - positive)
    return (u,), (u * (f + t[0]), u)


_lean = for_each(_leaning, 2)


def slopes_of(share: Any, positive: Any, step: Any, scores: Any, b: Any) -> Any:
    u = torch.empty_like(scores)
    sums = _lean((share, positive.view(torch.uint8), step, scores), (b,), (u,))
    return DeviceArray(u), *sums.tolist()


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
    return best_table(positive, negative, scores, (shift, *scale, *others))


def pairs_of_queries(scores: Any, lists: Any, u: Any) -> float:
    """Where queries are lists; pairs of long ones are counted in memory, in the order of scores."""
    if u.is_cuda and lists.pairs <= _MOST * len(u):
        from gapfit.device.queries import pairs_within

        total, slopes = pairs_within(scores[lists.rows], *lists[1:-1])
        u[lists.rows] = slopes
        return total
    rows, query, starts, level, weight, price, _ = lists
    f = scores[rows]
    order = torch.sort(f, descending=True, stable=True).indices
    order = order[torch.sort(query[order], stable=True).indices]
    values, *sorted_ = (x[order].cpu() for x in (f, level, weight, price))
    parts = torch.empty_like(values)
    total = rank.pairs_within_runs(*_in_memory(values, starts.cpu(), *sorted_, parts))
    u[rows[order]] = parts.to(u.device)
    return float(total)


def _in_memory(*tensors: torch.Tensor) -> Iterator[Any]:
    """The same numbers, for compiled loops."""
    return (x.contiguous().numpy() for x in tensors)


ORDERED = (pairs_of_queries, ranked_apart, taken_of, labelled, slopes_of, wrong_pairs, linear_fractional)
