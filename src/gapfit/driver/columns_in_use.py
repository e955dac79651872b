"""Sparse rows without the columns that no row has: weights are zero there, and vectors that much shorter."""

from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from gapfit._types import Indices, Slope
from gapfit.design.memory import MemoryDesign

_ENTRIES = 2  # times as many columns as that are half empty at least


class ColumnsInUse(NamedTuple):
    """A design, or what is left of it, and which of so many columns it has: all of them, if that is None."""

    design: MemoryDesign
    used: Indices | None
    all: int

    @classmethod
    def of(cls, design: MemoryDesign) -> Self:
        """Only where most are empty for certain: to look for them takes as long as a product."""
        X, d = design.X, design.shape[1]
        if d <= _ENTRIES * design.size or not sparse.issparse(X):
            return cls(design, None, d)
        place = np.zeros(d, X.indices.dtype)
        place[X.indices] = 1
        used = np.flatnonzero(place)
        place[used] = np.arange(len(used))
        rows = sparse.csr_matrix((X.data, place[X.indices], X.indptr), (X.shape[0], max(len(used), 1)))
        rows.has_canonical_format = True  # as those of all designs
        return cls(MemoryDesign(rows), used, d)

    def of_all(self, w: Slope) -> Slope:
        """The weights of all columns, one or several for each."""
        if self.used is None:
            return w
        whole = np.zeros((self.all, *w.shape[1:]))
        whole[self.used] = w[: len(self.used)]
        return whole
