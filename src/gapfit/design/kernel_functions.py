"""Kernels k(x, z): which function of inner products they are.

Each turns a tile of inner products <x_r, z_k> into one of kernel values, in place. Squared lengths come with
it, already multiplied by gamma, for the Gaussian.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from gapfit._types import Parametric, Vector
from gapfit.errors import as_number, as_positive


class KernelFunction(Parametric, ABC):
    """A kernel that is a function of inner products."""

    centred: ClassVar[bool] = False  # does subtracting one vector from all samples change nothing?
    psd: ClassVar[bool] = True  # is every matrix of its values positive semidefinite?

    @abstractmethod
    def apply(self, tile: Any, of_rows: Any, of_columns: Any) -> Any:
        """Kernel values from inner products and squared lengths; `tile` may be overwritten."""

    @abstractmethod
    def diagonal(self, squares: Vector) -> Vector:
        """k(x, x) for samples of these squared lengths."""


class Linear(KernelFunction):
    """<x, z>."""

    def apply(self, tile: Any, of_rows: Any, of_columns: Any) -> Any:
        return tile

    def diagonal(self, squares: Vector) -> Vector:
        return squares.copy()


class Gaussian(KernelFunction):
    """exp(-gamma |x - z|^2)."""

    centred = True

    def __init__(self, gamma: float) -> None:
        self.gamma = float(as_positive("gamma", gamma))

    def apply(self, tile: Any, of_rows: Any, of_columns: Any) -> Any:
        of_rows, of_columns = self.gamma * of_rows, self.gamma * of_columns
        from gapfit.compiled.gram import exponents, gaussian  # compiled code is loaded only when it is to run

        if tile.dtype == np.float32:
            of_rows, of_columns = (part.astype(np.float32, copy=False) for part in (of_rows, of_columns))
            gaussian(tile, of_rows, of_columns, np.float32(2 * self.gamma))
            return tile
        exponents(tile, of_rows, of_columns, 2 * self.gamma)
        with np.errstate(under="ignore"):
            return np.exp(tile, out=tile)

    def diagonal(self, squares: Vector) -> Vector:
        return np.ones_like(squares)


class Polynomial(KernelFunction):
    """(gamma <x, z> + coef0)^degree; positive semidefinite for coef0 >= 0 and a whole degree."""

    def __init__(self, gamma: float, degree: float = 3, coef0: float = 0.0) -> None:
        self.gamma = float(as_positive("gamma", gamma))
        self.degree, self.coef0 = as_number("degree", degree), as_number("coef0", coef0)
        if not (self.degree >= 0 and self.degree == int(self.degree)):
            raise ValueError(f"degree must be a whole number that is not negative, got {degree!r}")
        if self.coef0 < 0:
            raise ValueError(f"coef0 must not be negative, or the kernel is not one, got {coef0!r}")

    def apply(self, tile: Any, of_rows: Any, of_columns: Any) -> Any:
        tile *= self.gamma
        tile += self.coef0
        return np.power(tile, int(self.degree), out=tile)

    def diagonal(self, squares: Vector) -> Vector:
        return np.asarray((self.gamma * squares + self.coef0) ** int(self.degree))


class Sigmoid(KernelFunction):
    """tanh(gamma <x, z> + coef0): not a kernel in truth, for its matrices may be indefinite."""

    psd = False

    def __init__(self, gamma: float, coef0: float = 0.0) -> None:
        self.gamma, self.coef0 = float(as_positive("gamma", gamma)), as_number("coef0", coef0)

    def apply(self, tile: Any, of_rows: Any, of_columns: Any) -> Any:
        tile *= self.gamma
        tile += self.coef0
        return np.tanh(tile, out=tile)

    def diagonal(self, squares: Vector) -> Vector:
        return np.tanh(self.gamma * squares + self.coef0)
