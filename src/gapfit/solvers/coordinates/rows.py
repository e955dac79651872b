"""The rows that dual coordinate descent works on: all of them, or some side by side.

A column with a single entry, in row i, holds v_i x_ij in z and nothing else. Where there are many such
columns, sweeps go without them: what they add to |z|^2 is a parabola in v_i, and joins psi_i.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit import room, threads
from gapfit._types import Slope, Vector
from gapfit.design.forms import Rows
from gapfit.design.rows import packed
from gapfit.problem import Problem
from gapfit.solvers.coordinates.kinds import Piecewise

MEMORY = 3  # ways of sweeps that are remembered
_KEPT = 2**17  # samples, up to which their table is kept for fits at other alphas
_CACHED = 2**16  # sparse entries that a cache holds: in single precision they are read no faster


class Store:
    """Rows side by side, their table, and the ways of the last sweeps in their variables."""

    def __init__(self, rows: Any, table: Any, members: Any) -> None:
        self.rows, self.table, self.members = rows, table, members
        self.V = np.zeros((MEMORY, len(table)))
        self.spare = np.empty(len(table))


class Whole(Store):
    """All rows, and what the dual needs to know of them together."""

    def __init__(self, problem: Problem, kind: type[Piecewise], *, keep: bool = False) -> None:
        """`keep` what is of the data alone, for fits at other alphas."""
        from gapfit.compiled.rows import as_rows

        n, d = problem.design.shape
        self.problem, self.original = problem, as_rows(*problem.form(Rows).matrix.rows())
        pays = self.original[1].size == 0 or problem.design.size > _CACHED
        moderate = 1e-20 < problem.design.largest < 1e20
        self.precision = np.dtype(np.float32) if pays and moderate else self.original[0].dtype
        table, self.total, give = _of_the_data(problem, kind, keep=keep)
        squares, self.mean, self.rho = problem.distances**2, np.zeros(d), 0.0
        if problem.n_offsets:
            p = problem.shares
            self.mean = problem.mean
            # a share of the coordinates' own curvature, and what the losses need
            self.rho = 0.01 * float(p @ squares) / problem.alpha + give
        self.mean_sq = float(self.mean @ self.mean)
        table["curvature"] = squares / problem.alpha
        super().__init__(self.original, table, np.arange(n))
        self.singles = self._split_off_singles()
        self.width = d
        if self.singles is not None:
            own = self.singles.squares / problem.alpha
            table["quad"] += own
            table["curvature"] = np.maximum(table["curvature"] - own, 0.0)
            self.width = d - len(self.singles.values)

    def _split_off_singles(self) -> "Singles | None":
        """Copy the rows without the columns that have one entry, if it pays."""
        from gapfit.compiled import packing
        from gapfit.compiled.rows import Rows, as_rows

        _, indices, indptr = self.original
        n, d = self.problem.design.shape
        if 10 * d < len(indices) or len(indices) == 0:
            return None  # there cannot be many
        number, how_many = packing.number_columns(indices, d)
        if 10 * how_many < len(indices):
            return None
        values, rows = np.empty(how_many, self.precision), np.empty(how_many, np.int32)
        singles = Singles(values, rows, np.zeros(n), number)
        room, lengths = len(indices) - how_many, np.empty(n, np.int64)
        parts = threads.parts(n, float(len(indices)))

        def count(part: slice) -> None:
            packing.count_others(indices, indptr, number, part.start, part.stop, lengths)

        threads.each(count, parts)
        starts = np.concatenate(([0], np.cumsum(lengths)))
        others = Rows(np.empty(room, self.precision), np.empty(room, np.int32), starts)

        def split(part: slice) -> None:
            packing.split(self.original, singles, part.start, part.stop, others)

        threads.each(split, parts)
        self.rows = as_rows(*others)
        return singles

    def has_room_for(self, members: Any) -> bool:
        """May these rows be copied, to stand side by side?"""
        entries = float(self.problem.design.size)
        share = len(members) / max(len(self.table), 1)
        copy, whole = self.precision.itemsize, self.original[0].itemsize
        return room.may_be_held_twice(share * entries * copy, entries * whole)

    def part(self, members: Any) -> Store:
        """Some of the rows, copied."""
        from gapfit.compiled.rows import as_rows

        return Store(as_rows(*packed(self.rows, members, self.precision)), self.table.take(members), members)

    def in_full_precision(self) -> None:
        """From now on."""
        self.precision = self.original[0].dtype
        self.singles = self._split_off_singles()

    def short(self, z: Slope) -> Slope:
        """z without the columns that sweeps do not see."""
        return z if self.singles is None else z[self.singles.number >= 0]

    def point(self, z: Slope, s: float, v: Vector, out: Slope) -> Slope:
        """w = (z + s mean) / alpha in all columns; v for those that are not in z."""
        if self.singles is None:
            np.divide(z, self.problem.alpha, out=out)
        else:
            from gapfit.compiled.packing import long

            long(z, self.singles, v, 1 / self.problem.alpha, out)
        if s != 0 and self.problem.n_offsets:
            out += (s / self.problem.alpha) * self.mean
        return out

    def along_mean(self, z: Slope) -> float:
        """<z, mean>, all columns."""
        if not self.problem.n_offsets:
            return 0.0
        w = self.point(z, 0.0, self.table["v"].copy(), np.empty(len(self.mean)))
        return self.problem.alpha * float(w @ self.mean)


def _along_mean(problem: Problem) -> Vector:
    """What the rows score at their mean: one product for all alphas."""
    shared = problem.shared
    if _along_mean not in shared:
        shared[_along_mean] = problem.design.scores(problem.mean)
    along: Vector = shared[_along_mean]
    return along


def _of_the_data(problem: Problem, kind: type[Piecewise], *, keep: bool) -> tuple[Any, float, float]:
    """The table at v = 0 without curvatures, what all v add up to, and how far b should move for a unit of
    imbalance: at one alpha as at another."""
    shared, key = problem.shared, (_of_the_data, kind)
    if key in shared:
        table, total, give = shared[key]
        return table.copy(), total, give
    (table, total), give = kind.table(problem), 0.0
    if problem.n_offsets:
        table["along"] = _along_mean(problem)
        give = kind.offset_per_imbalance(problem, table)
    if keep and len(table) <= _KEPT:
        shared[key] = table.copy(), total, give
    return table, total, give


class Singles(NamedTuple):
    """The columns with one entry, numbered among themselves."""

    values: Any  # the entries
    rows: Any
    squares: Vector  # of the entries, added up by row
    number: Any  # of a column among the others, or -1 - that among the singles
