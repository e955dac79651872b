"""The variables of dual coordinate descent, and what is done with them. See `dual_cd`."""

from typing import Any, NamedTuple

import numpy as np

from gapfit import threads
from gapfit._types import Slope, Vector
from gapfit.problem import Problem
from gapfit.records import Kept
from gapfit.solvers.coordinates.kinds import KINDS, at_rest
from gapfit.solvers.coordinates.rows import MEMORY, Store, Whole

_AT_ONCE = 50_000_000  # entries, or two visits to each row, go through compiled code before it is asked again
_SINGLE = 2e-6  # of |z|^2 / alpha is a gap that is too small for rows in single precision
_NO_GAIN = 1e-13  # of |z|^2 / alpha is too little to gain: rounding would show


class Tuning(NamedTuple):
    """How long active rows are visited before all are looked at, and when the driver is."""

    revisits: int = 4  # visits to active rows in an epoch, at most, in units of n
    nearly: float = 4.0  # times the threshold of firm rest: rows below that may be active soon
    fewer: int = 4  # times fewer rows that may be active soon than all: then a survey may look at these alone
    survey: int = 4  # times as many rows as are active at the end of an epoch: the next begins with a survey
    sweeps: int = 300  # in an epoch, at most, however few rows are active
    enough: float = 0.1  # of the gap that all rows had, left in the active ones, ends an epoch
    news: float = 0.7  # of the gap last told: the driver is told of one so small
    silence: int = 8  # visits, in units of n, after which the driver is told anyway
    sample: int = 16  # one in so many rows is asked whether most are active
    enough_rows: int = 256  # to ask, at least
    usual: float = 1.7  # times what active rows show of the gap is shown by all, as a rule
    missed: float = 10.0  # times that, at most, was missed
    few: int = 16  # times fewer rows than all: a look at all costs as much as many sweeps over them
    blind: float = 1.5  # times the gap is guessed then: that saves looks that come too early
    many: int = 4  # times fewer rows than all, or not even that: little of the gap is hidden
    seen: float = 0.7  # times the gap is guessed then
    off: float = 1e-3  # of a sample's share: a dual variable less than that off a bound rests there
    near: float = 0.1  # of <z, z> / alpha: at such a gap a better primal point is worth some work


class Descent(Kept):
    """The variables of the descent, and what is done with them."""

    def __init__(self, problem: Problem, state: dict[str, Any], seed: int, tuning: Tuning) -> None:
        from gapfit.compiled import dual  # compiled code is loaded only when it is to run

        self.compiled, self.problem, self.tuning = dual, problem, tuning
        self.n = problem.design.shape[0]
        self.kind = next(kind for kind in KINDS if problem.has(kind.form))
        near = "foretold" in state and not state.get("same") and not self.kind.entropic
        self.whole = whole = Whole(problem, self.kind, keep=near)
        self.random = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
        self.z = np.zeros(whole.width)
        self.b = self.s = self.c = 0.0
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
        self.rough = False  # does z go with dual variables that are a little off?
        self.over, self.too_fine = True, False  # the epoch; the gap, for rows in single precision
        if near:
            self._begin_near(*state["foretold"][:3])
            return
        self.b = float(state["b"]) if "b" in state else _first_offset(problem)
        if "u" in state:
            self.restore(state)

    def _begin_near(self, u: Vector, intercept: float, slope: Slope) -> None:
        """A point that may be near the best one: then few rows are active, those off their bounds, and sweeps
        begin with them. What balance has moved away from rest is put back. No product is needed for z = X'v:
        u is within its bounds, and its slope was mixed as it was."""
        whole = self.whole
        v, order = at_rest(whole.table, -u, self.tuning.off * self.problem.shares)
        whole.table["v"] = v
        self.z, self.rough = whole.short(-slope), True
        if self.problem.n_offsets:
            self.s, self.c = whole.total - float(v.sum()), whole.along_mean(self.z)
            self.b = intercept + (self.c + self.s * whole.mean_sq) / self.problem.alpha
        if len(order):
            self.over, self.surveyed = False, True
            self._work_on(order)

    # -- state ----------------------------------------------------------------------------------------------

    KEPT = (
        "z", "b", "s", "c", "Z", "order", "latest", "threshold", "gap", "full_gap", "estimate", "missed",
        "told", "visits", "sweeps", "untold", "exact", "rough", "surveyed", "over", "too_fine", "random",
        "steps",
    )  # fmt: skip

    def snapshot(self) -> dict[str, Any]:
        """A start for every alpha, but for which rows are proved to be at rest."""
        self.bring_back()
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
        place, (self.latest, self.spare) = self.compiled.step_on(*self._state(), self._epoch())
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
        self.bring_back()
        if self.too_fine:
            self.exact, self.doubtful, self.near = True, np.arange(self.n), None
            self.whole.in_full_precision()
            self.store.V[:], self.Z[:] = 0.0, 0.0
        # afresh, for rounding must not add up
        if self.exact or self.rough:
            self.rough = False
            self.z = self.whole.short(self.problem.design.adjoint(self.whole.table["v"]))
        if self.problem.n_offsets:
            self.s = self.whole.total - float(self.whole.table["v"].sum())
            self.c = self.whole.along_mean(self.z)
        self.full_gap, self.visits, self.sweeps = np.inf, 0, 0
        if self.tuning.survey * len(self.order) <= self.n and not self.kind.entropic:
            return self._survey()
        return self.doubtful

    def _work_on(self, rows: Any) -> None:
        """From now on, side by side if they are few."""
        self.bring_back()
        members, V = self.store.members, self.store.V
        apart, self.store = self.store is not self.whole, self.whole  # the old rows go before new ones come
        if 0 < 2 * len(rows) <= self.n and self.whole.has_room_for(rows):
            self.store, self.order = self.whole.part(rows), np.arange(len(rows))
            place = np.minimum(np.searchsorted(members, rows), len(members) - 1)
            self.store.V[:] = np.where(members[place] == rows, V[:, place], 0.0)
            return
        self.order = rows
        if apart:
            self.whole.V[:] = 0.0
            self.whole.V[:, members] = V

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
            shown = self.tuning.usual * self.estimate
            self.missed = min(max(self.gap / shown, 1.0), self.tuning.missed) if shown > 0 else 1.0
        self.estimate, self.full_gap = self.gap, self.gap
        self.untold += len(members)
        self.surveyed = True
        self.near = None
        active, near, doubtful = self.compiled.sort_out(
            self.whole.table, members, firmness, self.tuning.nearly * self.threshold, self._reach()
        )
        if everywhere:
            self.doubtful, self.near = (
                doubtful,
                near if self.tuning.fewer * len(near) <= len(members) else None,
            )
        # those that rest are about to be left behind, and with them what they had in the directions
        store = self.store
        self.compiled.leave_resting(self.dual(store), store.V, self.Z, self.n)
        return active

    def _look_at(self, members: Any) -> tuple[Vector, float, float, float]:
        """How firmly these rows rest; what pulls at the others, the number of those, and their gap."""
        firmness, given = np.empty(len(members)), (self.dual(self.whole), self.place(), self.threshold)

        def look(part: slice) -> Any:
            return self.compiled.survey(*given, members, part.start, part.stop, firmness)

        work = len(self.whole.rows.data) * len(members) / self.n
        seen = threads.each(look, threads.parts(len(members), work))
        pulls, number, gap = (float(total) for total in np.sum(seen, axis=0))
        return firmness, pulls, number, gap

    def _most_are_active(self) -> bool:
        """Does a look at some rows tell that one at all of them would leave no fewer to sweep over?"""
        some = self.doubtful[:: self.tuning.sample]
        if len(some) < self.tuning.enough_rows:
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
        noise = (_NO_GAIN if self.exact else _SINGLE) * self.scale()
        return float((1 + 1e-9) * np.sqrt(self.gap + noise))  # curvatures have the 1 / alpha in them

    def descend(self) -> None:
        """Sweeps and steps beyond, until there is something to decide or to tell."""
        store, tuning = self.store, self.tuning
        untold = tuning.silence * self.n + 1000
        at_once = max(2 * self.n, _AT_ONCE * len(store.table) // max(len(store.rows.data), 1))
        epoch = self._epoch()
        ends = self.compiled.Ends(
            enough=tuning.enough, most_visits=tuning.revisits * self.n, most_sweeps=tuning.sweeps,
            most_untold=min(untold - self.untold, at_once), news=tuning.news * self.told,
            fine=-1.0 if self.exact else _SINGLE,
        )  # fmt: skip
        place, (self.latest, self.spare), epoch, now = self.compiled.descend(*self._state(), epoch, ends)
        self.z, self.b, self.s, self.c = place
        self.order, random, self.threshold, self.gap, self.full_gap, self.visits, self.sweeps = epoch
        self.random = np.uint64(random)
        done, self.over, self.too_fine, self.estimate = now
        self.untold += done
        self.news = self.estimate <= tuning.news * self.told or self.untold >= untold

    def _epoch(self) -> Any:
        return self.compiled.Epoch(
            self.order, self.random, self.threshold, self.gap, self.full_gap, self.visits, self.sweeps
        )

    def scale(self) -> float:
        """|z|^2 / alpha = sum_i v_i f_i, of which rounding in the rows leaves a share uncertain."""
        return float(self.z @ self.z) / self.problem.alpha

    def dual(self, store: Store) -> Any:
        """What is minimised over the variables of these rows."""
        constants = 1 / self.problem.alpha, self.whole.mean_sq, self.whole.rho
        return self.compiled.Dual(store.rows, store.table, self.kind.entropic, *constants)

    def place(self) -> Any:
        return self.compiled.Place(self.z, self.b, self.s, self.c)

    def _state(self) -> tuple[Any, Any, Any]:
        """What compiled steps go on from."""
        store = self.store
        ways = self.compiled.Ways(store.V, self.Z, self.latest, self.spare, store.spare)
        return self.dual(store), self.place(), ways

    def bring_back(self) -> None:
        """Write the variables of the active rows where all are."""
        if self.store is not self.whole:
            self.whole.table["v"][self.store.members] = self.store.table["v"]
            if self.kind.entropic:
                self.whole.table["kink"][self.store.members] = self.store.table["kink"]


def _first_offset(problem: Problem) -> float:
    """The best intercept for w = 0, if there is one."""
    if problem.n_offsets == 0:
        return 0.0
    return float(problem.best(np.zeros(problem.design.shape[1]), np.zeros(1))[1].sum())
