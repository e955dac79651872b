"""Dual coordinate descent on rows that come part by part: see `dual_cd`.

A pass loads each part, sweeps a few times over its rows, and copies those that may still move, the least firm
first, as many as the design lets this process hold. Then these are swept over until their gap is a hundredth
of what it was, and the next pass looks at all rows again. Where few samples matter, as in most problems, a
pass does the work of tens of sweeps. A part and the rows that are held are stores as any other of dual
coordinate descent; only who fills them differs.

What the driver asks of a point, the scores of all rows and the slope of the bound, is computed in the pass
that follows it: each part is at hand by then. So a look costs no pass, and comes one later.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit import limits
from gapfit._types import Slope, Vector
from gapfit.design.forms import PartRows
from gapfit.design.memory import MemoryDesign
from gapfit.design.parts import Tree
from gapfit.fingerprint import fingerprint
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.records import Kept
from gapfit.solution import Iterate
from gapfit.solvers.base import Steps
from gapfit.solvers.coordinates.held import Held
from gapfit.solvers.coordinates.kinds import KINDS
from gapfit.solvers.coordinates.rows import MEMORY, Store


class Pace(NamedTuple):
    """How long rows are swept over."""

    inner: int = 6  # sweeps over a part while it is there
    enough: float = 0.01  # of the gap of the rows that are held, left in them, ends their sweeps
    sweeps: int = 300  # over the rows that are held, at most
    visits: int = 8  # to the rows that are held, at most, in units of all rows


USUAL = Pace()
_SOME = 2**16  # rows at a time, or to judge all by
_RANGE = 1e30  # single precision has room for that, and for its inverse


def streamed(problem: Problem, state: dict[str, Any], seed: int, pace: Pace = USUAL) -> Steps:
    """One step: sweeps over what is held, and a pass over the parts that looks at where they have led."""
    descent = _Streamed(problem, state, seed, pace)
    while True:
        descent.design.forget_scores()  # of the last place: there is room for one vector of them
        descent.sweep_over_held()
        at = descent.place()
        descent.pass_over_parts(at)
        primal, b = problem.best(at.w, at.offsets)[:2]  # the scores are there
        yield Iterate(at.w, b, at.bound, primal, descent.snapshot)


class _At:
    """A point, and the dual point that it belongs to."""

    def __init__(self, problem: Problem, w: Slope, offsets: Vector, u: Vector) -> None:
        self.problem, self.w, self.offsets, self.u = problem, w, offsets, u

    def bound(self) -> Minorant:
        made = self.problem.minorant_at(self.u)
        self.u = self.u if made.u is None else made.u  # the same numbers, once in memory
        return made


class _Streamed(Kept):
    """The dual variables of all rows, and the rows that are held."""

    KEPT = ("z", "b", "s", "c", "threshold", "random")

    def __init__(self, problem: Problem, state: dict[str, Any], seed: int, pace: Pace) -> None:
        from gapfit.compiled import dual  # compiled code is loaded only when it is to run

        self.compiled, self.problem, self.pace = dual, problem, pace
        self.design = design = problem.form(PartRows).design
        self.kind = next(kind for kind in KINDS if problem.has(kind.form))
        n, d = design.shape
        self.v, self.odds = np.zeros(n), np.zeros(n if self.kind.entropic else 0)
        self.along, self.curvature = np.zeros((2, n), self._precision())
        self.total = self._begin_at_zero()
        self.centre: Slope = design.middle if problem.n_offsets else np.zeros(d)
        self.middle, self.rho = float(self.centre @ self.centre), 0.0
        self.z, self.b, self.s, self.c = np.zeros(d), 0.0, 0.0, 0.0
        self.random = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
        self.threshold, self.placed = np.inf, False
        self.held: Store | None = None
        if problem.n_offsets:  # a share of the coordinates' own curvature, and what the losses need
            some = slice(None, None, 1 + n // _SOME)
            squares = problem.weight[some] @ design.row_sizes[some] ** 2 / problem.weight[some].sum()
            own = 0.01 * max(float(squares) - self.middle, 0.0) / problem.alpha
            table, _ = self.kind.table(problem, some)
            self.rho = own + self.kind.offset_per_imbalance(problem, table, some)
            self.b = float(problem.at_zero.b.sum())
            self.s = self.total - float(self.v.sum())
        if "u" in state:
            self._begin_at(state)

    def _precision(self) -> Any:
        """Of curvatures: single, if that has room for them. Steps in any metric near this one will do."""
        largest = (2 * float(self.design.row_sizes.max())) ** 2 / min(self.problem.alpha, 1.0)
        return np.float32 if 1 / _RANGE < largest < _RANGE else np.float64

    def _begin_at_zero(self) -> float:
        """The variables that stand for w = 0, or nearly; returns what they are to add up to."""
        for start in range(0, len(self.v), _SOME):
            rows = slice(start, start + _SOME)
            table, total = self.kind.table(self.problem, rows)
            self._put_back(rows, table)
        return total

    def _begin_at(self, state: dict[str, Any]) -> None:
        np.negative(state["u"], out=self.v)
        if self.kind.entropic and "column" in state:
            self.odds[:] = state["column"]
        if state.get("same"):
            self.restore(state)
            members = state["members"]
            if len(members):
                for rows, part in self.design.each():
                    self._measure(rows, part)
                self.placed = True
                rows = _compiled_rows(self.design.take(members))
                self.held = Store(rows, self._table(members), members)
            return
        self.z = self.design.adjoint(self.v)
        self.b = float(state.get("b", self.b))
        if self.problem.n_offsets:
            self.s, self.c = self.total - float(self.v.sum()), float(self.z @ self.centre)

    def snapshot(self) -> dict[str, Any]:
        members = np.empty(0, np.intp) if self.held is None else self.held.members
        odds = {"column": self.odds.copy()} if self.kind.entropic else {}
        return {**self.state(), "u": -self.v, "members": members, **odds}

    # -- what is known of rows, and what is kept of them ----------------------------------------------------

    def _table(self, rows: Any) -> Any:
        """The compiled loops' table of some rows, at their variables."""
        table, _ = self.kind.table(self.problem, rows)
        table["v"], table["along"], table["curvature"] = self.v[rows], self.along[rows], self.curvature[rows]
        if self.kind.entropic:
            table["kink"] = self.odds[rows]
        return table

    def _put_back(self, rows: Any, table: Any) -> None:
        """Take the variables of some rows over."""
        self.v[rows] = table["v"]
        if self.kind.entropic:
            self.odds[rows] = table["kink"]

    def _measure(self, rows: slice, part: MemoryDesign) -> None:
        """What the dual needs to know of a part's rows: <x, centre>, and |x - centre|^2 / alpha."""
        if self.problem.n_offsets:
            self.along[rows] = part.scores(self.centre)
        squares = part.distances(self.problem.penalty, self.centre) ** 2
        self.curvature[rows] = squares / self.problem.alpha

    # -- a pass ---------------------------------------------------------------------------------------------

    def pass_over_parts(self, at: _At) -> None:
        """Compute for each part what is asked of `at`; sweep over it, and hold what may move."""
        scores, slope, held = np.empty(len(self.v)), Tree(), Held(self.design)
        lots = np.random.default_rng(int(self.random))
        for rows, part in self.design.each():
            limits.look()
            scores[rows] = part.scores(at.w)
            slope.add(part.adjoint(at.u[rows]))
            if not self.placed:
                self._measure(rows, part)
            store = Store(_compiled_rows(part), self._table(rows), np.arange(rows.start, rows.stop))
            self._sweeps(store, self.pace.inner, 0.0)
            self._put_back(rows, store.table)
            held.add(store, self._firmness(store), lots.random(len(store.table), np.float32), part.dtype)
        self.placed, self.held = True, held.store(self._table)
        self.design.remember_scores(fingerprint(at.w), scores)
        self.design.remember_slope(fingerprint(at.u), slope.total())

    def _firmness(self, store: Store) -> Vector:
        """By how much the derivative of each row would have to change to move it; -1 if it moves anyway."""
        n = len(store.table)
        if self.kind.entropic:
            return np.full(n, -1.0)
        firmness, place = np.empty(n), self.compiled.Place(self.z, self.b, self.s, self.c)
        self.compiled.survey(self._dual(store), place, 0.0, np.arange(n), 0, n, firmness)
        return firmness

    def sweep_over_held(self) -> None:
        """Until their gap is a small part of what it was."""
        if self.held is None:
            return
        held, self.held = self.held, None
        self._sweeps(held, self.pace.sweeps, self.pace.enough)
        self._put_back(held.members, held.table)
        if self.problem.n_offsets:  # afresh, for rounding must not add up
            self.s = self.total - float(self.v.sum())

    def _dual(self, store: Store) -> Any:
        constants = 1 / self.problem.alpha, self.middle, self.rho
        return self.compiled.Dual(store.rows, store.table, self.kind.entropic, *constants)

    def _sweeps(self, store: Store, sweeps: int, enough: float) -> None:
        """So many sweeps with steps beyond at most, or until the gap of the store is a share of the first."""
        compiled, d = self.compiled, len(self.z)
        dual, Z, spare, latest = self._dual(store), np.zeros((MEMORY, d)), np.empty(d), 0
        place = compiled.Place(self.z, self.b, self.s, self.c)
        order = np.arange(len(store.table))
        epoch = compiled.Epoch(order, self.random, np.inf, np.inf, np.inf, 0, 0)
        visits = self.pace.visits * len(self.v) if enough else 2**62
        ends = compiled.Ends(enough, visits, sweeps, 1, -1.0, -1.0)
        over = False
        while not over:
            limits.look()
            if epoch.sweeps > 0:
                ways = compiled.Ways(store.V, Z, latest, spare, store.spare)
                now, (latest, spare) = compiled.step_on(dual, place, ways, epoch)
                place = compiled.Place(*now)
            ways = compiled.Ways(store.V, Z, latest, spare, store.spare)
            now, (latest, spare), told, (_, over, _, _) = compiled.descend(dual, place, ways, epoch, ends)
            place, epoch = compiled.Place(*now), compiled.Epoch(*told)._replace(state=np.uint64(told[1]))
        self.z, self.b, self.s, self.c = place
        self.random = epoch.state

    # -- what is told of it ---------------------------------------------------------------------------------

    def place(self) -> _At:
        """w = (z + s centre) / alpha, as it will be returned; and u, as a bound is made of it."""
        problem, s = self.problem, self.s
        w = self.z / problem.alpha
        if s != 0 and problem.n_offsets:
            w += (s / problem.alpha) * self.centre
        w = problem.penalty.rounded(w, problem.dtype).astype(np.float64)
        along = (self.c + s * self.middle) / problem.alpha
        return _At(problem, w, np.full(problem.n_offsets, self.b - along), problem.settled(-self.v))


def _compiled_rows(part: Any) -> Any:
    from gapfit.compiled.rows import as_rows

    return as_rows(*part.rows())
