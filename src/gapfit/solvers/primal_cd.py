"""Coordinate descent on the weights, for sparse models: smooth losses with L1, elastic net or group lasso.

    minimise over w, b:   l1 |w|_1 + l2 |w|^2 / 2 + R(X w + offset, b)     over lower <= w <= upper

or with norms of groups of weights in place of |w|_1: their columns then come and go together.
At the optimum most weights are zero, and three nested sets of columns keep the work where it matters:

* the plausible columns, copied out of X once: those whose |x_j|'|u| could ever reach l1 (if X is dense, all
  are, and they are copied when they are first worked on);
* the working set among them: those that are not at rest, and those that want most urgently to leave it. On
  these, Newton steps are made: each minimises the quadratic model of the risk with the penalty as it is. As
  long as many others want to leave and more and more do, that is not worth much effort, and a few sweeps
  have to do;
* within the model, those that are not zero.

Derivatives X'u of all plausible columns tell who is to work next, and how large the gap is if the others do
not matter. When that is small enough for the driver to look, the lower bound is computed with the whole X; a
column that matters after all is copied as well.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gapfit._types import Indices, Slope, Vector
from gapfit.design.forms import Rows
from gapfit.losses.atoms import Atoms
from gapfit.losses.forms import Conjugate, Curvature, Smooth
from gapfit.minorant import Minorant
from gapfit.penalties import Penalty
from gapfit.penalties.forms import Grouped, Net
from gapfit.problem import Problem
from gapfit.rounding import EPS
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.choice.work import work_of
from gapfit.solvers.columns.columns import Columns, Selection
from gapfit.solvers.columns.kinds import AnyTerms, terms_of
from gapfit.solvers.columns.line import search
from gapfit.solvers.columns.model import ColumnModel
from gapfit.solvers.columns.model import Effort as ModelEffort
from gapfit.solvers.point import Point, at_best_offsets

_LEAST = 1e-9  # of their bound, or of the mean of all derivatives, second derivatives count at least
_STEEP = 1e-3  # of the first derivatives, second ones count at least


class Tuning(NamedTuple):
    """Which columns are worked on, and how far."""

    margin: float = 2.0  # times themselves, at most, derivatives of the loss are expected to grow
    fewest: int = 100  # columns that may join those at work, however few these are
    growth: int = 3  # times as many columns as are at work may join them
    few: float = 0.2  # of the number at work: if no more others want to work, these are nearly the ones
    more: float = 1.1  # times as many columns at work as before: their number still grows
    cheap: float = 0.05  # of all entries: work on so few costs little beside finding out who wants to work
    sharper: float = 0.2  # of the largest urge of all: work lowers the urges on its columns to that
    newton_steps: int = 20  # on one working set, at most


USUAL = Tuning()


def _effort(problem: Problem) -> Effort:
    """Newton steps on some of the columns, and products with all."""
    n, d, product, _, hard, *_ = work_of(problem)
    steps = 4.0 * hard**0.25 if problem.penalty.smooth else 5.0
    return Effort(1e6 + 700.0 * n, 5.5e6 + 11 * product + 630.0 * n + 950.0 * d, steps, 64.0 * n)


@needs(Smooth, Curvature, (Net, Grouped), Rows, effort=_effort, downhill=True)
def primal_cd(problem: Problem, state: dict[str, Any] | None = None, *, tuning: Tuning = USUAL) -> Steps:
    """One step: sweeps or Newton steps on one working set of columns.

    Parameters
    ----------
    tuning : which columns are worked on, and how far.
    """
    state = state or {}
    whole, rest = terms_of(problem), problem.start()
    recent, n_moving, effort = np.empty(0, np.int64), -1, ModelEffort()
    if state.get("same"):
        ids, recent, n_moving, point, lowest, effort = (
            state[key] for key in ("ids", "recent", "n_moving", "point", "lowest", "effort")
        )
    else:
        w = np.clip(state.get("w", rest), whole.lower, whole.upper)
        point = at_best_offsets(problem, w, problem.scores(w))
        ids = _plausible(problem, whole, point, rest, tuning.margin)
        point, lowest = point._replace(w=w[ids]), (np.inf, np.inf)
    columns, fresh = Columns(problem.form(Rows).matrix, ids), False
    if state.get("same"):
        columns.restore(state.get("to_the_bit"))
    part = _Part.of(problem, columns, whole, rest)
    chosen = part.columns.at(recent)
    while True:
        a = part.columns.adjoint(point.u)
        urges = part.terms.urges(a, point.w)
        worst = float(urges.max(initial=0.0))
        if fresh:
            J = point.J
            stuck = lowest[0] - 4 * EPS * abs(J) <= J and worst >= 0.5 * lowest[1]
            lowest, fresh = (min(J, lowest[0]), min(worst, lowest[1])), False
            w = rest.copy()
            w[columns.ids] = point.w
            look = Look(problem, point, columns.ids, whole, w, a)
            now = {
                "lowest": lowest, "recent": chosen.positions, "n_moving": n_moving,
                "to_the_bit": columns.state(), "ended": stuck, "effort": effort,
            }  # fmt: skip
            snapshot = partial(look.known, now)
            estimate = _gap(problem, part, point, a)
            yield Iterate(w, point.b, look, J if stuck else None, snapshot, estimate, J)
            if len(look.ids) > len(columns.ids):
                columns.add(look.ids[len(columns.ids) :])
                part = _Part.of(problem, columns, whole, rest)
                chosen = part.columns.at(chosen.positions)
                point = point._replace(w=w[columns.ids])
                continue
            if stuck:
                return  # what is left to gain is rounding
        moving, before = part.terms.whole(point.w != part.rest), n_moving
        n_moving = int(np.count_nonzero(moving))
        working, few_others = _working_set(part.terms, urges, moving, tuning)
        if not _nearly(working, chosen.positions):
            chosen = part.columns.at(working)
        cheap = chosen.entries <= tuning.cheap * part.columns.entries
        settled = few_others or cheap or n_moving <= tuning.more * before
        point, effort = _work(
            problem, tuning, part, point, chosen, a[chosen.positions], worst, effort, settled=settled
        )
        fresh = True


class _Part(NamedTuple):
    """The problem in its plausible columns."""

    columns: Columns
    terms: AnyTerms
    penalty: Penalty
    rest: Slope

    @classmethod
    def of(cls, problem: Problem, columns: Columns, terms: AnyTerms, rest: Slope) -> "_Part":
        ids = columns.ids
        return cls(columns, terms.take(ids), problem.penalty.take(ids), rest[ids])


def _plausible(problem: Problem, terms: AnyTerms, start: Point, rest: Slope, margin: float) -> Indices:
    """The columns that could leave zero if derivatives of the loss grew, and those not at rest."""
    d = problem.design.shape[1]
    if not terms.selects or rest.any() or not sparse.issparse(problem.form(Rows).matrix.X):
        return np.arange(d)
    from gapfit.compiled.columns import reach
    from gapfit.compiled.rows import as_rows

    most = reach(as_rows(*problem.form(Rows).matrix.rows()), start.u, d)
    return np.flatnonzero(terms.within_reach(margin * most) | terms.whole(start.w != 0))


def _gap(problem: Problem, part: _Part, point: Point, a: Slope) -> float:
    """What it is if no other columns mattered."""
    keep, c = _height(problem, part.penalty, point, a)
    return point.J - c + problem.alpha * part.penalty.conjugate(keep * a / -problem.alpha)


def _height(problem: Problem, penalty: Penalty, point: Point, a: Slope) -> tuple[float, float]:
    """How far the derivatives at the point must be scaled down to prove something, and the height of what
    they prove then."""
    u, keep = point.u, penalty.shrinkage(a / -problem.alpha)
    if problem.has(Conjugate):  # better than mixing with the zero plane
        return keep, keep * float(u @ problem.offset) - problem.form(Conjugate).value(keep * u)
    c = point.height - float(u @ (point.scores - problem.offset))
    return keep, keep * c + (1 - keep) * problem.risk.infimum if keep < 1 else c


def _minorant(problem: Problem, point: Point, a: Slope) -> Minorant:
    """The tangent plane at the point, or, if it proves nothing, that of its derivatives scaled down."""
    if not problem.has(Conjugate):
        return problem.minorant(point, point.scores)
    keep, c = _height(problem, problem.penalty, point, a)
    u = keep * point.u
    return problem.claimed(u, keep * a, c - float(u @ problem.offset))


class Look:
    """The lower bound that a point proves, with all of X; made if the driver asks for it.

    Columns beyond `ids` that are then seen to matter are added to those.
    """

    def __init__(
        self, problem: Problem, point: Point, ids: Indices, terms: AnyTerms, w: Slope, a: Slope
    ) -> None:
        self.problem, self.point, self.ids, self.terms, self.w, self.a = problem, point, ids, terms, w, a
        self.of_all: Slope | None = None

    def __call__(self) -> Minorant:
        return _minorant(self.problem, self.point, self.slopes())

    def slopes(self) -> Slope:
        """The derivatives in all weights. Columns that want to move are among `ids` from then on."""
        if self.of_all is None and len(self.a) == len(self.w):
            self.of_all = np.empty_like(self.w)
            self.of_all[self.ids] = self.a  # columns that were added later are not in their places
        elif self.of_all is None:
            self.of_all = self.problem.design.adjoint(self.point.u)
            urges = self.terms.urges(self.of_all, self.w)
            urges[self.ids] = -np.inf
            self.ids = np.concatenate([self.ids, np.flatnonzero(urges > 0)])
        return self.of_all

    def known(self, now: dict[str, Any]) -> dict[str, Any]:
        """The state, with what the look has found out."""
        return {**now, "ids": self.ids, "point": self.point._replace(w=self.w[self.ids])}


def _working_set(terms: AnyTerms, urges: Vector, moving: Any, tuning: Tuning) -> tuple[Indices, bool]:
    """The columns that are not at rest, and others that want to move, the most urgent first and up to a few
    times as many; and whether those that want to are few."""
    n_moving = int(np.count_nonzero(moving))
    others = np.where(moving, -np.inf, urges)
    wanting = int(np.count_nonzero(others > 0))
    size = min(wanting, max(tuning.growth * n_moving, tuning.fewest))
    chosen = moving.copy()
    if size > 0:
        chosen[np.argpartition(others, -size)[-size:]] = True
    return np.flatnonzero(terms.whole(chosen)), wanting <= tuning.few * n_moving or len(
        urges
    ) <= tuning.fewest


def _nearly(working: Indices, recent: Indices) -> bool:
    """Are these columns among the recent ones, and nearly all of those?"""
    return len(recent) <= 1.1 * len(working) and bool(np.isin(working, recent, assume_unique=True).all())


def _work(
    problem: Problem, tuning: Tuning, part: _Part, start: Point, columns: Selection, a: Slope, worst: float,
    effort: ModelEffort, *, settled: bool,
) -> tuple[Point, ModelEffort]:  # fmt: skip
    """Newton steps on the working columns until none of them wants to move much, or a single rough one; and
    the effort that the next model is worth."""
    working = columns.positions
    terms = part.terms.take(working)
    point = start._replace(w=start.w[working], penalty=terms.value(start.w[working]))
    for _ in range(tuning.newton_steps):
        urge = float(terms.urges(a, point.w).max(initial=0.0))
        if urge <= tuning.sharper * worst:
            break
        D = _curvature(problem, point)
        model = ColumnModel(
            columns, terms, point.w, a, point.u, D,
            centred=problem.n_offsets > 0, settled=settled, effort=effort,
        )  # fmt: skip
        target = model.minimise(max(0.5 * tuning.sharper * worst, 0.1 * urge))
        moved, share = search(problem, terms, point, a, target, columns.scores(target - point.w), D)
        if moved is None:
            break
        point = moved
        effort = effort.after(model.passes, share)
        a = columns.adjoint(point.u)
        if not settled:
            break
    w = start.w.copy()
    w[working] = point.w
    return point._replace(w=w, penalty=problem.alpha * part.penalty.value(w)), effort


def _curvature(problem: Problem, point: Point) -> Vector:
    """Second derivatives, none nearly zero: where they vanish the model would know no distance."""
    D = problem.form(Curvature).at(point.scores, point.b)
    if problem.has(Atoms):
        return np.asarray(np.maximum(D, _LEAST / problem.form(Atoms).quad))
    steep = np.abs(point.u)  # far out, first derivatives are all there is; where they vanish as well, nothing
    usual = float(D.sum() + steep.sum()) or 1.0
    least = np.maximum(_STEEP * steep, _LEAST * usual * problem.shares)
    return np.asarray(np.maximum(D, least))
