"""Differences of rows of X, one for each pair, without making them: what is summed up over pairs is summed up
over samples first. Scores take a product with X, however many pairs there are."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from gapfit import limits
from gapfit._types import Indices, Matrix, Slope, Vector
from gapfit.design.base import Design
from gapfit.design.forms import Plain, RowSums
from gapfit.design.memory import MemoryDesign
from gapfit.design.rows import row_differences

if TYPE_CHECKING:
    from gapfit.penalties.base import Penalty


class DifferenceDesign(Design):
    """The map w -> X[above] w - X[below] w."""

    def __init__(self, matrix: MemoryDesign, above: Indices, below: Indices) -> None:
        self.matrix, self.above, self.below = matrix, above, below
        self.shape = (len(above), matrix.shape[1])
        self.dtype = matrix.dtype
        self.size = matrix.size + 2 * len(above)

    def forms(self) -> Iterator[Any]:
        yield RowSums(self)
        yield Plain()

    def scores(self, w: Slope) -> Vector:
        scores = self.matrix.scores(w)
        differences: Vector = scores[self.above]
        differences -= scores[self.below]
        return differences

    def adjoint(self, u: Vector) -> Slope:
        return self.matrix.adjoint(self._by_sample(u))

    def _by_sample(self, u: Vector) -> Vector:
        """The sum over a sample's pairs above others, less that over its pairs below others."""
        n = self.matrix.shape[0]
        return np.asarray(np.bincount(self.above, u, n) - np.bincount(self.below, u, n), np.float64)

    def take(self, rows: Any) -> "DifferenceDesign":
        return DifferenceDesign(self.matrix, self.above[rows], self.below[rows])

    def weighted_gram(
        self, weight: Vector, centre: Slope | None = None, summed: Slope | None = None
    ) -> Matrix:
        """The lower triangle of sum of weight_i (d_i - centre)(d_i - centre)', d_i the differences; what is
        above it means nothing. ``summed`` is their sum, weighted, if it is known."""
        gram = self._gram(weight)
        if centre is not None and centre.any():
            summed = self.adjoint(weight) if summed is None else summed
            cross = np.outer(centre, summed - 0.5 * float(weight.sum()) * centre)
            gram -= cross + cross.T
        return gram

    def _gram(self, weight: Vector) -> Matrix:
        """That about zero: X'(L X), L the Laplacian of the pairs as edges, weighted."""
        used = np.flatnonzero(weight)
        above, below, weight = self.above[used], self.below[used], weight[used]
        X = self.matrix.X
        if sparse.issparse(X):
            return MemoryDesign(row_differences(X, above, below)).weighted_gram(weight)
        from gapfit.compiled.rank import add_differences  # compiled code is loaded only when it is to run

        limits.look()
        spread = np.zeros(X.shape)
        add_differences(X, above, below, weight, spread)
        return np.asarray(X.T @ spread)

    def squares(self, weight: Vector) -> Slope:
        """The sum of weight_i d_ij^2 for each column j."""
        used = np.flatnonzero(weight)
        rows = row_differences(self.matrix.X, self.above[used], self.below[used])
        return MemoryDesign(rows).squares(weight[used])

    def bend(self, weight: Vector, v: Slope, shift: float) -> tuple[Vector, Slope]:
        """The scores f = D v - shift, and D'(weight f), D the rows of differences."""
        scores = self.scores(v) - shift
        return scores, self.adjoint(weight * scores)

    @property
    def largest(self) -> float:
        """A bound of the largest absolute entry."""
        return 2 * self.matrix.largest

    def distances(self, penalty: "Penalty", centre: Slope) -> Vector:
        return penalty.dual_norms(row_differences(self.matrix.X, self.above, self.below), centre)

    @cached_property
    def depth(self) -> tuple[int, int]:
        """With one addition more for a score, and those over the pairs of a sample for a slope."""
        scores, slopes = self.matrix.depth
        return scores + 2, slopes + self.shape[0] + 1

    @cached_property
    def row_sizes(self) -> Vector:
        """One bound for all: the lengths of two rows, in terms of which their difference is rounded."""
        return np.full(self.shape[0], 2 * float(self.matrix.row_sizes.max()))
