"""A vector on a device to which NumPy's functions apply.

Losses, offsets and proofs are written in NumPy, once. NumPy hands a function of an array that is not its own
to that array (`__array_ufunc__`, `__array_function__`); here such functions are looked up in torch, in
tables, and run where the tensor is. What has no entry is refused by name: nothing moves to the host unless
`to_host` asks for it. Sums are numbers, and known to the host.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.lib.mixins import NDArrayOperatorsMixin

from gapfit.device.functions import FUNCTIONS, REDUCTIONS, UFUNCS, tensor_of
from gapfit.device.marks import tensor_mark

__all__ = ["DeviceArray"]

Table = dict[Any, Callable[..., Any]]


class DeviceArray(NDArrayOperatorsMixin):
    """Numbers that a tensor holds. A slice is a view, as NumPy's are."""

    __slots__ = ("tensor",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    def __repr__(self) -> str:
        return f"DeviceArray({self.tensor!r})"

    # -- what it is ----------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def size(self) -> int:
        return self.tensor.numel()

    @property
    def ndim(self) -> int:
        return self.tensor.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(str(self.tensor.dtype).removeprefix("torch."))

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(stride * self.tensor.element_size() for stride in self.tensor.stride())

    @property
    def T(self) -> "DeviceArray":
        return DeviceArray(self.tensor.T)

    def __len__(self) -> int:
        return len(self.tensor)

    def __bool__(self) -> bool:
        return bool(self.tensor)

    def __float__(self) -> float:
        return float(self.tensor)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("this vector is on a device: to_host() fetches it")

    @property
    def version(self) -> int:
        """What changes when somebody writes to it."""
        return self.tensor._version

    @property
    def loops(self) -> Callable[..., Any]:
        """What runs compiled loops over its entries."""
        from gapfit.device.loops import run  # which compiles nothing until it is to run

        return run

    def __getstate__(self) -> list[Any]:
        """By which fingerprints know it."""
        return ["device array", *self.shape, str(self.tensor.dtype), *tensor_mark(self.tensor)]

    def to_host(self) -> np.ndarray[Any, Any]:
        """A copy in memory."""
        return np.array(self.tensor.detach().cpu().numpy())

    def repeated(self, value: float, n: int) -> "DeviceArray":
        """One number for n samples, stored once, where this vector is."""
        return DeviceArray(self.tensor.new_full((1,), value, dtype=torch.float64).expand(n))

    # -- what NumPy's functions make of it ------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        tables: dict[str, Table] = {"__call__": UFUNCS, "reduce": REDUCTIONS}
        (out,) = options.pop("out", (None,))
        found = self._found(tables.get(method, {}), ufunc, inputs, options)
        if out is None:
            return found
        out.tensor.copy_(tensor_of(found, out.tensor.device))
        return out

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        out = options.pop("out", None)
        found = self._found(FUNCTIONS, function, args, options)
        if out is None:
            return found
        out.tensor.copy_(found.tensor)
        return out

    def _found(self, table: Table, function: Any, args: Any, options: Any) -> Any:
        if function not in table:
            raise TypeError(f"{function.__name__} is not known for vectors on a device")
        return _wrapped(table[function](self.tensor.device, *args, **options))

    # -- methods of NumPy's arrays --------------------------------------------------------------------------

    def __getitem__(self, where: Any) -> Any:
        tensor, index = self.tensor, _index(where, self.tensor)
        if isinstance(where, DeviceArray) and where.dtype != np.bool_ and tensor.stride() == (0,):
            return DeviceArray(tensor[:1].expand(len(where)))  # one number that is stored once
        found = tensor[index]
        return found.item() if found.ndim == 0 else DeviceArray(found)

    def __setitem__(self, where: Any, value: Any) -> None:
        self.tensor[_index(where, self.tensor)] = tensor_of(value, self.tensor.device).to(self.tensor.dtype)

    def __matmul__(self, other: Any) -> Any:
        return np.matmul(self, other)

    def copy(self) -> "DeviceArray":
        return DeviceArray(self.tensor.clone())

    def astype(self, dtype: Any, copy: bool = True) -> "DeviceArray":
        kind = getattr(torch, np.dtype(dtype).name)
        return DeviceArray(self.tensor.to(kind, copy=copy))

    def reshape(self, *shape: Any) -> "DeviceArray":
        return DeviceArray(self.tensor.reshape(*shape))

    def ravel(self) -> "DeviceArray":
        return self.reshape(-1)

    def tolist(self) -> list[Any]:
        found: list[Any] = self.tensor.tolist()
        return found

    def sum(self, axis: Any = None, **options: Any) -> Any:
        return np.sum(self, axis=axis, **options)

    def mean(self) -> float:
        return float(self.tensor.mean())

    def max(self, axis: Any = None, initial: float | None = None) -> Any:
        return np.max(self, axis) if initial is None else np.max(self, axis, initial=initial)

    def min(self, axis: Any = None, initial: float | None = None) -> Any:
        return np.min(self, axis) if initial is None else np.min(self, axis, initial=initial)

    def extremes(self) -> tuple[float, float]:
        """The least and the largest entry; both are NaN where one is."""
        low, high = torch.stack(torch.aminmax(self.tensor)).tolist()
        return low, high

    def any(self, axis: Any = None) -> Any:
        return np.any(self, axis=axis)

    def all(self, axis: Any = None) -> Any:
        return np.all(self, axis=axis)

    def argmax(self, axis: Any = None) -> Any:
        return int(self.tensor.argmax()) if axis is None else DeviceArray(self.tensor.argmax(axis))


def _wrapped(found: Any) -> Any:
    if isinstance(found, torch.Tensor):
        return DeviceArray(found)
    return tuple(map(_wrapped, found)) if isinstance(found, tuple) else found


def _index(where: Any, tensor: torch.Tensor) -> Any:
    if isinstance(where, tuple):
        return tuple(_index(one, tensor) for one in where)
    if isinstance(where, DeviceArray):
        return where.tensor
    return torch.as_tensor(where, device=tensor.device) if isinstance(where, np.ndarray) else where
