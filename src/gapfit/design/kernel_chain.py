"""Chains whose node scores are functions in a reproducing kernel Hilbert space: kernel random fields.

The score of label k at a token x is h_k(x) = sum_i W_ik k(x_i, x) over the tokens x_i of the training data.
Weights are W, row by row, then transitions, start and end as in `ChainDesign`; scores are (G W, transitions,
start, end) with the kernel matrix G. So the map is symmetric: with <a, w> its bilinear form, the adjoint is
the identity, as in `KernelDesign`. G is kept, which is for small data.
"""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gapfit._types import Data, Matrix, Slope, Vector
from gapfit.design.chain import as_lengths, whole_chains
from gapfit.design.expansion import Expansion, Product
from gapfit.design.gram import Tiles
from gapfit.design.kernel import Kernel, KernelDesign
from gapfit.room import ask_for

if TYPE_CHECKING:
    from gapfit.penalties.base import Penalty

_MOST = 20_000  # tokens


class KernelChainDesign(Expansion):
    """The map from coefficients of kernel functions to the scores of a chain model.

    Parameters
    ----------
    X, lengths, n_labels : as of `ChainDesign`.
    kernel : a kernel function of `gapfit.design.kernel_functions`, or a function of two matrices of tokens
        that returns the matrix of their kernel values.
    """

    def __init__(self, X: Data | Tiles, lengths: Any, n_labels: int, kernel: Kernel = "precomputed") -> None:
        super().__init__()
        self.kernel = KernelDesign(X, kernel, memory=0)
        n, K = self.kernel.shape[0], int(n_labels)
        if n > _MOST:
            raise ValueError(f"a kernel is for at most {_MOST} tokens, whose matrix is kept; there are {n}")
        self.n_labels = K
        self.lengths = as_lengths(lengths, n)
        self.tokens = np.concatenate(([0], np.cumsum(self.lengths)))
        scores = n * K + K * K + 2 * K
        self.shape, self.size = (scores, scores), n * n * K

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "matrix"}

    @cached_property
    def matrix(self) -> Matrix:
        """G, symmetric to the last bit."""
        each, n = np.arange(self.n_samples), self.n_samples
        ask_for(24.0 * n * n, f"the kernel matrix of {n} tokens", "take fewer of them, or no kernel")
        G = self.kernel.source.tile(each, each, np.float64)
        return np.asarray(0.5 * (G + G.T))

    @property
    def n_samples(self) -> int:
        return self.kernel.shape[0]

    @property
    def largest(self) -> float:
        return max(self.kernel.largest, 1.0)

    def scores(self, w: Slope) -> Vector:
        """Node scores, transitions, start, end."""
        for known in self._products:
            if np.array_equal(known.w, w):
                return known.scores.copy()
        product = w.copy()
        nodes = self.n_samples * self.n_labels
        if w[:nodes].any():
            product[:nodes] = (self.matrix @ w[:nodes].reshape(-1, self.n_labels)).ravel()
        return self._remember(Product(w.copy(), product)).scores.copy()

    @cached_property
    def row_sizes(self) -> Vector:
        ends = np.ones(self.n_labels * (self.n_labels + 2))
        return np.concatenate([np.repeat(self.kernel.row_sizes, self.n_labels), ends])

    @property
    def depth(self) -> tuple[int, int]:
        return self.n_samples + self.kernel.tiles.roundings, 0

    def check_convex(self) -> None:
        self.kernel.check_convex()

    def distances(self, penalty: "Penalty", centre: Slope) -> Vector:
        """How far a score can move with w; there is nothing to centre."""
        K = self.n_labels
        nodes = self.kernel.distances(penalty, np.zeros(self.n_samples))
        return np.concatenate([np.repeat(nodes, K), np.ones(K * K + 2 * K)])

    def take(self, rows: Any) -> "KernelChainDesign":
        """The design of some chains, named by all their tokens."""
        kept, lengths = whole_chains(rows, self.tokens)
        return KernelChainDesign(self.kernel.source.take(kept), lengths, self.n_labels)

    def scores_of(self, X: Data, w: Slope) -> Vector:
        """The scores of other tokens: their nodes, transitions, start, end."""
        K = self.n_labels
        nodes, tail = w[: -K * K - 2 * K].reshape(-1, K), w[-K * K - 2 * K :]
        others = self.kernel.seen_by(X)
        each = np.stack([others.scores(np.ascontiguousarray(column)) for column in nodes.T], axis=1)
        return np.concatenate([each.ravel(), tail])
