"""Products with a Hessian X'DX that is never formed.

A dense X that is not very large is held once more in single precision, less its mean row where there is an
intercept: a product reads half as much, and a block of rows once for both of its halves. A system solved to
five digits gives as good a step as any, and the next one starts from a gradient in double precision.
"""

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from gapfit import room, threads
from gapfit._types import Slope, Vector
from gapfit.design.forms import Rows, RowSums
from gapfit.problem import Problem

SINGLE = 4  # bytes
_BLOCK = 2**17  # entries that stay in the cache
_RANGE = 1e15  # single precision has room for entries up to that, and for its inverse


class CurvedRows:
    """The rows, less their mean if there is an intercept, to be weighted by curvatures.

    `spread` is the mean of the squares in each column, weighted like the samples; `exact` tells whether
    products are in double precision.
    """

    def __init__(self, problem: Problem) -> None:
        design: Any = problem.form(RowSums).matrix
        self.design = design
        self.shape = n, d = design.shape
        self.centre: Slope = problem.mean if problem.n_offsets else np.zeros(d)
        weight = problem.shares
        dense = design.has(Rows) and not sparse.issparse(design.X)
        self.as_it_is = self.exact = not dense or self._is_large(design.X)
        if self.as_it_is:
            self.spread = np.maximum(design.squares(weight) - self.centre**2, 0.0)
            return
        X = design.X
        kind = np.float32 if 1 / _RANGE < design.largest < _RANGE else np.float64
        self.exact = kind == np.float64
        self.parts = threads.parts(n, design.size)
        self.copied = X.dtype != kind or self.centre.any()
        self.X: Any = np.empty((n, d), kind) if self.copied else X
        self.spread = threads.total(partial(self._copy, weight), self.parts)

    @staticmethod
    def _is_large(X: Any) -> bool:
        return not room.may_be_held_twice(float(X.size) * SINGLE, X.nbytes)

    def _copy(self, weight: Vector, rows: slice) -> Slope:
        """Fill in some rows; their share of `spread`."""
        spread = np.zeros(self.shape[1])
        for some in self._blocks(rows):
            block = self.X[some]
            if self.copied:
                np.subtract(self.design.X[some], self.centre, out=block, casting="same_kind")
            spread += weight[some].astype(block.dtype) @ np.square(block)
        return spread

    def mean(self, weight: Vector) -> Slope:
        """The weighted mean row."""
        total = float(weight.sum())
        if self.as_it_is:
            return np.asarray(self.design.adjoints(weight)[0] / total)
        of = partial(self._adjoint, (weight / total).astype(self.X.dtype))
        return np.asarray(self.centre + threads.total(of, self.parts))

    def product(self, weight: Vector, v: Slope, shift: float) -> tuple[Vector, Slope]:
        """The scores f = Xv - shift, and X'(weight f); with an intercept weight f must add up to zero."""
        if self.as_it_is:
            found: tuple[Vector, Slope] = self.design.bend(weight, v, shift)
            return found
        scale = max(float(np.abs(v).max()), 1e-300)  # single precision has a short range
        v, weight = (v / scale).astype(self.X.dtype), weight.astype(self.X.dtype)
        scores, shift = np.empty(self.shape[0]), (shift - float(self.centre @ v * scale)) / scale
        total = threads.total(partial(self._product, weight, v, shift, scores), self.parts)
        return scale * scores, scale * total

    def _product(self, weight: Any, v: Any, shift: float, scores: Vector, rows: slice) -> Slope:
        total = np.zeros(self.shape[1])
        for some in self._blocks(rows):
            block = self.X[some]
            f = block @ v
            f -= f.dtype.type(shift)
            scores[some] = f
            f *= weight[some]
            total += f @ block
        return total

    def _adjoint(self, u: Any, rows: slice) -> Slope:
        total = np.zeros(self.shape[1])
        for some in self._blocks(rows):
            total += u[some] @ self.X[some]
        return total

    def _blocks(self, rows: slice) -> list[slice]:
        step = max(1, _BLOCK // self.shape[1])
        return [slice(first, min(first + step, rows.stop)) for first in range(rows.start, rows.stop, step)]
