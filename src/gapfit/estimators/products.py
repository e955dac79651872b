"""Scores of linear models, wherever the rows are."""

import numpy as np
from scipy import sparse

from gapfit._types import Data, Matrix
from gapfit.design.base import Design
from gapfit.design.memory import MemoryDesign
from gapfit.elsewhere import fetched

_BLOCK_ELEMENTS = 2**20


def products(X: Data | Design, W: Matrix) -> Matrix:
    """X W' in float64, row by row.

    With BLAS the rounding of a row depends on the rows around it, and an optimum has exact ties: samples on
    the margins of two classes. The same row shall always be given the same label.
    """
    if isinstance(X, Design):
        return np.concatenate(X.over(_part_products, W=W))
    if sparse.issparse(X):
        return np.asarray(X @ W.T)
    size = max(1, _BLOCK_ELEMENTS // X.shape[1])
    blocks = (X[first : first + size] for first in range(0, X.shape[0], size))
    return np.concatenate([np.einsum("ij,kj->ik", np.ascontiguousarray(b, np.float64), W) for b in blocks])


def _part_products(part: Design, W: Matrix) -> Matrix:
    if isinstance(part, MemoryDesign):
        return products(part.X, W)
    return np.stack([fetched(part.scores(w)) for w in W], axis=1)
