"""Coordinate descent on the weights, for sparse models: smooth losses with L1 or elastic net.

    minimise over w, b:   l1 |w|_1 + l2 |w|^2 / 2 + R(X w + offset, b)     over lower <= w <= upper

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
from gapfit.losses.forms import Conjugate, Curvature, Smooth
from gapfit.losses.piecewise import Atoms
from gapfit.minorant import Minorant
from gapfit.penalties import Box, Penalty
from gapfit.penalties.forms import Net
from gapfit.problem import Problem
from gapfit.rounding import EPS
from gapfit.solution import Iterate
from gapfit.solvers.base import Steps, needs
from gapfit.solvers.columns.columns import Columns, Selection
from gapfit.solvers.columns.model import ColumnModel, Effort
from gapfit.solvers.columns.terms import Terms
from gapfit.solvers.point import Point, at_best_offsets

_MARGIN = 2.0  # derivatives of the loss are expected to grow no more than this
_FEWEST = 100  # columns to add to those that are at work,
_GROWTH = 3  # and how many times as many as those at most
_FEW = 0.2  # of the number of columns at work: if so few others want to work, those are nearly the ones
_MORE = 1.1  # times as many columns at work as before: their number still grows
_CHEAP = 0.05  # of the entries of all: work on so few costs little beside finding out who wants to work
_SHARPER = 0.2  # work lowers the urges on its columns to this share of the largest of all
_NEWTON_STEPS = 20  # on one working set
_LOOKS, _LEVEL = 20, 0.3  # at J along a step, until its slope is such a share of the first,
_BEYOND = 4.0  # each so many times as far as the last one says,
_NO_LESS = 1e-4  # but no less of the way to it
_FLAT = 1e-9  # second derivatives count at least so much of their bound, or of the mean of all derivatives,
_STEEP = 1e-3  # or so much of the first ones


@needs(Smooth, Curvature, Net, Rows)
def primal_cd(problem: Problem, state: dict[str, Any] | None = None) -> Steps:
    """One step: sweeps or Newton steps on one working set of columns."""
    state = state or {}
    whole, rest = Terms.of(problem), problem.start()
    recent, n_moving, effort = np.empty(0, np.int64), -1, Effort()
    if state.get("same"):
        ids, recent, n_moving, point, lowest, effort = (
            state[key] for key in ("ids", "recent", "n_moving", "point", "lowest", "effort")
        )
    else:
        w = np.clip(state.get("w", rest), whole.lower, whole.upper)
        point = at_best_offsets(problem, w, problem.scores(w))
        ids = _plausible(problem, whole.l1, point, rest)
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
            look = _Look(problem, point, columns.ids, whole, w, a)
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
        moving, before = point.w != part.rest, n_moving
        n_moving = int(np.count_nonzero(moving))
        working, few_others = _working_set(urges, moving)
        if not _nearly(working, chosen.positions):
            chosen = part.columns.at(working)
        cheap = chosen.entries <= _CHEAP * part.columns.entries
        settled = few_others or cheap or n_moving <= _MORE * before
        point, effort = _work(
            problem, part, point, chosen, a[chosen.positions], worst, effort, settled=settled
        )
        fresh = True


class _Part(NamedTuple):
    """The problem in its plausible columns."""

    columns: Columns
    terms: Terms
    penalty: Penalty
    rest: Slope

    @classmethod
    def of(cls, problem: Problem, columns: Columns, terms: Terms, rest: Slope) -> "_Part":
        terms, penalty = terms.take(columns.ids), problem.penalty
        if isinstance(penalty, Box):
            penalty = Box(penalty.penalty, terms.lower, terms.upper)
        return cls(columns, terms, penalty, rest[columns.ids])


def _plausible(problem: Problem, l1: float, start: Point, rest: Slope) -> Indices:
    """The columns whose derivatives could reach l1 if those of the loss grew, and those not at rest."""
    d = problem.design.shape[1]
    if l1 == 0 or rest.any() or not sparse.issparse(problem.form(Rows).matrix.X):
        return np.arange(d)
    from gapfit.compiled.columns import reach
    from gapfit.compiled.rows import as_rows

    most = reach(as_rows(*problem.form(Rows).matrix.rows()), start.u, d)
    return np.flatnonzero((_MARGIN * most >= l1) | (start.w != 0))


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


class _Look:
    """The lower bound that a point proves, with all of X; made if the driver asks for it.

    Columns beyond `ids` that are then seen to matter are added to those.
    """

    def __init__(
        self, problem: Problem, point: Point, ids: Indices, terms: Terms, w: Slope, a: Slope
    ) -> None:
        self.problem, self.point, self.ids, self.terms, self.w, self.a = problem, point, ids, terms, w, a

    def __call__(self) -> Minorant:
        a = np.empty_like(self.w)
        if len(self.a) == len(a):
            a[self.ids] = self.a  # columns that were added later are not in their places
        else:
            a = self.problem.design.adjoint(self.point.u)
            urges = self.terms.urges(a, self.w)
            urges[self.ids] = -np.inf
            self.ids = np.concatenate([self.ids, np.flatnonzero(urges > 0)])
        return _minorant(self.problem, self.point, a)

    def known(self, now: dict[str, Any]) -> dict[str, Any]:
        """The state, with what the look has found out."""
        return {**now, "ids": self.ids, "point": self.point._replace(w=self.w[self.ids])}


def _working_set(urges: Vector, moving: Any) -> tuple[Indices, bool]:
    """The columns that are not at rest, and others that want to move, the most urgent first and up to a few
    times as many; and whether those that want to are few."""
    n_moving = int(np.count_nonzero(moving))
    others = np.where(moving, -np.inf, urges)
    wanting = int(np.count_nonzero(others > 0))
    size = min(wanting, max(_GROWTH * n_moving, _FEWEST))
    chosen = moving.copy()
    if size > 0:
        chosen[np.argpartition(others, -size)[-size:]] = True
    return np.flatnonzero(chosen), wanting <= _FEW * n_moving or len(urges) <= _FEWEST


def _nearly(working: Indices, recent: Indices) -> bool:
    """Are these columns among the recent ones, and nearly all of those?"""
    return len(recent) <= 1.1 * len(working) and bool(np.isin(working, recent, assume_unique=True).all())


def _work(
    problem: Problem, part: _Part, start: Point, columns: Selection, a: Slope, worst: float,
    effort: Effort, *, settled: bool,
) -> tuple[Point, Effort]:  # fmt: skip
    """Newton steps on the working columns until none of them wants to move much, or a single rough one; and
    the effort that the next model is worth."""
    working = columns.positions
    terms = part.terms.take(working)
    point = start._replace(w=start.w[working], penalty=terms.value(start.w[working]))
    for _ in range(_NEWTON_STEPS):
        urge = float(terms.urges(a, point.w).max(initial=0.0))
        if urge <= _SHARPER * worst:
            break
        D = _curvature(problem, point)
        model = ColumnModel(
            columns, terms, point.w, a, point.u, D,
            centred=problem.n_offsets > 0, settled=settled, effort=effort,
        )  # fmt: skip
        target = model.minimise(max(0.5 * _SHARPER * worst, 0.1 * urge))
        moved, share = _line_search(problem, terms, point, a, target, columns.scores(target - point.w), D)
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
        return np.asarray(np.maximum(D, _FLAT / problem.form(Atoms).quad))
    steep = np.abs(point.u)  # far out, first derivatives are all there is; where they vanish as well, nothing
    usual = float(D.sum() + steep.sum()) or 1.0
    least = np.maximum(_STEEP * steep, _FLAT * usual * problem.weight / problem.weight.sum())
    return np.asarray(np.maximum(D, least))


def _line_search(
    problem: Problem, terms: Terms, point: Point, a: Slope, target: Slope, f: Vector, D: Vector
) -> tuple[Point | None, float]:
    """The target, where the scores change by f, if J falls there by half of what the model says; else a point
    on the way to it where the slope of J nearly vanishes, or the lowest that was met. And its share of the
    way.

    J is convex. Where most samples lie on lines the model knows no distance, and only a tiny share of the way
    is good. The far end tells which: where the slope would vanish if it were linear, and where the tangents
    at both ends meet. Then looks go between shares at which J falls and at which it rises.
    """
    bend, way = 0.5 * float(f @ (D * f)), target - point.w
    if problem.n_offsets:
        bend -= 0.5 * float(D @ f) ** 2 / float(D.sum())
    noise = 4 * EPS * (abs(point.risk) + point.penalty)
    slope = float((a * way + terms.changes(point.w, target)).sum())
    share, best, most, good = 1.0, None, -noise, 0.0
    low, high = 0.0, 1.0  # shares at which J falls, and at which it rises
    for _ in range(_LOOKS if slope < 0 else 0):
        w = target if share == 1 else (1 - share) * point.w + share * target
        trial = at_best_offsets(problem, w, point.scores + share * f, point.b, terms.value(w))
        fallen = point.risk - trial.risk + point.penalty - trial.penalty
        if share == 1 and fallen >= max(-0.5 * (slope + bend), 0.0) - noise:
            return trial, share
        if fallen > most:
            best, most, good = trial, fallen, share
        there = float(trial.u @ f) + terms.slope(w, way) if np.isfinite(trial.risk) else np.inf
        if abs(there) <= -_LEVEL * slope and (there <= 0 or fallen >= -noise):
            return trial, share  # a value above the first would be rounding
        low, high = (low, share) if there > 0 else (share, high)
        if high <= 2 * low:
            break
        if low > 0:
            share = float(np.sqrt(low * high))
        else:
            parabola = slope / (slope - there)
            lines = (fallen + there * share) / ((there - slope) * share) if there < np.inf else 0.0
            share *= min(max(_BEYOND * min(parabola, lines), _NO_LESS), 0.5)
    return best, good
