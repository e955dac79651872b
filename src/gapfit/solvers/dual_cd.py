"""Dual coordinate descent, for the L2 penalty and losses with a simple dual: piecewise ones and the logistic.

Let v = -u be minus a point in score space, z = sum_i v_i x_i = -A'u and w = z / alpha. The dual is

    minimise over v:  sum_i (psi_i(v_i) - target_i v_i) + |z|^2 / (2 alpha)
    subject to        lower_i <= v_i <= upper_i  and, with an intercept,  s := total - sum_i v_i = 0

with psi_i a parabola and a kink, or an entropy (known offsets are inside the targets). The minimum in one
coordinate costs one visit to one row, because z is kept up to date.

The intercept b is the multiplier of s = 0, a constraint that no single coordinate could move along. An
augmented Lagrangian relaxes it: -b s + rho s^2 / 2 is added, and b <- b - rho s follows every sweep. Moving
the origin to the mean row changes nothing where s = 0, and takes the direction of the intercept out of |z|^2;
the formulas do that (z + s mean stands for z), never the data.

Shrinking: most piecewise coordinates soon rest at a bound. A survey of all rows is followed by sweeps over
those that did not rest firmly, copied side by side in single precision, until their gap is a tenth of what it
was. Every other epoch looks at every row again, so one that was dropped too early is never lost, unless the
gap proves by now that it rests there at the optimum; those between look at rows that were nearly active.

Acceleration: sweeps alone converge like a gradient method. Minimising also over the plane through the last
sweep's way and the two before it makes them the preconditioner of a conjugate gradient method, and costs a
few sums.

The gap is a sum over rows, and a sweep sees each term in passing: the driver knows when a look is worth it.
"""

from typing import Any

import numpy as np

from gapfit import limits, threads
from gapfit._types import Slope, Vector
from gapfit.design.forms import Rows
from gapfit.losses.forms import BinaryEntropy
from gapfit.losses.piecewise import Atoms
from gapfit.minorant import Minorant
from gapfit.penalties.forms import Euclidean
from gapfit.problem import Problem
from gapfit.records import Kept
from gapfit.solution import Iterate
from gapfit.solvers.base import Steps, needs
from gapfit.solvers.coordinates.kinds import KINDS
from gapfit.solvers.coordinates.rows import MEMORY, Store, Whole

_REVISITS = 4  # visits to active rows in an epoch, at most, in units of n
_NEARLY = 4.0  # times the threshold of firm rest: rows below that may be active soon,
_WORTH = 4  # and if there are so many times fewer of them, a survey may look at nothing else
_SURVEY = 4  # times as many rows as were active at the end of an epoch: then the next begins with a survey
_SWEEPS = 300  # in an epoch, at most, however few rows are active
_ENOUGH = 0.1  # of the gap that all rows had, left in the active ones, ends an epoch
_NEWS = 0.7  # the gap must fall to that share before the driver is told again,
_SILENCE = 8  # or so many visits be made, in units of n
_AT_ONCE = 50_000_000  # entries, or two visits to each row, go through compiled code before it is asked again
_SINGLE = 2e-6  # of |z|^2 / alpha is a gap that is too small for rows in single precision
_ROUNDING = 1e-13  # of |z|^2 / alpha is too little to gain: rounding would show
_USUAL, _MISSED = 1.7, 10.0  # times what active rows show of the gap is shown by all, at least and at most
_FEW = 16  # times fewer rows than all are few: a look at all costs as much as many sweeps over them,
_BLIND = 1.5  # and a gap guessed so many times larger saves looks that come too early
_MANY, _SEEN = 4, 0.7  # if the rows are not so much fewer, little is hidden, and the guess is too large
_SAMPLE, _ENOUGH_ROWS = 16, 256  # one in so many rows is asked whether most are active, if these are enough
_NEAR = 0.1  # of |z|^2 / alpha is a gap so small that a better primal point is worth some work


@needs((Atoms, BinaryEntropy), Euclidean, Rows)
def dual_cd(
    problem: Problem, state: dict[str, Any] | None = None, *, seed: int = 0, most_active: float = 1.0
) -> Steps:
    """Coordinate descent on the dual in random order, with shrinking and acceleration. One step, some sweeps.

    A state from another alpha, or from other weights, serves as a warm start.

    Parameters
    ----------
    seed : of the order in which samples are visited.
    most_active : give up if a larger share of the samples than this is still active after the first sweep.
    """
    descent = _Descent(problem, state or {}, seed)
    while True:
        limits.look()
        descent.steps += 1
        descent.step_beyond()
        descent.choose_rows()
        if descent.steps == 2 and len(descent.order) > most_active * descent.n:
            return
        descent.descend()
        if descent.news:
            yield descent.iterate()


class _Descent(Kept):
    """The variables of the descent, and what is done with them."""

    def __init__(self, problem: Problem, state: dict[str, Any], seed: int) -> None:
        from gapfit.compiled import dual  # compiled code is loaded only when it is to run

        self.compiled, self.problem = dual, problem
        self.n = problem.design.shape[0]
        self.kind = next(kind for kind in KINDS if problem.has(kind.form))
        self.whole = whole = Whole(problem, self.kind)
        self.random = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
        self.z = np.zeros(whole.width)
        self.b = float(state["b"]) if "b" in state else _first_offset(problem)
        self.s = self.c = 0.0
        self.store: Store = whole
        self.order = self.doubtful = np.arange(self.n)  # rows to visit, and rows not proved to be at rest
        self.near: Any = None  # rows for the next survey to look at, if not at all that are doubtful
        self.Z = np.zeros((MEMORY, whole.width))
        self.spare = np.empty(whole.width)
        self.w = np.empty(problem.design.shape[1])
        self.latest = 0
        self.gap, self.full_gap = 0.0, np.inf
        self.estimate = self.told = self.threshold = np.inf
        self.missed = 1.0  # how much more of the gap than is usual was shown when all rows were looked at
        self.visits, self.sweeps, self.untold, self.exact, self.surveyed = 0, 0, 0, False, False
        self.steps = 0
        self.over, self.too_fine = True, False  # the epoch; the gap, for rows in single precision
        if "u" in state:
            self.restore(state)

    # -- state ----------------------------------------------------------------------------------------------

    KEPT = (
        "z", "b", "s", "c", "Z", "order", "latest", "threshold", "gap", "full_gap", "estimate", "missed",
        "told", "visits", "sweeps", "untold", "exact", "surveyed", "over", "too_fine", "random", "steps",
    )  # fmt: skip

    def snapshot(self) -> dict[str, Any]:
        """A start for every alpha, but for which rows are proved to be at rest."""
        self._bring_back()
        table, store = self.whole.table, self.store
        dual = dict(u=-table["v"], column=table["kink"].copy())
        proved = dict(doubtful=self.doubtful, near=self.near)
        return {**self.state(), **dual, **proved, "members": store.members.copy(), "V": store.V.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        if self.exact:
            self.whole.in_full_precision()
        self.whole.table["kink"], self.whole.table["v"] = state["column"], -state["u"]
        if state.get("same"):
            self.doubtful, self.near = state["doubtful"], state["near"]
        if len(state["members"]) < self.n:
            self.store = self.whole.part(state["members"])
        self.store.V[:] = state["V"]

    # -- steps ----------------------------------------------------------------------------------------------

    def step_beyond(self) -> None:
        """To the minimum over the plane through the last ways, or as near as the bounds let it.

        The primal objective is often worse there, until the next sweep: this begins a step, sweeps end it.
        """
        if self.sweeps == 0:
            return
        place, (self.latest, self.spare) = self.compiled.step_on(*self._state(), len(self.order))
        self.z, self.b, self.s, self.c = place

    def choose_rows(self) -> None:
        """All rows at the beginning of an epoch, the active ones side by side when they are few."""
        if self.over:
            self._work_on(self._begin_epoch())
        elif not self.surveyed and self.sweeps == 1 and not self.kind.entropic:
            self._work_on(self.doubtful if self._most_are_active() else self._survey())
        elif 0 < 2 * len(self.order) <= len(self.store.table):
            self._work_on(self.store.members[self.order])

    def _begin_epoch(self) -> Any:
        """Clear away what has gathered in the last one; returns the rows to begin with."""
        self._bring_back()
        if self.too_fine:
            self.exact, self.doubtful, self.near = True, np.arange(self.n), None
            self.whole.in_full_precision()
            self.store.V[:], self.Z[:] = 0.0, 0.0
        # afresh, for rounding must not add up
        if self.exact:
            self.z = self.whole.short(self.problem.design.adjoint(self.whole.table["v"]))
        if self.problem.n_offsets:
            self.s = self.whole.total - float(self.whole.table["v"].sum())
            self.c = self.whole.along_mean(self.z)
        self.full_gap, self.visits, self.sweeps = np.inf, 0, 0
        if _SURVEY * len(self.order) <= self.n and not self.kind.entropic:
            return self._survey()
        return self.doubtful

    def _work_on(self, rows: Any) -> None:
        """From now on, side by side if they are few."""
        self._bring_back()
        before = self.store
        if 0 < 2 * len(rows) <= self.n:
            self.store, self.order = self.whole.part(rows), np.arange(len(rows))
            place = np.minimum(np.searchsorted(before.members, rows), len(before.members) - 1)
            self.store.V[:] = np.where(before.members[place] == rows, before.V[:, place], 0.0)
            return
        self.store, self.order = self.whole, rows
        if before is not self.whole:
            self.whole.V[:] = 0.0
            self.whole.V[:, before.members] = before.V

    def _survey(self) -> Any:
        """The active rows, found by looking at all of them: cheaper than sweeping over them if they are few.

        Those that come to be active were near that before, as a rule: every other time only they are looked
        at. The driver's certificate is about all.
        """
        everywhere = self.near is None
        members = self.doubtful if everywhere else self.near
        firmness, pulls, number, self.gap = self._look_at(members)
        self.threshold = pulls / max(number, 1.0)
        if self.surveyed and everywhere:
            shown = _USUAL * self.estimate
            self.missed = min(max(self.gap / shown, 1.0), _MISSED) if shown > 0 else 1.0
        self.estimate, self.full_gap = self.gap, self.gap
        self.untold += len(members)
        self.surveyed = True
        self.near = None
        active, near, doubtful = self.compiled.sort_out(
            self.whole.table, members, firmness, _NEARLY * self.threshold, self._reach()
        )
        if everywhere:
            self.doubtful, self.near = doubtful, near if _WORTH * len(near) <= len(members) else None
        # those that rest are about to be left behind, and with them what they had in the directions
        store = self.store
        self.compiled.leave_resting(self._dual(store), store.V, self.Z, self.n)
        return active

    def _look_at(self, members: Any) -> tuple[Vector, float, float, float]:
        """How firmly these rows rest; what pulls at the others, the number of those, and their gap."""
        firmness, given = np.empty(len(members)), (self._dual(self.whole), self._place(), self.threshold)

        def look(part: slice) -> Any:
            return self.compiled.survey(*given, members, part.start, part.stop, firmness)

        work = len(self.whole.rows.data) * len(members) / self.n
        seen = threads.each(look, threads.parts(len(members), work))
        pulls, number, gap = (float(total) for total in np.sum(seen, axis=0))
        return firmness, pulls, number, gap

    def _most_are_active(self) -> bool:
        """Does a look at some rows tell that one at all of them would leave no fewer to sweep over?"""
        some = self.doubtful[::_SAMPLE]
        if len(some) < _ENOUGH_ROWS:
            return False
        _, pulls, number, gap = self._look_at(some)
        if 2 * number <= len(some):
            return False
        self.threshold = pulls / number
        self.gap = self.full_gap = self.estimate = gap * len(self.doubtful) / len(some)
        self.surveyed = True
        return True

    def _reach(self) -> float:
        """How firm, in units of its curvature's root, a row is at rest that rests there at the optimum.

        No more looks at such rows. w is the point that v stands for, so that both of them are worse than the
        optimum by at least alpha |w - w*|^2 / 2: the gap confines w* to a ball of radius sqrt(gap / alpha),
        and all derivatives. What is dismissed stays fixed, and the gap of the others is that of the problem
        which is left. (With an intercept the derivatives depend on more than w.)
        """
        if self.problem.n_offsets:
            return np.inf
        noise = (_ROUNDING if self.exact else _SINGLE) * self._scale()
        return float((1 + 1e-9) * np.sqrt(self.gap + noise))  # curvatures have the 1 / alpha in them

    def descend(self) -> None:
        """Sweeps and steps beyond, until there is something to decide or to tell."""
        store = self.store
        untold = _SILENCE * self.n + 1000
        at_once = max(2 * self.n, _AT_ONCE * len(store.table) // max(len(store.rows.data), 1))
        epoch = self.compiled.Epoch(
            self.order, self.random, self.threshold, self.gap, self.full_gap, self.visits, self.sweeps
        )
        ends = self.compiled.Ends(
            enough=_ENOUGH, most_visits=_REVISITS * self.n, most_sweeps=_SWEEPS,
            most_untold=min(untold - self.untold, at_once), news=_NEWS * self.told,
            fine=-1.0 if self.exact else _SINGLE,
        )  # fmt: skip
        place, (self.latest, self.spare), epoch, now = self.compiled.descend(*self._state(), epoch, ends)
        self.z, self.b, self.s, self.c = place
        self.order, random, self.threshold, self.gap, self.full_gap, self.visits, self.sweeps = epoch
        self.random = np.uint64(random)
        done, self.over, self.too_fine, self.estimate = now
        self.untold += done
        self.news = self.estimate <= _NEWS * self.told or self.untold >= untold

    def _scale(self) -> float:
        """|z|^2 / alpha = sum_i v_i f_i, of which rounding in the rows leaves a share uncertain."""
        return float(self.z @ self.z) / self.problem.alpha

    def _dual(self, store: Store) -> Any:
        """What is minimised over the variables of these rows."""
        constants = 1 / self.problem.alpha, self.whole.mean_sq, self.whole.rho
        return self.compiled.Dual(store.rows, store.table, self.kind.entropic, *constants)

    def _place(self) -> Any:
        return self.compiled.Place(self.z, self.b, self.s, self.c)

    def _state(self) -> tuple[Any, Any, Any]:
        """What compiled steps go on from."""
        store = self.store
        ways = self.compiled.Ways(store.V, self.Z, self.latest, self.spare, store.spare)
        return self._dual(store), self._place(), ways

    def _bring_back(self) -> None:
        """Write the variables of the active rows where all are."""
        if self.store is not self.whole:
            self.whole.table["v"][self.store.members] = self.store.table["v"]
            if self.kind.entropic:
                self.whole.table["kink"][self.store.members] = self.store.table["kink"]

    # -- the driver -----------------------------------------------------------------------------------------

    def iterate(self) -> Iterate:
        """The point, and what is known of it."""
        self.told, self.untold = self.estimate, 0
        along_mean = (self.c + self.s * self.whole.mean_sq) / self.problem.alpha
        offset = np.full(self.problem.n_offsets, self.b - along_mean)
        estimate = self.missed * self.estimate
        if _FEW * len(self.order) <= self.n:
            estimate *= _BLIND
        elif _MANY * len(self.order) >= self.n:
            estimate *= _SEEN

        def objective() -> float:
            self._bring_back()
            costs = self.compiled.costs(self.whole.table, self.kind.entropic)
            return float(estimate - costs - 0.5 * self._scale())  # the gap above the dual

        def point() -> Slope:
            return self.whole.point(self.z, self.s, self._best_responses(), self.w)

        def minorant() -> Minorant:
            self._bring_back()
            return self.problem.minorant_at(-self.whole.table["v"])

        return Iterate(point, offset, minorant, None, self.snapshot, estimate, objective)

    def _best_responses(self) -> Vector:
        """v, or what suits the scores best: columns that only one sample uses are that sample's to choose."""
        self._bring_back()
        v: Vector = self.whole.table["v"].copy()
        if self.whole.singles is not None and self.estimate <= _NEAR * self._scale():
            store = self.store
            best, given = store.spare, (self._dual(store), self._place())

            def respond(part: slice) -> None:
                self.compiled.responses(*given, part.start, part.stop, best)

            threads.each(respond, threads.parts(len(best), float(len(store.rows.data))))
            v[store.members] = best
        return v


def _first_offset(problem: Problem) -> float:
    """The best intercept for w = 0, if there is one."""
    if problem.n_offsets == 0:
        return 0.0
    return float(problem.best(np.zeros(problem.design.shape[1]), np.zeros(1))[1].sum())
