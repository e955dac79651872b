"""Functions in a reproducing kernel Hilbert space as weights.

A weight vector w of length n stands for the function sum_i w_i k(x_i, .), and so does a slope. Then scores
are K w, the adjoint is the identity, and inner products are a'Kw: every solver that uses nothing else of a
design works here unchanged, with every loss. K is never stored unless it is small; products go through tiles.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gapfit._types import Data, Indices, Matrix, Slope, Vector
from gapfit.design.base import Design, Precise
from gapfit.design.definite import WHOLE, negative_direction, symmetric
from gapfit.design.expansion import Expansion, Product
from gapfit.design.gram import CallableTiles, FunctionTiles, Over, Tiles
from gapfit.design.kept_matrix import MatrixTiles
from gapfit.design.kernel_functions import KernelFunction
from gapfit.design.memory import MemoryDesign
from gapfit.forms import design_form
from gapfit.rounding import EPS, gamma

if TYPE_CHECKING:
    from gapfit.penalties.base import Penalty

MEMORY = 1_000_000_000  # bytes
_SMALL = 2000  # samples whose kernel matrix is kept
_LATER = 2**25  # bytes of samples, at most, that may be kept after a fit
_CHAIN = 16  # products each of which was found by changing another
_NOWHERE: Indices = np.zeros(0, dtype=np.intp)
_EXACT = _SMALL**2  # entries of K that exact distances from the mean may cost: where they are kept

Kernel = str | KernelFunction | Callable[[Any, Any], Any]


@design_form("a kernel")
class Gram(NamedTuple):
    """Weights are coefficients of a kernel expansion, and scores are K w."""

    tiles: Tiles  # K
    memory: int  # bytes that tiles, copies of X and factors may take together, as a guide


@design_form("a kernel matrix that is kept")
class KeptGram(NamedTuple):
    """The whole of K is there, symmetric to the last bit."""

    K: Matrix


class KernelDesign(Expansion):
    """The map w -> K w, K the kernel matrix of n samples.

    Parameters
    ----------
    X : array or CSR matrix (n, d); the kernel matrix (n, n) itself if kernel is "precomputed".
    kernel : a kernel function of `gapfit.design.kernel_functions`, "precomputed", or a function of two
        matrices of samples that returns the matrix of their kernel values.
    memory : bytes that tiles, copies of X and factors may take together, as a guide for solvers.
    keep : the most samples whose whole matrix is kept, if it takes no more than half of the memory.
    """

    def __init__(
        self, X: Data | Tiles, kernel: Kernel = "precomputed", memory: int = MEMORY, keep: int = _SMALL
    ) -> None:
        super().__init__()
        self.source = X if isinstance(X, Tiles) else _tiles(X, kernel)
        self.memory, self.keep = memory, keep
        n = self.source.n
        self.shape, self.size = (n, n), n * n
        self.tiles = self.source
        if n <= keep and 16 * n * n <= memory and not isinstance(self.source, MatrixTiles):
            self.tiles = MatrixTiles(self.source.whole())

    def forms(self) -> Iterator[Any]:
        yield Gram(self.tiles, self.memory)
        if isinstance(self.tiles, MatrixTiles):
            yield KeptGram(self.tiles.K)

    @property
    def largest(self) -> float:
        return float(np.abs(self.tiles.diagonal).max(initial=0.0))

    def scores(self, w: Slope) -> Vector:
        """K w; what differs from an earlier w is all that has to be computed."""
        return self._product(w).scores

    def _product(self, w: Slope) -> Product:
        near, changed = self._nearest(w)
        if len(changed) == 0:
            return near
        step = w - near.w
        change = self.tiles.sums(changed, step[changed], np.float64)
        chain, size = near.chain + 1 if near.w.any() else 0, near.size + 2 * self.length(step)
        made = self._remember(Product(w.copy(), near.scores + change, chain, size))
        made.scores.flags.writeable = False
        return made

    def _nearest(self, w: Slope) -> tuple[Product, Indices]:
        """A product that is known, and where its w differs: where K is kept, the same one or none."""
        if self.kept:
            for known in self._products:
                if np.array_equal(w, known.w):
                    return known, _NOWHERE
        near, changed = Product(np.zeros_like(w), np.zeros(self.shape[0]), 0, 0.0), np.flatnonzero(w)
        if self.kept:
            return near, changed
        for known in self._products:
            if known.chain < _CHAIN and len(other := np.flatnonzero(w != known.w)) < len(changed):
                near, changed = known, other
        return near, changed

    def inner_error(self, a: Slope, w: Slope) -> float:
        factor, other = self._factors(a, w)
        return float(np.abs(factor) @ self.slack(other)) + super().inner_error(a, w)

    @cached_property
    def depth(self) -> tuple[int, int]:
        """Columns are added up block by block; the entries of K are rounded as well."""
        blocks = -(-self.shape[0] // self.tiles.width)
        return min(self.tiles.width, self.shape[0]) + blocks + self.tiles.roundings, 0

    def slack(self, w: Slope) -> Vector:
        """A product may be another one, changed: what was added up on the way counts."""
        product = self._product(w)
        return self.row_sizes * (gamma(self.depth[0] + product.chain + 4) * product.size)

    @cached_property
    def row_sizes(self) -> Vector:
        return np.asarray(np.sqrt(np.maximum(self.tiles.diagonal, 0.0)) * (1 + 8 * EPS))

    def precise_scores(self, w: Slope) -> Precise | None:
        """Where K is kept, its entries are numbers like any others."""
        if not isinstance(self.tiles, MatrixTiles):
            return None
        return MemoryDesign(np.ascontiguousarray(self.tiles.K, dtype=np.float64)).precise_scores(w)

    def distances(self, penalty: "Penalty", centre: Slope) -> Vector:
        return _distances(self.tiles.diagonal, self, self, centre)

    @cached_property
    def indefinite(self) -> str | None:
        """Why K is not positive semidefinite, as far as can be seen; None where it is, or seems to be."""
        if self._promised:
            return None
        function = getattr(self.source, "function", None)
        if isinstance(function, KernelFunction) and self.shape[0] > WHOLE:
            return f"{function!r} does not promise it, and there are too many samples to look at all"
        return negative_direction(self.tiles, self.source.unit)

    @property
    def _promised(self) -> bool:
        """Is the matrix positive semidefinite by what the kernel is?"""
        function = getattr(self.source, "function", None)
        return isinstance(function, KernelFunction) and function.psd

    def check_convex(self) -> None:
        if self.indefinite is not None:
            raise ValueError(
                f"the kernel matrix must be positive semidefinite, or nothing is proved: {self.indefinite}; "
                "add a multiple of the identity, or use an estimator, which finds a stationary point"
            )

    @property
    def kept(self) -> bool:
        """Is the whole of K there, so that further products cost little?"""
        return isinstance(self.tiles, MatrixTiles)

    def again(self) -> "Callable[[], KernelDesign] | None":
        """What makes the same design once more, from a copy of the samples; None where they are many."""
        if not isinstance(self.source, FunctionTiles) or 8 * self.source.X.size > _LATER:
            return None
        source, memory, keep = self.source.again(), self.memory, self.keep
        return lambda: KernelDesign(source(), memory=memory, keep=keep)

    def take(self, rows: Any) -> "KernelDesign":
        """Of a matrix that is kept a part is a part; else its entries are computed when they are needed."""
        part = KernelDesign((self.tiles if self.kept else self.source).take(rows), memory=self.memory)
        if self._promised or vars(self).get("indefinite", "not known") is None:  # then no part of it is
            part.indefinite = None
        return part

    def seen_by(self, X: Data) -> "OtherSamples":
        """The scores of other samples, as a design with the same weights."""
        return OtherSamples(self, X)


class OtherSamples(Design):
    """The map w -> K w, where K[r, i] = k(z_r, x_i) for other samples z."""

    dtype = np.dtype(np.float64)

    def __init__(self, train: KernelDesign, X: Data) -> None:
        self.train, self.rows = train, train.source.seen_by(X)  # type: ignore[attr-defined]
        self.diagonal_of_rows: Vector | None = None
        self.shape = (X.shape[0], train.shape[1])
        self.size = self.shape[0] * self.shape[1]

    @property
    def largest(self) -> float:
        return self.train.largest

    def scores(self, w: Slope) -> Vector:
        support = np.flatnonzero(w)
        return self.train.source.sums(support, w[support], np.float64, Over(source=self.rows))

    def adjoint(self, u: Vector) -> Slope:
        raise TypeError("slopes of other samples have no coefficients in terms of the training samples")

    def slack(self, w: Slope) -> Vector:
        tiles = self.train.source
        roundings = min(tiles.width, self.shape[1]) + -(-self.shape[1] // tiles.width) + tiles.roundings
        sizes = np.sqrt(np.maximum(self.rows.diagonal, 0.0)) * (1 + 8 * EPS)
        return np.asarray(sizes * (gamma(roundings + 4) * self.length(w)))

    def length(self, w: Slope) -> float:
        return self.train.length(w)

    def inner_error(self, a: Slope, w: Slope) -> float:
        return self.train.inner_error(a, w)

    def take(self, rows: Any) -> "OtherSamples":
        raise TypeError("take the samples before they are seen")

    def inner(self, a: Slope, w: Slope) -> float:
        return self.train.inner(a, w)

    def distances(self, penalty: "Penalty", centre: Slope) -> Vector:
        if isinstance(self.rows, MatrixTiles):
            raise ValueError(
                "the distance of other samples needs their own kernel values, which a matrix lacks"
            )
        return _distances(self.rows.diagonal, self, self.train, centre)


def _distances(diagonal: Vector, rows: Design, train: KernelDesign, centre: Slope) -> Vector:
    """Of samples from a mean of training samples, in the space of functions; never too small.

    Exact where K is not too large. Else by the triangle inequality: the farthest training sample is farther.
    """
    if not centre.any():
        return np.sqrt(np.maximum(diagonal, 0.0) * (1 + 8 * EPS))
    if rows.size <= _EXACT:
        near, square = rows.scores(centre), train.inner(centre, centre)
        lost = 2 * rows.slack(centre) + train.inner_error(centre, centre)
        lost += 8 * EPS * (np.abs(diagonal) + 2 * np.abs(near) + abs(square))
        return np.sqrt(np.maximum(diagonal - 2 * near + square, 0.0) + lost)
    total = float(np.abs(centre).sum())  # 1, up to rounding
    return np.asarray(np.sqrt(np.maximum(diagonal, 0.0)) + total * np.sqrt(train.largest) * (1 + 8 * EPS))


def _tiles(X: Data, kernel: Kernel) -> Tiles:
    if isinstance(kernel, KernelFunction):
        return FunctionTiles(X, kernel)
    if callable(kernel):
        return CallableTiles(X, kernel)
    if not isinstance(kernel, str) or kernel != "precomputed":
        raise ValueError(f"kernel must be a kernel function, 'precomputed' or a function, got {kernel!r}")
    given = np.asarray(X)
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise ValueError(f"X must be a square kernel matrix, got shape {given.shape}")
    unit = float(np.finfo(given.dtype).eps) if given.dtype == np.float32 else EPS
    K = symmetric(given.astype(np.float64, copy=False))
    return MatrixTiles(np.ascontiguousarray(K.T if K.flags.f_contiguous else K), unit)  # which are the same
