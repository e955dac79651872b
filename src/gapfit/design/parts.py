"""Rows in parts, wherever they are: in memory, on disk, on other machines.

There is one primitive. `run` applies a function to every part, which is a `MemoryDesign` alive for as long as
the function runs, with its rows of some vectors and with what all parts share. The function returns a pair:
what is kept for its rows, and what is added up over all parts. Whatever is asked of all rows is such a
function, written once; where the parts are decides only how it is run.

Sums have a fixed shape, a tree of eight branches at each node in the order of the parts. So the same parts
give the same bytes, whoever adds them up and however many do.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from gapfit import limits, threads
from gapfit._types import Data, Indices, Vector
from gapfit.design.memory import MemoryDesign
from gapfit.fingerprint import fingerprint
from gapfit.solution import Cost

FAN_IN = 8  # branches at each node of a sum
AT_ONCE = 2**28  # bytes of parts that are loaded at the same time, unless a single one has more
WAITING = 2**24  # bytes of terms that wait until they are added up
ROUNDS = 16  # parts that a thread works on before it waits for others


class Work(Protocol):
    """A function of a part, its rows of the vectors and what is shared: returns what is kept, and what is
    added up, each None unless it says so. It may have to travel: an object of a class of a module."""

    keeps: bool
    adds: bool

    def __call__(self, part: Any, *vectors: Any, **shared: Any) -> tuple[Any, Any]: ...


class Parts(ABC):
    """Consecutive runs of the rows of one matrix."""

    edges: Indices  # of the runs among all rows, from zero to their number
    columns: int
    dtype: Any
    size: int  # stored entries
    cost = Cost()

    @property
    def slices(self) -> list[slice]:
        """The rows of each part."""
        return [slice(int(start), int(stop)) for start, stop in pairwise(self.edges)]

    @abstractmethod
    def run(self, work: Work, vectors: Sequence[Vector], shared: dict[str, Any]) -> tuple[list[Any], Any]:
        """What the work keeps of each part, in their order, and the sum of what it adds."""

    def gathered(self, work: Work, vectors: Sequence[Vector], shared: dict[str, Any]) -> Vector:
        """What the work keeps of each row, one below the other."""
        return np.concatenate(self.run(work, vectors, shared)[0])

    @abstractmethod
    def digest(self) -> str:
        """What the data are."""

    def _count(self, began: float, amount: float) -> None:
        """One more pass."""
        cost = self.cost
        self.cost = Cost(cost.passes + 1, cost.bytes + amount, cost.seconds + perf_counter() - began)


class LocalParts(Parts):
    """Parts that this process loads one after the other."""

    @abstractmethod
    def load(self, k: int) -> MemoryDesign:
        """The k-th part, to be let go of after its use."""

    def each(self) -> Iterator[tuple[slice, MemoryDesign]]:
        """Every part and its rows, in a pass."""
        began = perf_counter()
        for k, rows in enumerate(self.slices):
            limits.look()
            yield rows, self.load(k)
        self._count(began, self.bytes)

    def run(self, work: Work, vectors: Sequence[Vector], shared: dict[str, Any]) -> tuple[list[Any], Any]:
        kept, tree = [], Tree()
        for _, (one, more) in self._done(work, vectors, shared):
            kept.append(one)
            tree.add(more)
        return kept, tree.total()

    def gathered(self, work: Work, vectors: Sequence[Vector], shared: dict[str, Any]) -> Vector:
        """The same without a second copy of everything."""
        gathered: Any = None
        for rows, (one, _) in self._done(work, vectors, shared):
            if gathered is None:
                gathered = np.empty((int(self.edges[-1]), *one.shape[1:]), one.dtype)
            gathered[rows] = one
        return np.asarray(gathered)

    def _done(
        self, work: Work, vectors: Sequence[Vector], shared: dict[str, Any]
    ) -> Iterator[tuple[slice, tuple[Any, Any]]]:
        """The rows of each part and what the work says of it, in a pass. A thread has a part of its own, so
        that parts are loaded by all of them; as many at once as there is room for."""
        began, slices = perf_counter(), self.slices

        def done(k: int) -> tuple[Any, Any]:
            return work(self.load(k), *(vector[slices[k]] for vector in vectors), **shared)

        room = max(1, int(AT_ONCE * len(slices) // max(self.bytes, 1.0)))
        several = max(1, min(threads.at_hand(), room))
        first, rounds = 0, 1
        while first < len(slices):
            some = range(first, min(first + several * rounds, len(slices)))
            found = threads.each(done, some)
            yield from zip(slices[some.start : some.stop], found, strict=True)
            # threads wait for each other after a round, so let it be long; what is to be added waits as well
            waiting = several * (getattr(found[0][1], "nbytes", 0) + 1)
            first, rounds = some.stop, int(min(max(WAITING // waiting, 1), ROUNDS))
        self._count(began, self.bytes)

    @property
    def bytes(self) -> float:
        """What a pass reads."""
        return float(self.size * np.dtype(self.dtype).itemsize)


class MemoryParts(LocalParts):
    """Matrices that are in memory, one below the other."""

    def __init__(self, matrices: Sequence[Data]) -> None:
        if not matrices:
            raise ValueError("a design needs a part or more")
        self.designs = [MemoryDesign(X) for X in matrices]
        widths = {design.shape[1] for design in self.designs}
        if len(widths) > 1:
            raise ValueError(f"parts of one matrix have the same columns, not {sorted(widths)}")
        self.edges = np.concatenate(([0], np.cumsum([design.shape[0] for design in self.designs])))
        self.columns, self.dtype = widths.pop(), np.result_type(*(design.dtype for design in self.designs))
        self.size = sum(design.size for design in self.designs)

    def load(self, k: int) -> MemoryDesign:
        return self.designs[k]

    def digest(self) -> str:
        return fingerprint([design.digest() for design in self.designs])


class ChosenParts(Parts):
    """Some rows of other parts, picked out again in each pass: for samples that have no weight."""

    def __init__(self, parts: Parts, rows: Indices) -> None:
        self.parts, self.rows = parts, rows
        self.edges = np.searchsorted(rows, parts.edges)
        self.columns, self.dtype = parts.columns, parts.dtype
        self.size = max(1, round(parts.size * len(rows) / max(int(parts.edges[-1]), 1)))

    def run(self, work: Work, vectors: Sequence[Vector], shared: dict[str, Any]) -> tuple[list[Any], Any]:
        everywhere = [self._spread(np.ones(len(self.rows), bool)), *map(self._spread, vectors)]
        found = self.parts.run(_OnChosen(work), everywhere, shared)
        self.cost = self.parts.cost
        return found

    def _spread(self, vector: Any) -> Any:
        """Over all rows."""
        everywhere = np.zeros((int(self.parts.edges[-1]), *vector.shape[1:]), vector.dtype)
        everywhere[self.rows] = vector
        return everywhere

    def digest(self) -> str:
        return fingerprint(self.parts.digest(), self.rows)


class _OnChosen:
    """Work on some of a part's rows."""

    def __init__(self, work: Work) -> None:
        self.work, self.keeps, self.adds = work, work.keeps, work.adds

    def __call__(self, part: MemoryDesign, chosen: Any, *vectors: Any, **shared: Any) -> tuple[Any, Any]:
        rows = np.flatnonzero(chosen)
        return self.work(part.take(rows), *(vector[rows] for vector in vectors), **shared)


class Tree:
    """A sum of terms that come one after the other: eight at a time, then eight of those, and so on."""

    def __init__(self) -> None:
        self.levels: list[tuple[Any, int]] = []  # a sum that is not complete, and of how many

    def add(self, term: Any, level: int = 0) -> None:
        if level == len(self.levels):
            self.levels.append((None, 0))
        total, count = self.levels[level]
        total, count = added(total, term), count + 1
        self.levels[level] = total, count
        if count == FAN_IN:
            self.levels[level] = None, 0
            self.add(total, level + 1)

    def total(self) -> Any:
        """The sum of all; what is left of a level is one more term of the next."""
        left = None
        for total, _ in self.levels:
            left = added(total, left)
        return left


def added(total: Any, term: Any) -> Any:
    """Their sum; None is no term. The total is written to: work hands over what it adds."""
    if term is None or total is None:
        return term if total is None else total
    total += term
    return total


def stacked(matrices: Sequence[Data]) -> Data:
    """One below the other."""
    if len(matrices) == 1:
        return matrices[0]
    if not sparse.issparse(matrices[0]):
        return np.concatenate(matrices)
    whole = sparse.vstack(matrices, format="csr")
    whole.has_canonical_format = all(X.has_canonical_format for X in matrices)
    return whole
