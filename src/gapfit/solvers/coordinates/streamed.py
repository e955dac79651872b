"""Dual coordinate descent on rows that come part by part: see `dual_cd`.

A pass loads each part, sweeps a few times over its rows and copies those that did not come to rest, as many
as the design lets this process hold. Then these are swept over until their gap is a tenth of what it was, and
the next pass looks at all rows again. Where few samples matter, as in most problems, a pass does the work of
tens of sweeps. Rows that are copied and rows of a part are stores as any other; only who fills them differs.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from gapfit import limits
from gapfit._types import Indices, Slope
from gapfit.design.forms import PartRows
from gapfit.design.memory import MemoryDesign
from gapfit.design.rows import packed
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.records import Kept
from gapfit.solution import Iterate
from gapfit.solvers.base import Steps
from gapfit.solvers.coordinates.kinds import KINDS
from gapfit.solvers.coordinates.rows import MEMORY, Store


class Pace(NamedTuple):
    """How long rows are swept over."""

    inner: int = 3  # sweeps over a part while it is there
    enough: float = 0.1  # of the gap of the rows that are held, left in them, ends their sweeps
    sweeps: int = 300  # over the rows that are held, at most
    visits: int = 8  # to the rows that are held, at most, in units of all rows
    missed: float = 10.0  # times the gap that was told, at most, was shown by the next pass


USUAL = Pace()


def streamed(problem: Problem, state: dict[str, Any], seed: int, pace: Pace = USUAL) -> Steps:
    """One step: a pass over the parts, and sweeps over what is held of them."""
    descent = _Streamed(problem, state, seed, pace)
    while True:
        limits.look()
        held = descent.pass_over_parts()
        descent.sweep_over(held)
        yield Iterate(
            descent.point, descent.offset(), descent.minorant, None, descent.snapshot, descent.estimate
        )


class _Streamed(Kept):
    """The dual variables of all rows, and the point that they stand for."""

    KEPT = ("z", "b", "s", "c", "threshold", "estimate", "missed", "random", "passes")

    def __init__(self, problem: Problem, state: dict[str, Any], seed: int, pace: Pace) -> None:
        from gapfit.compiled import dual  # compiled code is loaded only when it is to run

        self.compiled, self.problem, self.pace = dual, problem, pace
        self.design = problem.form(PartRows).design
        self.kind = next(kind for kind in KINDS if problem.has(kind.form))
        self.table, self.total = self.kind.table(problem)
        d = self.design.shape[1]
        self.centre: Slope = self.design.middle if problem.n_offsets else np.zeros(d)
        self.middle = float(self.centre @ self.centre)
        self.z, self.b, self.s, self.c = np.zeros(d), 0.0, 0.0, 0.0
        self.random = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
        self.threshold, self.estimate, self.missed, self.passes = np.inf, np.inf, 1.0, 0
        squares = self.design.row_sizes**2
        if problem.n_offsets:
            self.table["along"] = self.design.scores(self.centre)
            squares = np.maximum(squares - 2 * self.table["along"] + self.middle, 0.0)
            self.b = float(problem.at_zero.b.sum())
        self.table["curvature"] = squares / problem.alpha
        self.rho = 0.0
        if problem.n_offsets:  # a share of the coordinates' own curvature, and what the losses need
            mean_square = float(problem.weight @ squares) / float(problem.weight.sum())
            need = self.kind.offset_per_imbalance(problem, self.table)
            self.rho = 0.01 * mean_square / problem.alpha + need
            self.s = self.total - float(self.table["v"].sum())
        if "u" in state:
            self._begin_at(state)

    def _begin_at(self, state: dict[str, Any]) -> None:
        self.table["v"] = -state["u"]
        if "column" in state:
            self.table["kink"] = state["column"]
        if state.get("same"):
            self.restore(state)
            return
        v = self.table["v"]
        self.z = self.design.adjoint(v)
        self.b = float(state.get("b", self.b))
        if self.problem.n_offsets:
            self.s, self.c = self.total - float(v.sum()), float(self.z @ self.centre)

    def snapshot(self) -> dict[str, Any]:
        return {**self.state(), "u": -self.table["v"], "column": self.table["kink"].copy()}

    # -- a pass ---------------------------------------------------------------------------------------------

    def pass_over_parts(self) -> "Store | None":
        """Sweep over each part, and hold what moves; returns these rows."""
        self.passes += 1
        seen, held = 0.0, _Held(self.design)
        for first, part in self._parts():
            table = self.table[first : first + part.shape[0]]
            store = Store(_compiled_rows(part), table, np.arange(first, first + len(table)))
            order, gap = self._sweeps(store, np.arange(len(table)), self.pace.inner, 0.0)
            seen += gap
            held.add(store, order, part.dtype)
        if np.isfinite(self.estimate) and self.estimate > 0:
            self.missed = float(np.clip(seen / self.estimate, 1.0, self.pace.missed))
        self.estimate = seen
        return held.store(self.table)

    def _parts(self) -> Iterator[tuple[int, MemoryDesign]]:
        for rows, part in self.design.each():
            limits.look()
            yield rows.start, part

    def sweep_over(self, held: "Store | None") -> None:
        """The rows that are held, until their gap is a tenth of what it was."""
        if held is None:
            return
        _, self.estimate = self._sweeps(held, np.arange(len(held.table)), self.pace.sweeps, self.pace.enough)
        self.estimate *= self.missed
        self.table["v"][held.members] = held.table["v"]
        if self.kind.entropic:
            self.table["kink"][held.members] = held.table["kink"]

    def _sweeps(self, store: Store, order: Indices, sweeps: int, enough: float) -> tuple[Indices, float]:
        """Sweeps and steps beyond. Returns the rows that did not come to rest; and the gap of the store: as
        the first sweep saw it, or if `enough` ends them, as it is by then."""
        problem, compiled, d = self.problem, self.compiled, len(self.z)
        dual = compiled.Dual(
            store.rows, store.table, self.kind.entropic, 1 / problem.alpha, self.middle, self.rho
        )
        Z, spare, latest = np.zeros((MEMORY, d)), np.empty(d), 0
        place = compiled.Place(self.z, self.b, self.s, self.c)
        epoch = compiled.Epoch(order, self.random, self.threshold, np.inf, np.inf, 0, 0)
        most = self.pace.visits * len(self.table) if enough else 2**62
        gap = 0.0
        while True:
            limits.look()
            if epoch.sweeps > 0:
                ways = compiled.Ways(store.V, Z, latest, spare, store.spare)
                place, (latest, spare) = compiled.step_on(
                    dual, compiled.Place(*place), ways, len(epoch.order)
                )
            ends = compiled.Ends(enough, most, sweeps, most if enough else 1, -1.0, -1.0)
            ways = compiled.Ways(store.V, Z, latest, spare, store.spare)
            place, (latest, spare), told, now = compiled.descend(
                dual, compiled.Place(*place), ways, epoch, ends
            )
            epoch = compiled.Epoch(*told)._replace(state=np.uint64(told[1]))
            gap = now[3] if enough else epoch.full_gap
            if now[1]:
                break
        self.z, self.b, self.s, self.c = place
        self.random, self.threshold = epoch.state, epoch.threshold
        return epoch.order, float(gap)

    # -- what is told of it ---------------------------------------------------------------------------------

    def point(self) -> Slope:
        """w = (z + s centre) / alpha."""
        w = self.z / self.problem.alpha
        if self.s != 0 and self.problem.n_offsets:
            w += (self.s / self.problem.alpha) * self.centre
        return w

    def offset(self) -> Any:
        along = (self.c + self.s * self.middle) / self.problem.alpha
        return np.full(self.problem.n_offsets, self.b - along)

    def minorant(self) -> Minorant:
        return self.problem.minorant_at(-self.table["v"])


class _Held:
    """Rows that are copied while their parts are there: of each part its share of what may be held."""

    def __init__(self, design: Any) -> None:
        self.design = design
        self.packs: list[Any] = []
        self.members: list[Indices] = []

    def add(self, store: Store, order: Indices, dtype: Any) -> None:
        """Those of these rows that there is room for: such as are between their bounds first."""
        table, indptr = store.table[order], store.rows.indptr
        entry = np.dtype(dtype).itemsize + (4 if len(store.rows.indices) else 0)
        room = self.design.resident * len(store.table) / self.design.shape[0]
        bound = (table["v"] <= table["lower"]) | (table["v"] >= table["upper"])
        first = np.argsort(bound, kind="stable")
        cost = np.cumsum((indptr[order + 1] - indptr[order])[first] * entry)
        rows = np.sort(order[first[: int(np.searchsorted(cost, room, side="right"))]])
        if len(rows):
            self.packs.append(packed(store.rows, rows, dtype))
            self.members.append(store.members[rows])

    def store(self, table: Any) -> Store | None:
        """All of them, side by side."""
        from gapfit.compiled.rows import as_rows

        if not self.members:
            return None
        members = np.concatenate(self.members)
        data, indices = (np.concatenate([pack[k] for pack in self.packs]) for k in (0, 1))
        lengths = np.concatenate([np.diff(pack[2]) for pack in self.packs])
        self.packs.clear()
        rows = as_rows(data, indices, np.concatenate(([0], np.cumsum(lengths))))
        return Store(rows, table.take(members), members)


def _compiled_rows(part: MemoryDesign) -> Any:
    from gapfit.compiled.rows import as_rows

    return as_rows(*part.rows())
