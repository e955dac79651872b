"""Where `chain_dual` keeps the weights of features: those in use lie together in memory."""

from typing import Any

import numpy as np

from gapfit._types import Indices, Slope, Vector
from gapfit.design.chain import ChainRows, Pairs


class ChainLayout:
    """The rows of X with common features first, and the weights in that order.

    Where no few features make up most of X, everything stays in its place and nothing is copied.
    """

    def __init__(self, design: ChainRows) -> None:
        self.rows = design.compiled()
        columns = self.rows.indices
        K, d, old = design.n_labels, design.features, design.pairs
        self.pairs = old
        self.where: Indices | None = None  # of each weight of a feature, in the design's order
        order = _by_frequency(columns, d)
        if order is None:
            return
        rank = np.empty(d, np.uint32)
        rank[order] = np.arange(d, dtype=np.uint32)
        columns = rank[columns]
        columns.flags.writeable = False
        self.rows = self.rows._replace(indices=columns)
        if not len(old.names):
            self.where = (order[:, None] * K + np.arange(K)).ravel()
            return
        rows = old.rows.astype(np.int64)
        counts: Indices = np.diff(rows)[order]
        ends = np.concatenate(([0], np.cumsum(counts)))
        self.where = np.repeat(rows[:-1][order] - ends[:-1], counts) + np.arange(ends[-1])
        self.pairs = Pairs(ends.astype(np.uint32), old.names[self.where])

    def sort(self, w: Slope, out: Vector | None = None) -> Vector:
        """Weights in the order of this object, written over others where there are some."""
        out = np.empty_like(w) if out is None else out
        out[:] = w
        if self.where is not None:
            np.take(w, self.where, out=out[: len(self.where)])
        return out

    def restore(self, w: Vector) -> Slope:
        """Weights in the design's order; these themselves, where that is the same."""
        if self.where is None:
            return w
        out = w.copy()
        out[self.where] = w[: len(self.where)]
        return out


def _by_frequency(columns: Any, d: int) -> Indices | None:
    """The features, common ones first; None where a tenth of them makes up less than half of the entries."""
    counts = np.bincount(columns, minlength=d)
    order = np.argsort(-counts, kind="stable")
    return order if 2 * counts[order[: d // 10]].sum() > len(columns) else None
