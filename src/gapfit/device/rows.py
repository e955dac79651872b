"""Rows as tensors, dense or sparse: what a design asks of them. Products and their sums are in float64."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch
from scipy import sparse

if TYPE_CHECKING:
    from gapfit.device.oracle import Prepared

__all__ = ["Rows", "quietly", "rows_of"]

_BLOCK = 2**26  # entries of X that are widened at a time, where Triton does not do it one by one


class Rows(ABC):
    """The rows of a matrix."""

    values: torch.Tensor  # stored entries, in whatever order

    def __init__(self, X: torch.Tensor) -> None:
        self.X = X
        self.shape, self.device = (int(X.shape[0]), int(X.shape[1])), X.device

    @property
    @abstractmethod
    def depth(self) -> tuple[int, int]:
        """How many additions make a score, and a coordinate of a slope."""

    @abstractmethod
    def scores(self, w: torch.Tensor) -> torch.Tensor:
        """X w."""

    @abstractmethod
    def adjoint(self, *vectors: torch.Tensor) -> torch.Tensor:
        """X'u for one u or two, as rows."""

    @abstractmethod
    def square_sums(self) -> torch.Tensor:
        """Of each row."""

    @abstractmethod
    def squares(self, weight: torch.Tensor) -> torch.Tensor:
        """The weighted sum of squares of each column."""

    @abstractmethod
    def block(self, start: int, stop: int) -> torch.Tensor:
        """Some of them, dense, as they are stored."""

    @abstractmethod
    def take(self, rows: torch.Tensor) -> "Rows":
        """Some of them."""

    @abstractmethod
    def scaled(self, sizes: torch.Tensor) -> "Rows":
        """A copy, each column multiplied; in single precision where they are in less."""

    def parts(self) -> list[torch.Tensor]:
        """All that is stored."""
        return [self.values]

    @property
    def entries(self) -> int:
        """How many are stored."""
        return self.values.numel()

    @property
    def version(self) -> Any:
        """What changes when somebody writes to them."""
        return self.values._version

    def in_memory(self) -> Any:
        """A copy for NumPy, in which no digit is lost."""
        wide = torch.float64 if self.values.dtype == torch.float64 else torch.float32
        return torch.cat([X.to("cpu", wide) for X in self.parts()]).numpy()

    def extremes(self) -> tuple[float, float]:
        """The least and the largest stored entry; NaN where there is one."""
        if not self.values.numel():
            return 0.0, 0.0
        low, high = torch.stack([self.values.min(), self.values.max()]).tolist()  # waited for once
        return low, high

    def through(
        self, w: torch.Tensor, shift: float, losses: "Prepared", **how: bool
    ) -> tuple[torch.Tensor, torch.Tensor] | None:
        """One pass for scores and slopes, where there is one that pays: see `oracle.through`."""
        del w, shift, losses, how
        return None

    def prepared(self, formula: str, numbers: tuple[torch.Tensor, ...]) -> "Prepared | None":
        """What such passes have in common, where there are any."""
        del formula, numbers
        return None


class DenseRows(Rows):
    """A tensor of rows, one after the other."""

    def __init__(self, X: torch.Tensor) -> None:
        super().__init__(X.contiguous())
        self.values = self.X
        self.passes: ModuleType | None = None
        if X.is_cuda:
            from gapfit.device import passes

            self.passes = passes

    @property
    def depth(self) -> tuple[int, int]:
        n, d = self.shape
        return d, n if self.passes is None else self.passes.depth(self.X)

    def through(
        self, w: torch.Tensor, shift: float, losses: "Prepared", **how: bool
    ) -> tuple[torch.Tensor, torch.Tensor] | None:
        from gapfit.device import oracle

        if not oracle.pays(self.X, losses.formula, **how):
            return None
        return oracle.through(self.X, w, shift, losses, **how)

    def prepared(self, formula: str, numbers: tuple[torch.Tensor, ...]) -> "Prepared | None":
        if self.passes is None:
            return None
        from gapfit.device.oracle import Prepared

        return Prepared(formula, numbers)

    def scores(self, w: torch.Tensor) -> torch.Tensor:
        if self.passes is not None and w.ndim == 1:
            found: torch.Tensor = self.passes.scores(self.X, w)
            return found
        return torch.cat([block.double() @ w for block, _ in self._blocks()])

    def adjoint(self, *vectors: torch.Tensor) -> torch.Tensor:
        if self.passes is not None and vectors[0].ndim == 1:
            found: torch.Tensor = self.passes.adjoint(self.X, *vectors)
            return found
        return self._adjoint(*vectors)

    def adjoint_of(self, picked: torch.Tensor, *vectors: torch.Tensor) -> torch.Tensor:
        """X'u, of u that are zero but for some rows."""
        if self.passes is not None:
            found: torch.Tensor = self.passes.adjoint(self.X, *vectors, picked=picked)
            return found
        return self.take(picked)._adjoint(*(u[picked] for u in vectors))

    def _adjoint(self, *vectors: torch.Tensor) -> torch.Tensor:
        total = vectors[0].new_zeros(len(vectors), self.shape[1], *vectors[0].shape[1:])
        for block, rows in self._blocks():
            wide = block.double()
            total += torch.stack([wide.T @ u[rows] for u in vectors])
        return total

    def square_sums(self) -> torch.Tensor:
        return torch.cat([block.double().square().sum(1) for block, _ in self._blocks()])

    def squares(self, weight: torch.Tensor) -> torch.Tensor:
        total = weight.new_zeros(self.shape[1])
        for block, rows in self._blocks():
            total += weight[rows] @ block.double().square()
        return total

    def block(self, start: int, stop: int) -> torch.Tensor:
        return self.X[start:stop]

    def take(self, rows: torch.Tensor) -> "DenseRows":
        return DenseRows(self.X[rows])

    def scaled(self, sizes: torch.Tensor) -> "DenseRows":
        return DenseRows(self.X * sizes.to(torch.promote_types(self.X.dtype, torch.float32)))

    def _blocks(self) -> Iterator[tuple[torch.Tensor, slice]]:
        n, d = self.shape
        step = max(1, _BLOCK // max(d, 1))
        for first in range(0, n, step):
            rows = slice(first, min(first + step, n))
            yield self.X[rows], rows


class SparseRows(Rows):
    """A CSR tensor; its transpose is kept as well, for sums over rows in a fixed order."""

    def __init__(self, X: torch.Tensor) -> None:
        super().__init__(X)
        self.values = X.values()
        with quietly():
            self.wide = _csr(X.crow_indices(), X.col_indices(), X.values().double(), X.shape)
            turned = self.wide.to_sparse_coo().T.coalesce()
            self.across = turned.to_sparse_csr()

    @property
    def depth(self) -> tuple[int, int]:
        row, column = (int(X.crow_indices().diff().max()) for X in (self.wide, self.across))
        return row, column

    def scores(self, w: torch.Tensor) -> torch.Tensor:
        return self.wide @ w

    def adjoint(self, *vectors: torch.Tensor) -> torch.Tensor:
        return torch.stack([self.across @ u for u in vectors])

    def square_sums(self) -> torch.Tensor:
        return self._squared(self.wide) @ torch.ones(self.shape[1], dtype=torch.float64, device=self.device)

    def squares(self, weight: torch.Tensor) -> torch.Tensor:
        return self._squared(self.across) @ weight

    @staticmethod
    def _squared(X: torch.Tensor) -> torch.Tensor:
        return _csr(X.crow_indices(), X.col_indices(), X.values().square(), X.shape)

    def block(self, start: int, stop: int) -> torch.Tensor:
        return self._rows(torch.arange(start, stop, device=self.device)).to_dense()

    def parts(self) -> list[torch.Tensor]:
        return [self.values, self.X.crow_indices(), self.X.col_indices()]

    def in_memory(self) -> Any:
        wide = torch.float64 if self.values.dtype == torch.float64 else torch.float32
        starts, columns = (x.cpu().numpy() for x in (self.X.crow_indices(), self.X.col_indices()))
        return sparse.csr_array((self.values.to("cpu", wide).numpy(), columns, starts), shape=self.shape)

    def take(self, rows: torch.Tensor) -> "SparseRows":
        return SparseRows(self._rows(rows))

    def scaled(self, sizes: torch.Tensor) -> "SparseRows":
        columns, wide = self.X.col_indices(), torch.promote_types(self.values.dtype, torch.float32)
        values = self.values * sizes.to(wide)[columns]
        return SparseRows(_csr(self.X.crow_indices(), columns, values, self.X.shape))

    def _rows(self, rows: torch.Tensor) -> torch.Tensor:
        starts, stops = self.X.crow_indices()[rows], self.X.crow_indices()[rows + 1]
        counts = stops - starts
        ends = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        place = torch.arange(int(ends[-1]), device=self.device) - torch.repeat_interleave(
            ends[:-1] - starts, counts
        )
        columns, values = self.X.col_indices()[place], self.values[place]
        return _csr(ends, columns, values, (len(rows), self.shape[1]))


def _checked(X: torch.Tensor) -> torch.Tensor:
    """A CSR tensor whose indices lie inside, which torch checks only if it is asked to, and in which no
    entry is in parts: the size of a row would be taken from the squares of these."""
    starts, columns = X.crow_indices(), X.col_indices()
    whole = int(starts[0]) == 0 and int(starts[-1]) == len(columns) and bool((starts.diff() >= 0).all())
    if not whole or (len(columns) and not 0 <= int(columns.min()) <= int(columns.max()) < X.shape[1]):
        raise ValueError("X is no CSR tensor: its indices point outside of it")
    falls = torch.nonzero(columns.diff() <= 0).ravel() + 1
    if bool(torch.isin(falls, starts).all()):  # where rows begin
        return X
    rows = torch.repeat_interleave(torch.arange(X.shape[0], device=X.device), starts.diff())
    summed = torch.sparse_coo_tensor(torch.stack([rows, columns]), X.values(), X.shape).coalesce()
    with quietly():
        return summed.to_sparse_csr()


def _csr(starts: torch.Tensor, columns: torch.Tensor, values: torch.Tensor, shape: Any) -> torch.Tensor:
    """Of parts that come from such a tensor, and need not be checked."""
    with quietly():
        return torch.sparse_csr_tensor(starts, columns, values, shape, check_invariants=False)


@contextmanager
def quietly() -> Iterator[None]:
    """While torch says that sparse tensors are new, and that what it was told not to check is not checked."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        warnings.filterwarnings("ignore", "Sparse invariant checks are implicitly disabled")
        yield


def rows_of(X: torch.Tensor) -> Rows:
    """The rows of a tensor."""
    if X.layout == torch.sparse_csr:
        return SparseRows(_checked(X))
    if X.layout != torch.strided:
        raise TypeError(f"X has the layout {X.layout}; tensors may be dense or in CSR: X.to_sparse_csr()")
    return DenseRows(X)
