"""Sums of all samples with what rounding takes from them, for vectors on a device; and what rests on them:
the masses of windows, and points of a box whose sum is given. The functions have the names of the loops of
`compiled.precise`, `compiled.quantile` and `compiled.projection`.
"""

import math
from typing import Any

import torch

from gapfit.compiled import precise, projection
from gapfit.compiled.atoms import chosen
from gapfit.device.array import DeviceArray
from gapfit.device.formulas import in_tiles, on_tensors, renamed
from gapfit.device.samples import for_each
from gapfit.rounding import EPS

__all__ = ["exact_total", "is_there", "narrow", "onto_balanced_box"]

INFINITY = math.inf
_FEW = 2**16  # numbers that are soon fetched

two_sum = on_tensors(precise.two_sum)


def exact_total(x: Any, more: Any) -> list[float]:
    """Each round adds up some numbers at a time, and keeps what that loses; the last ones in memory."""
    total, lost = x, []
    while total.numel() > _FEW:
        total, rest = _some_at_once(total)
        lost.append(rest.sum(1))
    last = total.numel()
    there = torch.cat([total, *lost]).cpu().numpy()  # which is waited for once
    found = precise.exact_total(there[:last], 0, last, float(more))
    less, size = there[last:].reshape(-1, 2).sum(0).tolist()
    return [float(found[0]), found[1] + less, found[2] + size]


def _some_at_once(x: Any) -> Any:
    """Fewer sums, and what they have lost."""
    if not x.is_cuda:
        return _in_eights(x)
    from gapfit.device.folds import exactly

    return exactly(x)


def _in_eights(x: Any) -> Any:
    first, *others = torch.nn.functional.pad(x, (0, -len(x) % 8)).reshape(8, -1)
    lost, size = torch.zeros_like(first), torch.zeros_like(first)
    for other in others:
        first, rest = two_sum(first, other)
        lost, size = lost + rest, size + torch.abs(rest)
    return first, in_tiles(lost, size)


def _windowed(x, t):
    position, mass = x
    less, inside = position < t[0], (position >= t[0]) & (position <= t[1])
    return (inside,), (chosen(less, mass, 0.0), chosen(inside, mass, 0.0))


_window = for_each(_windowed, 2)


def narrow(positions: Any, masses: Any, below: Any, above: Any) -> Any:
    """What lies in a window, and its mass and that of all that is less."""
    inside = torch.empty_like(positions, dtype=torch.uint8)
    sums = _window((positions, masses), (below, above), (inside,))
    rows = torch.nonzero(inside).ravel()
    return DeviceArray(positions[rows]), DeviceArray(masses[rows]), *sums.tolist()


def _boxed(x, t):
    m, step, lower, upper = x
    a = min(max(m + t[0] * step, lower), upper)
    return (), (a, chosen((lower < a) & (a < upper), step, 0.0), abs(a), a != m)


_box_total = for_each(_boxed, 4)


def is_there(u: Any, lower: Any, upper: Any, balance: Any) -> bool:
    """See `projections`."""
    total, _, size, outside = _box_total((u, u, lower, upper), (0.0,)).tolist()
    near = abs(total - balance) <= 64 * EPS * (abs(balance) + size)
    return outside == 0 and near and sum(exact_total(u, -balance)[:2]) == 0.0


def _moved(x, t):
    m, step, lower, upper = x
    return (min(max(m + t[0] * step, lower), upper),), ()


_move = for_each(_moved)


def _with_room(x, t):
    a, lower, upper = x
    return (chosen((lower <= a - t[0]) & (a - t[0] <= upper), abs(a), INFINITY),), ()


_sizes = for_each(_with_room)


def onto_balanced_box(u: Any, p: Any, lower: Any, upper: Any, balance: Any) -> Any:
    """The nearest point of the box whose sum is as it should be, but for what rounding leaves of it."""
    z = float(balance)

    def total(m: Any, step: Any, sigma: Any, lower: Any, upper: Any, t: float) -> list[float]:
        found: list[float] = _box_total((m.tensor, step, lower, upper), (t,)).tolist()
        return found[:3]

    search = renamed(projection._near, {"_total": total})
    t, left, right = search(DeviceArray(u), p, None, lower, upper, z, 4 * EPS)
    if left != right:  # far from there: by halves, in memory
        return _in_memory(u, p, lower, upper, z)
    near, sizes = torch.empty_like(u), torch.empty_like(u)
    _move((u, p, lower, upper), (t,), (near,))
    for _ in range(projection._TAKES):
        rest = sum(exact_total(near, -z)[:2])
        if rest == 0.0:
            break
        _sizes((near, lower, upper), (rest,), (sizes,))  # infinite where there is no room
        at = sizes.argmin(0, keepdim=True)
        near[at] -= (sizes[at] < INFINITY).double() * rest
    return near


def _in_memory(u: Any, p: Any, lower: Any, upper: Any, z: float) -> Any:
    from gapfit.projections import project_dual_box

    there, low, high, mass = (x.cpu().numpy() for x in (u, lower, upper, p))
    return torch.as_tensor(project_dual_box(there, low, high, mass, z)).to(u.device)
