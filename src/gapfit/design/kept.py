"""Columns of a kernel matrix that are kept in single precision, for a solver that comes back to them.

Most steps of a solver move the same few variables. Where an entry takes many multiplications, it is read from
memory in a fraction of the time that it takes to compute it again; else nothing is kept. The columns that
were not used for longest make room for others.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gapfit import threads
from gapfit._types import Indices, Vector
from gapfit.design.gram import Over, Tiles

_DEAR = 60  # multiplications for an entry from which on memory that is new to the process costs less
_ROWS = 2048  # of sums that are added up at once
_READ = 1.0  # multiplications in the time in which an entry is read


class KeptColumns:
    """Tiles and sums of columns, as `Tiles` gives them in single precision, from at most `memory` bytes."""

    def __init__(self, tiles: Tiles, memory: float) -> None:
        self.tiles = tiles
        room = int(min(memory / (4 * tiles.n), tiles.n)) if tiles.work >= _DEAR else 0
        self.kept = np.empty((room, tiles.n), dtype=np.float32)  # nothing is taken until it is written to
        self.slot = np.full(tiles.n, -1, dtype=np.intp)  # of each column
        self.column = np.full(room, -1, dtype=np.intp)  # in each slot
        self.used = np.zeros(room, dtype=np.int64)  # when
        self.last = np.empty(0, dtype=np.float32)
        self.time = 0

    def state(self) -> dict[str, Any]:
        """What is kept, and where; `restore` needs no more."""
        there = np.flatnonzero(self.column >= 0)
        return {
            "slots": there, "columns": self.column[there], "kept": self.kept[there],
            "used": self.used[there], "time": self.time,
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Keep that. To compute it again would change the last bits, which depend on its neighbours."""
        slots, columns = state["slots"], state["columns"]
        self.kept[slots], self.column[slots], self.used[slots] = state["kept"], columns, state["used"]
        self.slot[columns], self.time = slots, state["time"]

    def tile(self, chosen: Indices) -> Any:
        """K[chosen, chosen], until the next is asked for."""
        from gapfit.compiled.gram import take_kept  # compiled code is loaded only when it is to run

        out = self._again(len(chosen))
        slots = self.slot[chosen]
        known, unknown = np.flatnonzero(slots >= 0), np.flatnonzero(slots < 0)
        if len(known) == 0:
            self.tiles.fill(chosen, chosen, out)
            return out

        def take(part: slice) -> None:
            take_kept(self.kept, slots[known[part]], known[part], chosen, out)

        threads.each(take, threads.parts(len(known), _READ * len(known) * len(chosen)))
        if len(unknown):
            out[unknown] = self.tiles.tile(chosen[unknown], chosen, np.float32)
        return out

    def _again(self, size: int) -> Any:
        """Memory for a tile: the last one's, for memory that is new costs as much as some of its entries."""
        if size * size > len(self.last):
            self.last = self.tiles.room(size * size)
        return self.last[: size * size].reshape(size, size)

    def sums(self, columns: Indices, weights: Vector) -> Vector:
        """K[:, columns] @ weights, added up in double precision."""
        from gapfit.compiled.gram import add_kept

        self.time += 1
        known = self.slot[columns] >= 0
        slots, share = self.slot[columns[known]], weights[known]
        self.used[slots] = self.time
        out = self._computed(columns[~known], weights[~known])

        def add(part: slice) -> None:
            for start in range(part.start, part.stop, _ROWS):
                add_kept(self.kept, slots, share, start, out[start : min(start + _ROWS, part.stop)])

        if len(slots):
            threads.each(add, threads.parts(self.tiles.n, _READ * self.tiles.n * len(slots)))
        return out

    def _computed(self, columns: Indices, weights: Vector) -> Vector:
        """The sum of columns that were not kept; from now on they are, as far as there is room."""

        def keep(some: slice) -> Callable[[slice, Any], None]:
            slots = self._slots(columns[some])

            def put(rows: slice, tile: Any) -> None:
                self.kept[slots, rows] = tile[:, : len(slots)].T

            return put

        return self.tiles.sums(columns, weights, np.float32, Over(keep=keep if len(self.kept) else None))

    def _slots(self, columns: Indices) -> Indices:
        """Where the first of these columns go: to the slots that were not in use for longest."""
        idle = np.flatnonzero(self.used < self.time)
        slots = idle[np.argsort(self.used[idle], kind="stable")[: len(columns)]]
        old = self.column[slots]
        self.slot[old[old >= 0]] = -1
        self.column[slots], self.used[slots] = columns[: len(slots)], self.time
        self.slot[columns[: len(slots)]] = slots
        return slots
