"""Designs that count the work done with them, for what a solver says of its effort."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gapfit._types import Data, Matrix, Slope, Vector
from gapfit.design.base import Design
from gapfit.design.forms import Plain, Rows
from gapfit.design.memory import MemoryDesign


class Counter:
    """Multiply-adds so far, but for those that are not to count."""

    def __init__(self, *, dear: bool = True) -> None:
        self.work, self.on, self.blind = 0.0, True, False
        self.dear = dear  # are products more work than all else?

    def add(self, work: float) -> None:
        self.work += work * self.on


class CountedProducts(Design):
    """A dense X of which nobody sees more than products. They are said to be dear, so that all else a solver
    does is little beside them."""

    dtype = np.dtype(np.float64)
    size = 10**9

    def __init__(self, X: Matrix, counter: Counter) -> None:
        self.X, self.shape, self.counter = X, X.shape, counter

    def forms(self) -> Iterator[Any]:
        yield Plain()

    @property
    def largest(self) -> float:
        return float(np.abs(self.X).max())

    def scores(self, w: Slope) -> Vector:
        self.counter.add(self.size)
        return self.X @ w

    def adjoint(self, u: Vector) -> Slope:
        self.counter.add(self.size)
        return self.X.T @ u

    def take(self, rows: Any) -> "CountedProducts":
        return CountedProducts(self.X[rows], self.counter)

    def distances(self, penalty: Any, centre: Slope) -> Vector:
        return np.asarray(penalty.dual_norms(self.X, centre))


class CountedRows(MemoryDesign):
    """The rows of X. What compiled code does with them cannot be counted: then the counter is blind."""

    def __init__(self, X: Data, counter: Counter) -> None:
        super().__init__(X)
        self.counter = counter

    def forms(self) -> Iterator[Any]:
        yield Plain()
        yield Rows(self)

    def scores(self, w: Slope) -> Vector:
        self.counter.add(self.size * w.size / len(w))
        return super().scores(w)

    def adjoint(self, u: Vector) -> Slope:
        self.counter.add(self.size * u.size / len(u))
        return super().adjoint(u)

    def adjoints(self, *vectors: Vector) -> list[Slope]:
        self.counter.add(self.size * len(vectors))
        return super().adjoints(*vectors)

    def weighted_gram(
        self, weight: Vector, centre: Slope | None = None, summed: Slope | None = None
    ) -> Matrix:
        self.counter.add(0.5 * np.count_nonzero(weight) * self.shape[1] ** 2)
        return super().weighted_gram(weight, centre, summed)

    def rows(self) -> tuple[Any, Any, Any]:
        self.counter.blind = True
        return super().rows()

    def dense(self) -> Matrix:
        self.counter.blind = True
        return super().dense()

    def take(self, rows: Any) -> "CountedRows":
        return CountedRows(self.X[rows], self.counter)
