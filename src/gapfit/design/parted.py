"""A design whose rows are in parts, wherever these are: every verb is a map over them and an ordered sum.

Every product is a pass, so the last ones are remembered: a solver and the driver that asks after it have one
in common. What is said of a row is computed where the row is, by the `MemoryDesign` of its part, rounding
included. What is said of a column is a sum over the parts, added up in a shape that depends on nothing but
their number.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gapfit import limits
from gapfit._types import Indices, Matrix, Slope, Vector
from gapfit.design.base import Design, Precise
from gapfit.design.forms import PartRows, Plain, RowSums
from gapfit.design.memory import MemoryDesign
from gapfit.design.parts import ChosenParts, LocalParts, Parts, stacked
from gapfit.fingerprint import fingerprint
from gapfit.rounding import gamma, two_sum
from gapfit.solution import Cost

if TYPE_CHECKING:
    from gapfit.penalties.base import Penalty

RESIDENT = 2**28  # bytes of rows that a solver may hold at once, unless it is told otherwise
_SMALL, _LARGE = 1e-20, 1e20  # between these, single precision has room for lengths of rows


class PartedDesign(Design):
    """The map w -> X w and its adjoint, for rows in parts; w and u may also have several columns.

    Parameters
    ----------
    parts : where the rows are.
    resident : bytes of rows that a solver may hold in this process at once.
    """

    def __init__(self, parts: Parts, resident: float = RESIDENT) -> None:
        self.parts, self.resident = parts, resident
        self.shape = int(parts.edges[-1]), parts.columns
        self.dtype, self.size = np.dtype(parts.dtype), parts.size
        self._scores: dict[str, Vector] = {}  # the last, by the fingerprint of what they belong to
        self._slopes: dict[str, Slope] = {}
        self._foreseen: tuple[Slope, Vector] | None = None
        if not self.shape[0]:
            raise ValueError("X has no rows")

    def forms(self) -> Iterator[Any]:
        yield RowSums(self)
        yield Plain()
        if isinstance(self.parts, LocalParts):
            yield PartRows(self)

    # -- the primitive --------------------------------------------------------------------------------------

    def over(self, function: Callable[..., Any], *row_vectors: Any, **shared: Any) -> list[Any]:
        """function(part, its rows of the vectors, what is shared) for every part, in their order."""
        return self.parts.run(_Kept(function), row_vectors, shared)[0]

    def total(self, function: Callable[..., Any], *row_vectors: Any, **shared: Any) -> Any:
        """The sum of these."""
        return self.parts.run(_Added(function), row_vectors, shared)[1]

    def each(self) -> Iterator[tuple[slice, MemoryDesign]]:
        """The parts and where they are, one after the other: for who works on rows, not on sums over them."""
        assert isinstance(self.parts, LocalParts)
        return self.parts.each()

    # -- verbs ----------------------------------------------------------------------------------------------

    def scores(self, w: Slope) -> Vector:
        """X w."""
        limits.look()
        if not w.any():
            return np.zeros((self.shape[0], *w.shape[1:]))  # where every fit starts
        mark = fingerprint(w)
        if mark not in self._scores:
            self.forget_scores()
            self.remember_scores(mark, self.parts.gathered(_Kept(MemoryDesign.scores), (), {"w": w}))
        return self._scores[mark].copy()  # who asks may write to what he gets

    def adjoint(self, u: Vector) -> Slope:
        """X'u."""
        if self._foreseen is not None:
            return self.adjoints(u)[0]  # what was foreseen is remembered
        mark = fingerprint(u)
        if mark not in self._slopes:
            self.remember_slope(mark, self.adjoints(u)[0])
        return self._slopes[mark].copy()

    def remember_scores(self, mark: str, scores: Vector) -> None:
        """Those of the w with this fingerprint, which somebody has computed: the next who asks need not."""
        self._scores = {mark: scores}

    def forget_scores(self) -> None:
        """To make room for others."""
        self._scores = {}

    def remember_slope(self, mark: str, slope: Slope) -> None:
        """That of the u with this fingerprint."""
        self._slopes = {mark: slope}

    def adjoints(self, *vectors: Vector) -> list[Slope]:
        """X'u for one or two u, in one pass; with what was foreseen, if anything was."""
        if self._foreseen is None:
            return list(self.total(_adjoints, *vectors))
        (w, u), self._foreseen = self._foreseen, None
        scores, slopes = self.parts.run(_ScoresToo(), (*vectors, u), {"w": w})
        self.remember_scores(fingerprint(w), np.concatenate(scores))
        self.remember_slope(fingerprint(u), slopes[-1])
        return list(slopes[:-1])

    def foresee(self, asked: Callable[[], tuple[Slope, Vector]]) -> None:
        self._foreseen = asked()

    def weighted_gram(
        self, weight: Vector, centre: Slope | None = None, summed: Slope | None = None
    ) -> Matrix:
        """As of a `MemoryDesign`; every part sums up its own rows."""
        del summed
        return np.asarray(self.total(MemoryDesign.weighted_gram, weight, centre=centre))

    def squares(self, weight: Vector) -> Slope:
        """The sum of weight_i x_ij^2 for each column j."""
        return np.asarray(self.total(MemoryDesign.squares, weight))

    def bend(self, weight: Vector, v: Slope, shift: float) -> tuple[Vector, Slope]:
        """The scores f = X v - shift, and X'(weight f), in one pass."""
        scores, slope = self.parts.run(_Bend(), (weight,), {"v": v, "shift": shift})
        return np.concatenate(scores), slope

    def distances(self, penalty: "Penalty", centre: Slope) -> Vector:
        if penalty.euclidean and not centre.any():
            return self.row_sizes
        shared = {"penalty": penalty, "centre": centre}
        return self.parts.gathered(_Kept(MemoryDesign.distances), (), shared)

    def take(self, rows: Any) -> MemoryDesign:
        """Some of the rows, gathered in memory."""
        rows, chosen = np.arange(self.shape[0])[rows], np.zeros(self.shape[0], bool)
        chosen[rows] = True
        found = [X for X in self.over(_taken, chosen) if X.shape[0]]
        if not found:
            raise ValueError("a design of no rows is none")
        design = MemoryDesign(stacked(found))
        if len(rows) > 1 and not (np.diff(rows) > 0).all():
            design = design.take(np.searchsorted(np.flatnonzero(chosen), rows))
        return design

    def keeping(self, rows: Indices) -> "PartedDesign":
        """These rows, where they are."""
        return PartedDesign(ChosenParts(self.parts, rows), self.resident)

    # -- rounding -------------------------------------------------------------------------------------------

    @cached_property
    def _facts(self) -> "_Facts":
        """What is known of the parts after one pass."""
        facts, total = self.parts.run(_LookAt(), (), {})
        largest, depth, row_sizes = zip(*facts, strict=True)
        return _Facts(max(largest), depth, np.concatenate(row_sizes), total / self.shape[0])

    @property
    def largest(self) -> float:
        return self._facts.largest

    @property
    def depth(self) -> tuple[int, int]:
        rows, columns = zip(*self._facts.depth, strict=True)
        return max(rows), max(columns) + len(columns)

    @property
    def middle(self) -> Slope:
        """The mean of the rows, whatever their weights are."""
        return self._facts.middle

    @property
    def row_sizes(self) -> Vector:
        """Bounds of the lengths, kept in single precision: they go into errors, never into values."""
        return np.asarray(self._facts.row_sizes, np.float64)

    def precise_scores(self, w: Slope) -> Precise | None:
        found = self.over(_precise_scores, w=w)
        if any(part is None for part in found):
            return None
        return Precise(*map(np.concatenate, zip(*found, strict=True)))

    def precise_adjoint(self, u: Vector) -> Precise | None:
        found = self.over(_precise_adjoint, u)
        if any(part is None for part in found):
            return None
        high, low, slack = (np.zeros(self.shape[1]) for _ in range(3))
        for part in found:
            high, rest = two_sum(high, part[0])
            low = low + (rest + part[1])
            slack = slack + part[2] + gamma(2 * len(found) + 2) * (np.abs(rest) + np.abs(part[1]))
        return Precise(high, low, slack)

    @property
    def cost(self) -> Cost:
        return self.parts.cost

    def digest(self) -> str:
        return self.parts.digest()


class _Facts(NamedTuple):
    """Of all parts, one after the other."""

    largest: float
    depth: tuple[tuple[int, int], ...]
    row_sizes: Any  # in single precision and rounded up, if that has room for them
    middle: Slope


# What is done with a part: functions of modules, for these can travel to other machines.


class _Kept:
    """All that the function returns is kept."""

    keeps, adds = True, False

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *arguments: Any, **shared: Any) -> tuple[Any, Any]:
        return self.function(*arguments, **shared), None


class _Added:
    """All that the function returns is added up."""

    keeps, adds = False, True

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *arguments: Any, **shared: Any) -> tuple[Any, Any]:
        return None, self.function(*arguments, **shared)


class _Bend:
    """Scores are kept, slopes are added up."""

    keeps, adds = True, True

    def __call__(self, part: MemoryDesign, weight: Vector, v: Slope, shift: float) -> tuple[Vector, Slope]:
        return part.bend(weight, v, shift)


class _ScoresToo:
    """Scores are kept, all slopes are added up."""

    keeps, adds = True, True

    def __call__(self, part: MemoryDesign, *vectors: Vector, w: Slope) -> tuple[Vector, Matrix]:
        return part.scores(w), _adjoints(part, *vectors)


def _adjoints(part: MemoryDesign, *vectors: Vector) -> Matrix:
    pair, others = (part.adjoints(*vectors[:2]), vectors[2:]) if len(vectors) > 1 else ([], vectors)
    return np.stack([*pair, *map(part.adjoint, others)])


def _taken(part: MemoryDesign, chosen: Any) -> Any:
    return part.take(np.flatnonzero(chosen)).X if chosen.any() else part.X[:0]


class _LookAt:
    """What is known of a part is kept, and its rows are added up."""

    keeps, adds = True, True

    def __call__(self, part: MemoryDesign) -> tuple[Any, Slope]:
        sizes = part.row_sizes
        if _SMALL < part.largest < _LARGE:
            above = np.nextafter(sizes.astype(np.float32), np.float32(np.inf))
            sizes = np.where(sizes > 0, above, np.float32(0.0))
        return (part.largest, part.depth, sizes), part.adjoint(np.ones(part.shape[0]))


def _precise_scores(part: MemoryDesign, w: Slope) -> tuple[Vector, ...] | None:
    found = part.precise_scores(w)
    return None if found is None else tuple(found)


def _precise_adjoint(part: MemoryDesign, u: Vector) -> tuple[Vector, ...] | None:
    found = part.precise_adjoint(u)
    return None if found is None else tuple(found)
