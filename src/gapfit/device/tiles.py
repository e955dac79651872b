"""Tiles of a kernel matrix that a device computes: samples stay there, sums of columns and tiles come back.

Sums over columns are taken by blocks of `width`, as `Tiles` has it, so that rounding is counted alike.
Entries in double precision are products and one function of the device's; those in single precision are for a
solver that looks for a direction.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch

from gapfit import limits
from gapfit._types import Data, Indices, Vector
from gapfit.design.gram import FunctionTiles, Keep, Tile
from gapfit.design.kernel_functions import Gaussian, KernelFunction, Linear, Polynomial, Sigmoid
from gapfit.device.room import check_room, device_of

__all__ = ["DeviceTiles"]

_WIDTH = 8192  # columns that are added up at once
_ENTRIES = 2**28  # of a tile


def _gaussian(kernel: Any, tile: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    tile.mul_(2 * kernel.gamma).sub_((kernel.gamma * rows)[:, None]).sub_((kernel.gamma * columns)[None, :])
    return tile.clamp_(max=0.0).exp_()


def _linear(kernel: Any, tile: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    return tile


def _polynomial(kernel: Any, tile: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    return tile.mul_(kernel.gamma).add_(kernel.coef0).pow_(int(kernel.degree))


def _sigmoid(kernel: Any, tile: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    return tile.mul_(kernel.gamma).add_(kernel.coef0).tanh_()


_APPLY: dict[type[KernelFunction], Callable[..., torch.Tensor]] = {
    Gaussian: _gaussian, Linear: _linear, Polynomial: _polynomial, Sigmoid: _sigmoid,
}  # fmt: skip


class DeviceTiles(FunctionTiles):
    """A kernel that is a function of inner products, of samples on a device.

    Parameters
    ----------
    X : array or CSR matrix (n, d), in memory; it is copied to the device, dense.
    function : the kernel.
    device : as torch names it.
    """

    work = 1.0  # an entry costs hardly more than to write it down

    def __init__(
        self, X: Data, function: KernelFunction, device: Any, centre: Any = None, thin: bool = False
    ) -> None:
        del thin  # a device has no use for zeros
        if type(function) not in _APPLY:
            raise TypeError(f"{function!r} is not known on a device: device=None computes it in memory")
        self.device = device_of(device)
        n, d = X.shape
        check_room(self.device, 12 * n * d + 8 * min(_ENTRIES, n * _WIDTH), f"{n} samples of {d} features")
        super().__init__(X, function, centre, False)
        self.work, self.width = 1.0, _WIDTH
        self._there: dict[Any, tuple[torch.Tensor, torch.Tensor]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_there": {}, "device": str(self.device)}

    def moved(self, dtype: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """The samples, less their centre, and the squares of their lengths, on the device."""
        kind = getattr(torch, np.dtype(dtype).name)
        if kind not in self._there:
            centre = torch.as_tensor(self.centre, dtype=torch.float64).to(self.device)
            X = (torch.as_tensor(np.asarray(self.X)).to(self.device).double() - centre).to(kind)
            self._there[kind] = X, (X * X).sum(1)
        return self._there[kind]

    def _tile(self, rows: Any, columns: torch.Tensor, dtype: Any, source: Any) -> torch.Tensor:
        (mine, squares), (theirs, lengths) = self.moved(dtype), (source or self).moved(dtype)
        tile = theirs[rows] @ mine[columns].T
        return _APPLY[type(self.function)](self.function, tile, lengths[rows], squares[columns])

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

    def sums(
        self,
        columns: Indices,
        weights: Vector,
        dtype: Any,
        rows: Indices | None = None,
        source: Any = None,
        keep: Keep | None = None,
    ) -> Vector:
        del keep  # what is cheap to compute is not kept
        n = (source or self).n if rows is None else len(rows)
        out = torch.zeros(n, dtype=torch.float64, device=self.device)
        chosen, weight = torch.as_tensor(columns).to(self.device), torch.as_tensor(weights).to(self.device)
        for first in range(0, len(columns), self.width):
            across = slice(first, first + self.width)
            for some, which in self._blocks(rows, n, len(chosen[across])):
                tile = self._tile(which, chosen[across], dtype, source)
                out[some] += tile.double() @ weight[across].double()
        return out.cpu().numpy()

    @cached_property
    def diagonal(self) -> Vector:
        return self.function.diagonal(self.moved(np.float64)[1].cpu().numpy())

    def whole(self) -> Any:
        return FunctionTiles(self.X, self.function, self.centre, False).whole()  # small: it is kept in memory

    def take(self, rows: Any) -> "DeviceTiles":
        return DeviceTiles(self.X[rows], self.function, self.device, self.centre)

    def again(self) -> Callable[[], "DeviceTiles"]:
        return partial(DeviceTiles, self.X.copy(), self.function, self.device, self.centre)

    def seen_by(self, X: Data) -> "DeviceTiles":
        return DeviceTiles(X, self.function, self.device, self.centre)
