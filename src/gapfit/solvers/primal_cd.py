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

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gapfit import limits
from gapfit._types import Indices, Slope, Vector
from gapfit.minorant import Minorant
from gapfit.penalties import Box, Penalty
from gapfit.problem import Problem
from gapfit.solution import Iterate
from gapfit.solvers.base import Steps, needs
from gapfit.solvers.column_model import WORTH, ColumnModel, Terms
from gapfit.solvers.columns import Columns, Selection

_EPS = float(np.finfo(float).eps)
_MARGIN = 2.0  # derivatives of the loss are expected to grow no more than this
_FEWEST = 100  # columns to add to those that are at work,
_GROWTH = 3  # and how many times as many as those at most
_FEW = 0.2  # of the number of columns at work: if so few others want to work, those are nearly the ones
_MORE = 1.1  # times as many columns at work as before: their number still grows
_CHEAP = 0.05  # of the entries of all: work on so few costs little beside finding out who wants to work
_SHARPER = 0.2  # work lowers the urges on its columns to this share of the largest of all
_NEWTON_STEPS = 20  # on one working set
_SHORT = 0.1  # of a step: one that must be so much shorter was the model's fault
_EASE = 0.5
_FLAT = 1e-9  # second derivatives count at least so much of their bound, or of the mean of all derivatives,
_STEEP = 1e-3  # or so much of the first ones


class Point(NamedTuple):
    """Weights of some columns, the others being at rest, with everything known about them."""

    w: Slope
    scores: Vector
    risk: float
    b: Vector
    u: Vector  # balanced derivatives of the risk in the scores
    height: float  # of the tangent that belongs to u


@needs("smooth", "curvature", penalty="elastic net", design="rows")
def primal_cd(problem: Problem, state: dict[str, Any] | None = None) -> Steps:
    """One step: sweeps or Newton steps on one working set of columns."""
    state = state or {}
    whole, rest, objective = Terms.of(problem), problem.start(), (problem.alpha, problem.penalty)
    recent, n_moving, learnt = np.empty(0, np.int64), -1, _Learnt()
    if state.get("objective") == objective:
        ids, recent, n_moving, point, lowest, learnt = (
            state[key] for key in ("ids", "recent", "n_moving", "point", "lowest", "learnt")
        )
    else:
        w = np.clip(state.get("w", rest), whole.lower, whole.upper)
        point = _evaluate(problem, w, problem.scores(w))
        ids = _plausible(problem, whole.l1, point, rest)
        point, lowest = point._replace(w=w[ids]), (np.inf, np.inf)
    columns, fresh = Columns(problem.memory, ids), False
    part = _Part.of(problem, columns, whole, rest)
    chosen = part.columns.at(recent)
    while True:
        a = part.columns.adjoint(point.u)
        urges = part.terms.urges(a, point.w)
        worst = float(urges.max(initial=0.0))
        if fresh:
            primal, estimate = _bounds(problem, part, point, a)
            stuck = primal >= lowest[0] - 4 * _EPS * abs(primal) and worst >= 0.5 * lowest[1]
            lowest, fresh = (min(primal, lowest[0]), min(worst, lowest[1])), False
            w = rest.copy()
            w[columns.ids] = point.w
            look = _Look(problem, point, columns.ids, whole, w, a)
            now = {
                "objective": objective, "lowest": lowest, "recent": chosen.positions, "n_moving": n_moving,
                "learnt": learnt,
            }  # fmt: skip
            snapshot = partial(look.known, now)
            yield Iterate(w, point.b, look, primal if stuck else None, snapshot, estimate, primal)
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
        point, learnt = _work(
            problem, part, point, chosen, a[chosen.positions], worst, learnt, settled=settled
        )
        fresh = True


class _Learnt(NamedTuple):
    """What steps have taught for the next.

    The least second derivatives, of a bound of them: where most samples lie on lines the model knows no
    distance, and goes far beyond where others take over. What a step had to be shortened by tells what the
    model lacks; that is taken back as soon as whole steps are good. And the passes over the entries that a
    model was worth.
    """

    floor: float = _FLAT
    passes: float = WORTH

    def after(self, model: ColumnModel, share: float, lacks: Callable[[], float]) -> "_Learnt":
        """A step of which this share was good."""
        floor = self.floor
        if share < _SHORT:
            floor = min(max(floor, lacks() / share), 1.0)
        elif share == 1:
            floor = max(_EASE * floor, _FLAT)
        return _Learnt(floor, max(model.passes, WORTH) if model.passes else self.passes)


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
    if l1 == 0 or rest.any() or not sparse.issparse(problem.memory.X):
        return np.arange(d)
    from gapfit.kernels.columns import reach
    from gapfit.kernels.rows import as_rows

    most = reach(*as_rows(*problem.memory.rows()), start.u, d)
    return np.flatnonzero((_MARGIN * most >= l1) | (start.w != 0))


def _evaluate(problem: Problem, w: Slope, scores: Vector, guess: Vector | None = None) -> Point:
    limits.look()
    risk, u, height, b = problem.tangent(scores, guess)
    return Point(w, scores, risk, b, u, height)


def _bounds(problem: Problem, part: _Part, point: Point, a: Slope) -> tuple[float, float]:
    """J, and the gap if no other columns mattered."""
    primal = problem.alpha * part.penalty.value(point.w) + point.risk
    minorant = _minorant(problem, part.penalty, point, a)
    return primal, primal - minorant.c + problem.alpha * part.penalty.conjugate(minorant.a / -problem.alpha)


def _minorant(problem: Problem, penalty: Penalty, point: Point, a: Slope) -> Minorant:
    """The tangent plane at the point, or, if it proves nothing, that of its derivatives scaled down."""
    none, u, c = np.zeros(problem.n_offsets), point.u, point.height
    c -= float(u @ (point.scores - problem.offset))
    noise = 4 * _EPS * (abs(point.height) + float(np.abs(u) @ np.abs(point.scores)))
    keep = penalty.shrinkage(a / -problem.alpha)
    if keep == 1:
        return Minorant(a, none, c, "cuts", noise)
    if "conjugate" in problem.risk.capabilities:  # better than mixing with the zero plane
        known, conjugate = keep * float(u @ problem.offset), problem.risk.conjugate(keep * u)
        return Minorant(
            keep * a, none, known - conjugate, "conjugate", 4 * _EPS * (abs(known) + abs(conjugate))
        )
    c = keep * c + (1 - keep) * problem.risk.infimum
    return Minorant(keep * a, none, c, "cuts", keep * noise)


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
        return _minorant(self.problem, self.problem.penalty, self.point, a)

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
    learnt: _Learnt, *, settled: bool,
) -> tuple[Point, _Learnt]:  # fmt: skip
    """Newton steps on the working columns until none of them wants to move much, or a single rough one."""
    working = columns.positions
    terms = part.terms.take(working)
    point = start._replace(w=start.w[working])
    for _ in range(_NEWTON_STEPS):
        urge = float(terms.urges(a, point.w).max(initial=0.0))
        if urge <= _SHARPER * worst:
            break
        D, bound = _curvature(problem, point, learnt.floor)
        model = ColumnModel(
            columns, terms, point.w, a, point.u, D,
            centred=problem.n_offsets > 0, settled=settled, worth=learnt.passes,
        )  # fmt: skip
        target = model.minimise(max(0.5 * _SHARPER * worst, 0.1 * urge))
        f = columns.scores(target - point.w)
        moved, share = _line_search(problem, terms, point, a, target, f, D)
        if moved is None:
            break
        point = moved
        learnt = learnt.after(model, share, partial(_ratio, f, D, bound))
        a = columns.adjoint(point.u)
        if not settled:
            break
    w = start.w.copy()
    w[working] = point.w
    return point._replace(w=w), learnt


def _ratio(f: Vector, D: Vector, bound: Vector) -> float:
    return float(f @ (D * f)) / float(f @ (bound * f))


def _curvature(problem: Problem, point: Point, floor: float) -> tuple[Vector, Vector]:
    """Second derivatives, none nearly zero: where they vanish the model would know no distance. And a bound
    of them, or what they usually are, of which each is at least such a share."""
    D = problem.risk.curvature(point.scores, point.b)
    if "dual_atoms" in problem.risk.capabilities:
        bound = 1.0 / problem.risk.dual_atoms().quad
        return np.asarray(np.maximum(D, floor * bound)), bound
    steep = np.abs(point.u)  # far out, first derivatives are all there is; where they vanish as well, nothing
    usual = float(D.sum() + steep.sum()) or 1.0
    bound = usual * problem.weight / problem.weight.sum()
    return np.asarray(np.maximum(D, np.maximum(_STEEP * steep, floor * bound))), bound


def _line_search(
    problem: Problem, terms: Terms, point: Point, a: Slope, target: Slope, f: Vector, D: Vector
) -> tuple[Point | None, float]:
    """A point 1, 1/2, 1/4, ... of the way to the target, where the scores change by f: the first where J
    falls by half of what the model says, or else the lowest. And which share of the way it is."""
    penalty, bend = terms.value(point.w), 0.5 * float(f @ (D * f))
    if problem.n_offsets:
        bend -= 0.5 * float(D @ f) ** 2 / float(D.sum())
    noise = 4 * _EPS * (abs(point.risk) + penalty)
    slope = float((a * (target - point.w) + terms.changes(point.w, target)).sum())
    s, best, most, share = 1.0, None, -noise, 0.0
    while slope < 0 and s > 1e-10:
        w = target if s == 1 else (1 - s) * point.w + s * target
        trial = _evaluate(problem, w, point.scores + s * f, point.b)
        fallen = point.risk - trial.risk + penalty - terms.value(trial.w)
        if best is not None and not fallen > most:
            break
        if fallen >= max(-0.5 * s * (slope + s * bend), 0.0) - noise:
            return trial, s
        if fallen > most:
            best, most, share = trial, fallen, s
        s *= 0.5
    return best, share
