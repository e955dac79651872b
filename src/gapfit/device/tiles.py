"""Tiles of a kernel matrix that a device computes: samples stay there, sums of columns and tiles come back.

Sums over columns are taken by blocks of `width`, as `Tiles` has it, so that rounding is counted alike.
Entries in double precision are products and one function of the device's; those in single precision are for a
solver that looks for a direction.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import torch

from gapfit import limits
from gapfit._types import Data, Indices, Vector
from gapfit.design.gram import EVERY_ROW, FunctionTiles, Over, Tile
from gapfit.design.kernel_functions import Gaussian, KernelFunction, Linear, Polynomial, Sigmoid
from gapfit.device.formulas import fused
from gapfit.device.room import check_room, device_of

__all__ = ["DeviceTiles"]

_WIDTH = 8192  # columns that are added up at once
_ENTRIES = 2**28  # of a tile


# -- kernels, as functions of inner products and of the squares of lengths ----------------------------------


def _gaussian(numbers: Any, tile: Any, rows: Any, columns: Any) -> Any:
    gamma = numbers[0]
    near = 2 * gamma * tile - (gamma * rows)[:, None] - (gamma * columns)[None, :]
    return torch.exp(torch.clamp(near, max=0.0))


def _linear(numbers: Any, tile: Any, rows: Any, columns: Any) -> Any:
    return tile


def _polynomial(numbers: Any, tile: Any, rows: Any, columns: Any) -> Any:
    gamma, coef0, degree = numbers
    return torch.pow(gamma * tile + coef0, degree)


def _sigmoid(numbers: Any, tile: Any, rows: Any, columns: Any) -> Any:
    gamma, coef0 = numbers
    return torch.tanh(gamma * tile + coef0)


class _Entries(NamedTuple):
    """What makes entries of inner products, and sums over columns, each in one go; and its numbers' names."""

    of: Callable[..., torch.Tensor]
    summed: Callable[..., torch.Tensor]
    names: tuple[str, ...]

    def numbers(self, kernel: KernelFunction) -> tuple[torch.Tensor, ...]:
        """On the host, or every new one would be compiled for."""
        return tuple(torch.tensor(float(getattr(kernel, name)), dtype=torch.float64) for name in self.names)


def _entries(function: Callable[..., Any], *names: str) -> _Entries:
    def summed(numbers: Any, tile: Any, rows: Any, columns: Any, weight: Any) -> Any:
        return (function(numbers, tile, rows, columns).double() * weight[None, :]).sum(1)

    return _Entries(fused(function), fused(summed), names)


_APPLY: dict[type[KernelFunction], _Entries] = {
    Gaussian: _entries(_gaussian, "gamma"),
    Linear: _entries(_linear),
    Polynomial: _entries(_polynomial, "gamma", "coef0", "degree"),
    Sigmoid: _entries(_sigmoid, "gamma", "coef0"),
}


class _Samples(NamedTuple):
    """Samples whose inner products are taken: as rows, and as columns; and the squares of their lengths."""

    left: torch.Tensor
    right: torch.Tensor
    squares: torch.Tensor

    @classmethod
    def of(cls, X: torch.Tensor) -> "_Samples":
        """On a card those in single precision are sums of two bfloat16 numbers, whose products tensor cores
        add up: all but that of the two lesser ones, which is 1e-5 of the whole."""
        if not X.is_cuda or X.dtype != torch.float32:
            return cls(X, X, (X * X).sum(1))
        high = X.bfloat16()
        low = (X - high.float()).bfloat16()
        return cls(torch.cat([high, high, low], 1), torch.cat([high, low, high], 1), (X * X).sum(1))

    def products(self, rows: Any, others: "_Samples", columns: Any) -> torch.Tensor:
        mine, theirs = self.left[rows], others.right[columns]
        if mine.dtype == torch.bfloat16:
            return torch.mm(mine, theirs.T, out_dtype=torch.float32)
        return mine @ theirs.T


class DeviceTiles(FunctionTiles):
    """A kernel that is a function of inner products, of samples on a device.

    Parameters
    ----------
    X : array or CSR matrix (n, d), in memory; it is copied to the device, dense.
    function : the kernel.
    device : as torch names it.
    """

    work = 1.0  # an entry costs hardly more than to write it down
    most, depth = 2048, 0.3  # so that steps on pairs, which are the CPU's, do not take longer than tiles

    def __init__(
        self, X: Data, function: KernelFunction, device: Any, centre: Any = None, thin: bool = False
    ) -> None:
        del thin  # a device has no use for zeros
        if type(function) not in _APPLY:
            raise TypeError(f"{function!r} is not known on a device: device=None computes it in memory")
        self.device = device_of(device)
        n, d = X.shape
        check_room(self.device, 24 * n * d + 8 * min(_ENTRIES, n * _WIDTH), f"{n} samples of {d} features")
        super().__init__(X, function, centre, False)
        self.work, self.width = 1.0, _WIDTH
        self._there: dict[Any, _Samples] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_there": {}, "device": str(self.device)}

    def moved(self, dtype: Any) -> "_Samples":
        """The samples, less their centre, on the device."""
        kind = getattr(torch, np.dtype(dtype).name)
        if not self._there:
            centre = torch.as_tensor(self.centre, dtype=torch.float64).to(self.device)
            exactly = torch.as_tensor(np.asarray(self.X)).to(self.device).double() - centre
            self._there[torch.float64] = _Samples.of(exactly)
        if kind not in self._there:
            self._there[kind] = _Samples.of(self._there[torch.float64].left.to(kind))
        return self._there[kind]

    def _tile(self, rows: Any, columns: torch.Tensor, dtype: Any, source: Any, *weight: Any) -> torch.Tensor:
        """K[rows, columns], or its product with weights."""
        mine, theirs, entries = self.moved(dtype), (source or self).moved(dtype), _APPLY[type(self.function)]
        tile = theirs.products(rows, mine, columns)
        make = entries.summed if weight else entries.of
        return make(
            entries.numbers(self.function), tile, theirs.squares[rows], mine.squares[columns], *weight
        )

    def _blocks(self, rows: Indices | None, n: int, columns: int) -> Iterator[tuple[slice, Any]]:
        """Rows whose tile has not too many entries: where they are in the answer, and which they are."""
        step = max(1, _ENTRIES // max(columns, 1))
        there = None if rows is None else torch.as_tensor(rows).to(self.device)
        for first in range(0, n if rows is None else len(rows), step):
            limits.look()
            some = slice(first, min(first + step, n if rows is None else len(rows)))
            yield some, some if there is None else there[some]

    def columns(self, columns: Indices, dtype: Any, source: Any = None) -> Tile:
        there = torch.as_tensor(columns).to(self.device)

        def tile(rows: Indices) -> Any:
            found = self._tile(torch.as_tensor(rows).to(self.device), there, dtype, source)
            return found.cpu().numpy()

        return tile

    def fill(self, rows: Indices, columns: Indices, out: Any) -> None:
        there = torch.as_tensor(columns).to(self.device)
        for some, which in self._blocks(rows, self.n, len(columns)):
            torch.from_numpy(out[some]).copy_(self._tile(which, there, out.dtype, None))

    def room(self, entries: int) -> Any:
        """Memory that a card writes to without a detour."""
        return torch.empty(entries, dtype=torch.float32, pin_memory=self.device.type == "cuda").numpy()

    def sums(self, columns: Indices, weights: Vector, dtype: Any, over: Over = EVERY_ROW) -> Vector:
        rows, source, _ = over  # what is cheap to compute is not kept
        n = (source or self).n if rows is None else len(rows)
        out = torch.zeros(n, dtype=torch.float64, device=self.device)
        chosen, weight = torch.as_tensor(columns).to(self.device), torch.as_tensor(weights).to(self.device)
        for first in range(0, len(columns), self.width):
            across = slice(first, first + self.width)
            for some, which in self._blocks(rows, n, len(chosen[across])):
                out[some] += self._tile(which, chosen[across], dtype, source, weight[across].double())
        return out.cpu().numpy()

    @cached_property
    def diagonal(self) -> Vector:
        return self.function.diagonal(self.moved(np.float64).squares.cpu().numpy())

    def whole(self) -> Any:
        return FunctionTiles(self.X, self.function, self.centre, False).whole()  # small: it is kept in memory

    def take(self, rows: Any) -> "DeviceTiles":
        return DeviceTiles(self.X[rows], self.function, self.device, self.centre)

    def again(self) -> Callable[[], "DeviceTiles"]:
        return partial(DeviceTiles, self.X.copy(), self.function, self.device, self.centre)

    def seen_by(self, X: Data) -> "DeviceTiles":
        return DeviceTiles(X, self.function, self.device, self.centre)
