"""What NumPy's functions are in torch: tables, by function. Each entry is called with the device first."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from gapfit import special
from gapfit.device import sums

Entry = Callable[..., Any]


def tensor_of(x: Any, device: torch.device) -> torch.Tensor:
    """A tensor for x. Numbers stay on the host: torch hands them to its kernels as they are."""
    tensor = getattr(x, "tensor", x)
    if isinstance(tensor, torch.Tensor):
        return tensor
    found = torch.as_tensor(tensor)
    if found.dtype == torch.float32:  # what torch makes of a number
        found = torch.as_tensor(tensor, dtype=torch.float64)
    return found if found.ndim == 0 else found.to(device)


def _pointwise(function: Callable[..., torch.Tensor]) -> Entry:
    """A function of tensors, entry by entry; integers become float64, not float32 as torch would have it."""

    def run(device: torch.device, *inputs: Any, **_: Any) -> torch.Tensor:
        return function(*(_full(tensor_of(x, device)) for x in inputs))

    return run


def _full(x: torch.Tensor) -> torch.Tensor:
    return x if x.dtype in (torch.float64, torch.bool) else x.to(torch.float64)


def _numeric(function: Callable[..., torch.Tensor]) -> Entry:
    """The same, where truth counts as one."""

    def run(device: torch.device, *inputs: Any, **_: Any) -> torch.Tensor:
        return function(*(_number(tensor_of(x, device)) for x in inputs))

    return run


def _number(x: torch.Tensor) -> torch.Tensor:
    return x if x.dtype == torch.float64 else x.to(torch.float64)


def _logical(function: Callable[..., torch.Tensor]) -> Entry:
    def run(device: torch.device, *inputs: Any, **_: Any) -> torch.Tensor:
        return function(*(tensor_of(x, device) for x in inputs))

    return run


def _product(device: torch.device, a: Any, b: Any, **_: Any) -> Any:
    a, b = _number(tensor_of(a, device)), _number(tensor_of(b, device))
    return float(sums.dot(a, b)) if a.ndim == b.ndim == 1 else a @ b


def _whole(function: Callable[..., Any], empty: Any) -> Entry:
    """A reduction of all entries to a number, or along an axis."""

    def run(device: torch.device, x: Any, axis: Any = None, *, initial: Any = None, **_: Any) -> Any:
        tensor = tensor_of(x, device)
        if axis is not None:
            return function(tensor, dim=axis)
        if tensor.numel() == 0:
            return empty if initial is None else initial
        found = function(tensor).item()
        return found if initial is None else type(found)(_JOIN[function](found, initial))

    return run


def _sum(x: torch.Tensor, **options: Any) -> torch.Tensor:
    if x.dtype == torch.bool or options:
        return torch.sum(x if x.dtype == torch.bool else _full(x), **options)
    return sums.total(_full(x).reshape(-1))


def _largest(x: torch.Tensor, **options: Any) -> torch.Tensor:
    return torch.amax(x, **options)


def _least(x: torch.Tensor, **options: Any) -> torch.Tensor:
    return torch.amin(x, **options)


_JOIN: dict[Any, Callable[[Any, Any], Any]] = {_sum: lambda a, b: a + b, _largest: max, _least: min}
_SUM, _MAX, _MIN = _whole(_sum, 0.0), _whole(_largest, None), _whole(_least, None)
_ANY, _ALL = _whole(torch.any, False), _whole(torch.all, True)

UFUNCS: dict[Any, Entry] = {
    np.add: _pointwise(torch.add), np.subtract: _numeric(torch.subtract),
    np.multiply: _pointwise(torch.multiply), np.divide: _pointwise(torch.divide),
    np.negative: _pointwise(torch.negative), np.absolute: _pointwise(torch.abs),
    np.sign: _pointwise(torch.sign),
    np.power: _pointwise(torch.pow), np.square: _pointwise(torch.square), np.sqrt: _pointwise(torch.sqrt),
    np.exp: _pointwise(torch.exp), np.expm1: _pointwise(torch.expm1), np.log: _pointwise(torch.log),
    np.log1p: _pointwise(torch.log1p), np.floor: _pointwise(torch.floor), np.rint: _pointwise(torch.round),
    np.minimum: _pointwise(torch.minimum), np.maximum: _pointwise(torch.maximum),
    np.isfinite: _pointwise(torch.isfinite), np.isinf: _pointwise(torch.isinf),
    np.isnan: _pointwise(torch.isnan),
    np.less: _logical(torch.lt), np.less_equal: _logical(torch.le), np.greater: _logical(torch.gt),
    np.greater_equal: _logical(torch.ge), np.equal: _logical(torch.eq), np.not_equal: _logical(torch.ne),
    np.logical_and: _logical(torch.logical_and), np.logical_or: _logical(torch.logical_or),
    np.logical_not: _logical(torch.logical_not), np.bitwise_and: _logical(torch.bitwise_and),
    np.bitwise_or: _logical(torch.bitwise_or), np.invert: _logical(torch.bitwise_not),
    np.matmul: _product,
    special.xlogy: _pointwise(torch.special.xlogy), special.xlog1py: _pointwise(torch.special.xlog1py),
    special.expit: _pointwise(torch.special.expit),
}  # fmt: skip

REDUCTIONS: dict[Any, Entry] = {
    np.add: _SUM, np.maximum: _MAX, np.minimum: _MIN, np.logical_or: _ANY, np.logical_and: _ALL,
}  # fmt: skip


def _where(device: torch.device, condition: Any, a: Any, b: Any) -> torch.Tensor:
    return torch.where(tensor_of(condition, device), *(_number(tensor_of(x, device)) for x in (a, b)))


def _clip(device: torch.device, x: Any, lower: Any, upper: Any, **_: Any) -> torch.Tensor:
    x, lower, upper = (_full(tensor_of(part, device)) for part in (x, lower, upper))
    return torch.minimum(torch.maximum(x, lower), upper)


def _like(function: Callable[..., torch.Tensor]) -> Entry:
    def run(device: torch.device, x: Any, *fill: Any, dtype: Any = None, **_: Any) -> torch.Tensor:
        kind = None if dtype is None else getattr(torch, np.dtype(dtype).name)
        return function(tensor_of(x, device), *fill, dtype=kind)

    return run


def _concatenate(device: torch.device, parts: Any, **_: Any) -> torch.Tensor:
    return torch.cat([tensor_of(part, device).to(device) for part in parts])


def _flatnonzero(device: torch.device, x: Any) -> torch.Tensor:
    return torch.nonzero(tensor_of(x, device)).ravel()


def _searchsorted(device: torch.device, sorted_: Any, value: Any, side: str = "left") -> Any:
    found = torch.searchsorted(
        tensor_of(sorted_, device), _full(tensor_of(value, device)).to(device), side=side
    )
    return int(found) if found.ndim == 0 else found


def _argsort(device: torch.device, x: Any, kind: str | None = None, **_: Any) -> torch.Tensor:
    return torch.argsort(tensor_of(x, device), stable=kind == "stable")


def _append(device: torch.device, x: Any, more: Any) -> torch.Tensor:
    return torch.cat([tensor_of(x, device), _full(tensor_of(more, device)).reshape(-1).to(device)])


def _asarray(device: torch.device, x: Any, dtype: Any = None) -> torch.Tensor:
    """By `like`: where another array is."""
    return tensor_of(x, device)


def _diagonal(device: torch.device, x: Any) -> tuple[torch.Tensor, torch.Tensor]:
    place = torch.arange(len(x), device=device)
    return place, place


def _repeat(device: torch.device, x: Any, times: int) -> torch.Tensor:
    return torch.repeat_interleave(tensor_of(x, device), times)


FUNCTIONS: dict[Any, Entry] = {
    np.where: _where, np.clip: _clip, np.concatenate: _concatenate, np.flatnonzero: _flatnonzero,
    np.zeros_like: _like(torch.zeros_like), np.empty_like: _like(torch.empty_like),
    np.ones_like: _like(torch.ones_like), np.full_like: _like(torch.full_like),
    np.sum: _SUM, np.max: _MAX, np.min: _MIN, np.any: _ANY, np.all: _ALL,
    np.count_nonzero: lambda device, x: int(torch.count_nonzero(tensor_of(x, device))),
    np.cumsum: lambda device, x, **_: torch.cumsum(_full(tensor_of(x, device)), 0),
    np.sort: lambda device, x, **_: torch.sort(tensor_of(x, device)).values,
    np.argsort: _argsort, np.searchsorted: _searchsorted, np.append: _append, np.repeat: _repeat,
    np.ptp: lambda device, x: -float(torch.sub(*torch.aminmax(tensor_of(x, device)))),
    np.isin: lambda device, x, values: torch.isin(tensor_of(x, device), torch.tensor(values, device=device)),
    np.arange: lambda device, *ends: torch.arange(*ends, device=device),
    np.asarray: _asarray, np.diag_indices_from: _diagonal,
    np.outer: lambda device, a, b: torch.outer(_full(tensor_of(a, device)), _full(tensor_of(b, device))),
    np.shape: lambda device, x: tuple(x.shape), np.ndim: lambda device, x: x.ndim,
    np.array_equal: lambda device, a, b: torch.equal(tensor_of(a, device), tensor_of(b, device).to(device)),
}  # fmt: skip
