"""Records: what a solver yields, what a fit returns, and how it ended."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Slope, Vector
from gapfit.minorant import Minorant
from gapfit.records import storable

__all__ = ["Certificate", "Cost", "Iterate", "Progress", "Record", "Solution", "Status"]


class Status(Enum):
    """How a fit ended. The value is the sentence a user reads."""

    CERTIFIED = "certified: the duality gap is at most tol"
    PREDICTIONS = "predictions certified: those on the given rows are proved to be the exact optimum's"
    MAX_ITER = "max_iter was reached; the reported gap is still a valid bound"
    TIME_LIMIT = "max_time was reached; the reported gap is still a valid bound"
    STOPPED = "a callback stopped the fit; the reported gap is still a valid bound"
    INTERRUPTED = "interrupted; this is the best certified point so far and its gap is a valid bound"
    LOCAL = "local: the convex fits it began from are certified, nothing is proved of the model itself"
    STALLED = "stalled: tol is below what this precision can certify, or the solver makes no headway here"

    def __reduce__(self) -> Any:
        """By its sentence, which is how skops stores it."""
        return type(self), (self.value,)


class Iterate(NamedTuple):
    """What a solver hands to the driver at each step."""

    w: Slope | Callable[[], Slope]  # lazy where making it costs more than a step
    b: Vector  # the solver's idea of the offsets; the driver minimises over them exactly
    minorant: Minorant | Callable[[], Minorant] | None = None  # lazy where it costs a pass over the data
    primal: float | None = None  # the solver's claim of J(w); None: the driver evaluates
    snapshot: Callable[[], dict[str, Any]] = dict  # a solver given this as `state` continues from here
    estimate: float | None = None  # the solver's guess of its gap: only says when a look is worth its cost
    objective: float | Callable[[], float] | None = None  # its guess of J(w), to the same end
    tangent: bool = False  # is the bound that of the tangent at w? The driver has its scores at hand
    way: Sequence[Sequence[float]] = ()  # (J, gap), by its guess, at points that the step has passed
    work: float | None = None  # multiply-adds since the last iterate, where steps differ; None: as declared

    def point(self) -> Slope:
        """w itself."""
        return self.w() if callable(self.w) else self.w


class Record(NamedTuple):
    """One line of the history, after `n_iter` steps and `time` seconds: the best bounds, if they were proved
    then; else what the solver claims of its point, its objective and that less its guess of the gap."""

    n_iter: int
    time: float
    primal: float
    dual: float
    gap: float
    proved: bool = True


def as_table(history: Sequence[Record]) -> NDArray[Any]:
    """The numbers of a history, a row for each record."""
    return np.array(history, dtype=np.float64).reshape(-1, len(Record._fields))


def as_history(table: NDArray[Any]) -> list[Record]:
    """The records of a history, from the table of their numbers. A file from before claims were written down
    has none of them, and no column that tells."""
    return [
        Record(int(n_iter), time, primal, dual, gap, proved != [0.0])
        for n_iter, time, primal, dual, gap, *proved in table.tolist()
    ]


class Progress(NamedTuple):
    """What a callback is told: a line of the history that is proved, and the best point so far."""

    n_iter: int
    time: float
    primal: float
    dual: float
    gap: float
    w: Slope
    intercept: Any  # a number; an array where there are several offsets


@storable
class Certificate(NamedTuple):
    """Proof of how close `primal` is to the optimum: dual <= min J <= primal."""

    primal: float
    dual: float
    gap: float  # primal - dual, with an allowance for rounding
    evidence: str = "cuts"  # what the lower bound rests on: "conjugate", "cuts" or "accumulated"

    @property
    def relative_gap(self) -> float:
        """gap / max(|primal|, |dual|); what `tol` is compared with."""
        if self.gap == 0:
            return 0.0
        scale = max(abs(self.primal), abs(self.dual))
        return self.gap / scale if 0 < scale < float("inf") else float("inf")


class Cost(NamedTuple):
    """What passes over data that are elsewhere have cost: their number, bytes that were read or sent, and the
    seconds that they took. On a cluster a pass is a round."""

    passes: int = 0
    bytes: float = 0.0
    seconds: float = 0.0

    def since(self, earlier: "Cost") -> "Cost":
        """What came after that."""
        return Cost(self.passes - earlier.passes, self.bytes - earlier.bytes, self.seconds - earlier.seconds)


@dataclass(frozen=True, repr=False)
class Solution:
    """The answer: a point, its certificate, and how it was reached."""

    w: Slope
    intercept: Any  # a number; an array where there are several offsets
    status: Status
    certificate: Certificate
    n_iter: int
    history: list[Record]
    minorant: Minorant  # the best lower bound found, for score bounds and warm starts
    solver: str
    fingerprint: str | None  # of the risk that the minorant belongs to
    state: dict[str, Any] = field(default_factory=dict)
    cost: Cost | None = None  # of passes over data that are not in memory

    def __repr__(self) -> str:
        proof = self.certificate
        return (
            f"Solution({self.status.name}: {proof.dual:.8g} <= optimum <= {proof.primal:.8g}, gap "
            f"{proof.gap:.2g}, {proof.relative_gap:.2g} of it; {len(self.w)} weights by {self.solver} in "
            f"{self.n_iter} steps)"
        )

    @property
    def dual_point(self) -> Vector | None:
        """The slopes u in the scores that the lower bound rests on; None where only their sum was kept."""
        return self.minorant.u

    @property
    def converged(self) -> bool:
        """Whether the requested tolerance was certified."""
        return self.status is Status.CERTIFIED


def as_intercept(b: Vector) -> Any:
    """The offsets as users see them: one number, unless there are several."""
    return b.copy() if len(b) > 1 else float(b.sum())
