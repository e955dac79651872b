"""Rows that are held in memory while the others pass by: see `coordinates.streamed`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gapfit._types import Indices, Vector
from gapfit.design.rows import packed
from gapfit.solvers.coordinates.rows import Store


class Held:
    """Rows that are copied while their parts are there: of each part its share of what may be held.

    Memory for all that may come is reserved at first, and taken as it is written to: nothing is there twice.
    """

    def __init__(self, design: Any) -> None:
        self.design, self.filled = design, 0
        self.data: Any = None
        self.indices: Any = None
        self.lengths: list[Indices] = []
        self.members: list[Indices] = []

    def add(self, store: Store, firmness: Vector, lots: Any, dtype: Any) -> None:
        """The least firm rows, as many as there is room for; of those that move, other ones each time."""
        sparse = len(store.rows.indices) > 0
        entry = np.dtype(dtype).itemsize + (4 if sparse else 0)
        room = self.design.resident * len(store.table) / self.design.shape[0]
        order = np.lexsort((lots, firmness))
        cost = np.cumsum(np.diff(store.rows.indptr)[order] * entry)
        rows = np.sort(order[: int(np.searchsorted(cost, room, side="right"))])
        rows = rows[firmness[rows] < np.inf]
        if not len(rows):
            return
        if self.data is None:
            most = int(min(self.design.resident // entry, self.design.size)) + 1
            self.data = np.empty(most, dtype)
            self.indices = np.empty(most if sparse else 0, np.int32)
        data, indices, starts = packed(store.rows, rows, dtype)
        there = slice(self.filled, self.filled + len(data))
        self.data[there] = data
        if sparse:
            self.indices[there] = indices
        self.filled = there.stop
        self.lengths.append(np.diff(starts))
        self.members.append(store.members[rows])

    def store(self, table: Callable[[Any], Any]) -> Store | None:
        """All of them, side by side."""
        from gapfit.compiled.rows import as_rows

        if not self.members:
            return None
        members = np.concatenate(self.members)
        starts = np.concatenate(([0], np.cumsum(np.concatenate(self.lengths))))
        rows = as_rows(self.data[: self.filled], self.indices[: self.filled], starts)
        return Store(rows, table(members), members)
