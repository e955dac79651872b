"""Targets of several labels a sample: indicator matrices."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gapfit._types import Matrix
from gapfit.estimators.base import naming


class Indicators(NamedTuple):
    """An indicator matrix, as the different rows that it has and which of them each sample's is."""

    patterns: Matrix
    code: NDArray[np.intp]

    def codes(self, n: int) -> NDArray[np.intp]:
        """The row of each of n samples, as a number: samples with the same can be merged."""
        if len(self.code) != n:
            raise ValueError(f"y has {len(self.code)} rows but X has {n}")
        return self.code


def as_indicators(y: Any) -> Indicators | None:
    """y if it is a matrix of zeros and ones with two columns or more; None if it has one dimension."""
    if sparse.issparse(y):
        y = y.toarray()
    with naming("y"):
        y = np.asarray(y) if not hasattr(y, "to_numpy") else y.to_numpy()
    if y.ndim != 2 or y.shape[1] < 2:
        return None
    if y.dtype.kind not in "biuf" or not np.isin(y, (0, 1)).all():
        raise ValueError(
            f"y has shape {y.shape}: an indicator matrix holds zeros and ones, a column for each label; "
            "labels of which one is true go into a single column"
        )
    patterns, code = np.unique(y.astype(np.float64), axis=0, return_inverse=True)
    if len(patterns) < 2:
        raise ValueError("y holds the same labels in all rows; there is nothing to tell apart")
    return Indicators(patterns, code.ravel())
