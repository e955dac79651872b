"""Rows that the device has no room for, or that several devices share: parts, each used where it is.

Vectors of samples stay on the first device. A part on another card is multiplied there; one in memory is
copied to the first card block by block, from pages that stay where they are, while the last block is still at
work. So a pass costs what the connection takes, and fits are those of one card.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from gapfit.device.rows import Rows, rows_of

__all__ = ["PartedRows"]

_BLOCK = 2**28  # bytes that are copied at once


class PartedRows(Rows):
    """The rows of dense tensors of one type, one after the other.

    Parameters
    ----------
    parts : tensors (n_k, d), each on a card or in memory.
    device : where vectors of samples are, and blocks of what is in memory go; by default the first card that
        has a part.
    """

    def __init__(self, parts: Sequence[torch.Tensor], device: torch.device | None = None) -> None:
        if not len(parts) or not all(isinstance(X, torch.Tensor) and X.ndim == 2 for X in parts):
            raise TypeError("rows must be a tensor or a list of tensors, each with rows and columns")
        if len({(X.dtype, X.shape[1], X.layout) for X in parts}) > 1 or parts[0].layout != torch.strided:
            raise ValueError("parts must be dense, of one type and with the same columns")
        device = device or next((X.device for X in parts if X.is_cuda), parts[0].device)
        parts = [X.detach() for X in parts]
        self.tensors = [_pinned(X) if X.device != device and not X.is_cuda else X.contiguous() for X in parts]
        super().__init__(self.tensors[0])
        self.device = device
        self.edges = np.cumsum([0, *(len(X) for X in self.tensors)])
        self.shape = int(self.edges[-1]), int(parts[0].shape[1])
        self.values = self.tensors[0]  # for its type

    def parts(self) -> list[torch.Tensor]:
        return list(self.tensors)

    @property
    def entries(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def version(self) -> Any:
        return [X._version for X in self.tensors]

    def extremes(self) -> tuple[float, float]:
        lows, highs = zip(*((float(X.min()), float(X.max())) for X in self.tensors), strict=True)
        return float(np.min(lows)), float(np.max(highs))  # which pass NaN on

    def _blocks(self, *vectors: torch.Tensor) -> Iterator[tuple[Rows, slice, tuple[torch.Tensor, ...]]]:
        """Rows where they are to be used, where they are among all, and their part of vectors, there."""
        for X, first in zip(self.tensors, self.edges, strict=False):
            away = X.device != self.device and not X.is_cuda
            step = max(1, _BLOCK // max(X.element_size() * X.shape[1], 1)) if away else len(X)
            ahead: torch.Tensor | None = None
            for start in range(0, len(X), step):
                block = X[start : start + step] if ahead is None else ahead
                if away and ahead is None:
                    block = block.to(self.device, non_blocking=True)
                after = X[start + step : start + 2 * step]
                # the next block travels while this one is at work
                ahead = after.to(self.device, non_blocking=True) if away and len(after) else None
                place = slice(int(first) + start, int(first) + start + len(block))
                yield rows_of(block), place, tuple(v[place].to(block.device) for v in vectors)

    def _each(self, of: Callable[..., torch.Tensor], *vectors: torch.Tensor) -> torch.Tensor:
        return torch.cat([of(rows, *some).to(self.device) for rows, _, some in self._blocks(*vectors)])

    def _total(self, of: Callable[..., torch.Tensor], *vectors: torch.Tensor) -> torch.Tensor:
        total: Any = 0.0
        for rows, _, some in self._blocks(*vectors):
            total = total + of(rows, *some).to(self.device)
        found: torch.Tensor = total
        return found

    @property
    def depth(self) -> tuple[int, int]:
        """Blocks are added up one after the other."""
        depths = [rows.depth for rows, _, _ in self._blocks()]
        return max(score for score, _ in depths), max(slope for _, slope in depths) + len(depths)

    def scores(self, w: torch.Tensor) -> torch.Tensor:
        return self._each(lambda rows: rows.scores(w.to(rows.device)))

    def adjoint(self, *vectors: torch.Tensor) -> torch.Tensor:
        return self._total(lambda rows, *some: rows.adjoint(*some), *vectors)

    def square_sums(self) -> torch.Tensor:
        return self._each(lambda rows: rows.square_sums())

    def squares(self, weight: torch.Tensor) -> torch.Tensor:
        return self._total(lambda rows, some: rows.squares(some), weight)

    def scaled(self, sizes: torch.Tensor) -> "PartedRows":
        parts = [rows_of(X).scaled(sizes.to(X.device)).values for X in self.tensors]
        return PartedRows(parts, self.device)

    def block(self, start: int, stop: int) -> torch.Tensor:
        return self._gathered(torch.arange(start, stop, device=self.device))

    def take(self, rows: torch.Tensor) -> Rows:
        return rows_of(self._gathered(rows))

    def _gathered(self, rows: torch.Tensor) -> torch.Tensor:
        """Some of them, on the first device, in their order."""
        out = torch.empty((len(rows), self.shape[1]), dtype=self.values.dtype, device=self.device)
        for X, first in zip(self.tensors, self.edges, strict=False):
            here = torch.nonzero((rows >= int(first)) & (rows < int(first) + len(X))).ravel()
            if len(here):
                out[here] = X[(rows[here] - int(first)).to(X.device)].to(self.device)
        return out


def _pinned(X: torch.Tensor) -> torch.Tensor:
    """In pages that stay where they are, which a card reads by itself."""
    X = X.contiguous()
    return X.pin_memory() if torch.cuda.is_available() else X
