"""Weights that are coefficients of a kernel expansion: what designs of functions have in common.

A weight vector w stands for the function sum_i w_i k(x_i, .), and so does a slope. So the adjoint is the
identity, and the L2 penalty becomes the norm of the space of functions. Products with the kernel matrix are
dear: the last ones are remembered.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.design.base import Design
from gapfit.records import storable
from gapfit.rounding import gamma

if TYPE_CHECKING:
    from gapfit.penalties.base import Penalty

_REMEMBERED = 4  # products


@storable
class Product(NamedTuple):
    """The scores of w."""

    w: Slope
    scores: Vector
    chain: int = 0  # how many changes ago it was computed from scratch
    size: float = 0.0  # the lengths of all that was added up


class Expansion(Design):
    """The map from coefficients to scores."""

    dtype = np.dtype(np.float64)

    def __init__(self) -> None:
        self._products: list[Product] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_products": []}  # which can be made again

    def state(self) -> Any:
        return list(self._products)

    def restore(self, state: Any) -> None:
        self._products = list(state)

    def _remember(self, product: Product) -> Product:
        self._products = [product, *self._products[: _REMEMBERED - 1]]
        return product

    def adjoint(self, u: Vector) -> Slope:
        return u.copy()

    def inner(self, a: Slope, w: Slope) -> float:
        """The inner product of two functions."""
        factor, other = self._factors(a, w)
        return float(factor @ self.scores(other))

    def _factors(self, a: Slope, w: Slope) -> tuple[Slope, Slope]:
        """The two, the second of which is multiplied by K: the one for which that is known."""
        known = any(np.array_equal(a, product.w) for product in self._products)
        return (w, a) if known else (a, w)

    def length(self, w: Slope) -> float:
        """An entry of the kernel matrix is at most the product of the two samples' lengths."""
        return float(np.abs(w) @ self.row_sizes) * (1 + gamma(w.size + 8))

    def penalty(self, penalty: "Penalty") -> "Penalty":
        from gapfit.penalties.hilbert import HilbertNorm  # which knows designs

        if isinstance(penalty, HilbertNorm):
            penalty = penalty.plain
        if not penalty.euclidean:
            raise ValueError(f"a kernel needs the L2 penalty, got {penalty!r}")
        return HilbertNorm(self, penalty)
