"""Parts that live on the workers of a cluster.

A part is a future of its load from the source, so that the scheduler can rebuild one that is lost. Each load
has new keys: those of tasks that were on dying workers carry suspicion. What all parts share goes out once a
round, not inside tasks; sums are added up on the workers in the shape of `design.parts.Tree`.
"""

import operator
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from gapfit import threads
from gapfit._types import Indices, Vector
from gapfit.cluster.rounds import PATIENCE, finished, gathered, repeated
from gapfit.design.memory import MemoryDesign
from gapfit.design.parts import FAN_IN, Parts, Work, added
from gapfit.fingerprint import fingerprint

_ALIGNED = 16  # bytes: where NumPy puts arrays
_SMALL = 2**14  # bytes of a vector that travel inside a task: to send them apart costs more


class ClusterParts(Parts):
    """Parts of a matrix on the workers of a client.

    Parameters
    ----------
    client : the user's `distributed.Client`; nothing is started and nothing is closed here.
    loads : makes futures of all parts anew, `MemoryDesign`s, in their order.
    edges, columns, dtype, size : of the matrix.
    patience : seconds that a round may take, repetitions included; then `ClusterLost` is raised.
    """

    def __init__(
        self,
        client: Any,
        loads: Callable[[], list[Any]],
        edges: Indices,
        columns: int,
        dtype: Any,
        size: int,
        patience: float = PATIENCE,
    ) -> None:
        self.client, self.loads, self.patience = client, loads, patience
        self.edges, self.columns, self.dtype, self.size = edges, columns, dtype, size
        self.loaded: list[Any] | None = None

    def run(self, work: Work, vectors: Sequence[Vector], shared: dict[str, Any]) -> tuple[list[Any], Any]:
        began = perf_counter()

        def attempt(deadline: float) -> tuple[list[Any], Any]:
            return self._round(work, vectors, shared, deadline)

        kept, total = repeated(self.client, attempt, self._forget, self.patience)
        sent = sum(vector.nbytes for vector in vectors) + _bytes(list(shared.values()))
        self._count(began, float(sent + _bytes([kept, total])))
        return kept, total

    def _forget(self) -> None:
        """The parts, which are loaded again."""
        self.loaded = None

    def _round(
        self, work: Work, vectors: Sequence[Vector], shared: dict[str, Any], deadline: float
    ) -> tuple[list[Any], Any]:
        client = self.client
        if self.loaded is None:
            self.loaded = self.loads()
        # as a list: of a dictionary its names would be the keys, and last round's values be found under them
        together = client.scatter(list(shared.values()), hash=False) if shared else []
        slices = [self._sent([vector[rows] for rows in self.slices]) for vector in vectors]
        everywhere = [[one] * len(self.loaded) for one in together]
        pairs = client.map(partial(_apply, work, list(shared)), self.loaded, *slices, *everywhere, pure=False)
        wanted = list(pairs) if not work.adds else []
        if work.keeps and work.adds:
            wanted = client.map(operator.itemgetter(0), pairs, pure=False)
        top = self._summed(pairs) if work.adds else None
        ends = [*wanted, *([] if top is None else [top])]
        finished(client, ends, deadline)
        found = gathered(client, ends, self.patience)
        total = found.pop() if top is not None else None
        if work.adds:
            return (found if work.keeps else [None] * len(pairs)), total
        return [kept for kept, _ in found], None

    def _sent(self, pieces: list[Vector]) -> Any:
        """The slices of a vector, on their own if they are large."""
        small = max(piece.nbytes for piece in pieces) <= _SMALL
        return pieces if small else self.client.scatter(pieces, hash=False)

    def _summed(self, pairs: list[Any]) -> Any:
        """The future of the sum of what the pairs add: eight at a time, then eight of those."""
        level = [
            self.client.submit(_sum_of_pairs, pairs[k : k + FAN_IN], pure=False)
            for k in range(0, len(pairs), FAN_IN)
        ]
        while len(level) > 1:
            level = [
                self.client.submit(_sum, level[k : k + FAN_IN], pure=False)
                for k in range(0, len(level), FAN_IN)
            ]
        return level[0]

    def digest(self) -> str:
        return fingerprint(self.run(Digest(), (), {})[0])


class Digest:
    """What the data of a part are."""

    keeps, adds = True, False

    def __call__(self, part: MemoryDesign) -> tuple[str, None]:
        return part.digest(), None


def _apply(work: Work, names: list[str], part: MemoryDesign, *given: Any) -> Any:
    """On a worker: by one thread, whatever else it does, so that the bytes depend on nothing else."""
    _settle(part)
    given = tuple(map(own, given))
    vectors = given[: len(given) - len(names)]
    with threads.using(1):
        return work(part, *vectors, **dict(zip(names, given[len(vectors) :], strict=True)))


def own(value: Any) -> Any:
    """An array in memory of its own. What has come in a message may lie anywhere, and BLAS adds up numbers
    that are not aligned in another order."""
    return np.array(value, order="C") if isinstance(value, np.ndarray) else value


def _settle(part: MemoryDesign) -> None:
    """Give a dense part that has come from another worker memory of its own, once."""
    if isinstance(part.X, np.ndarray) and part.X.ctypes.data % _ALIGNED:
        fresh = own(part.X)
        vars(part).clear()
        part.__init__(fresh)  # type: ignore[misc]


def _sum_of_pairs(pairs: Sequence[Any]) -> Any:
    return _sum([more for _, more in pairs])


def _sum(terms: Sequence[Any]) -> Any:
    total = None
    for term in terms:
        total = added(total, own(term))
    return total


def _bytes(things: Any) -> int:
    """Of all arrays in them."""
    if isinstance(things, (list, tuple)):
        return sum(map(_bytes, things))
    return int(getattr(things, "nbytes", 8))
