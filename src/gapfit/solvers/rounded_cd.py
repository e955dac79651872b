"""Coordinate descent on the weights of a rounded risk, again and again about a better centre.

`primal_cd` is fast for L1 and the elastic net, if the loss bends. A hinge bends nowhere, until it is rounded
off near a guess of the dual solution,

    R_mu(f) = max over u of  <u, f> - R*(u) - mu |u - centre|^2 / 2.

That is a loss of lines and parabolas again, with other numbers: each parabola is wider by mu, and each target
has moved by mu times the centre. Its maximiser u is a dual point of the risk itself, and gives a lower bound.
Once the rounded problem is solved well enough in view of the whole gap, u becomes the next centre, and mu is
halved if that was easy. As the centre approaches the solution the rounding costs ever less, so that mu need
not become small: tens of steps from nothing to six digits, most of them on the few columns in use.
"""

from copy import copy
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.design.forms import Rows
from gapfit.losses.atoms import Atoms
from gapfit.losses.forms import Conjugate, Smooth
from gapfit.losses.piecewise import PiecewiseRisk
from gapfit.minorant import Minorant
from gapfit.penalties.forms import Grouped, Net
from gapfit.problem import Problem
from gapfit.records import storable
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.choice.work import work_of
from gapfit.solvers.dual_sets import dual_set
from gapfit.solvers.point import Point
from gapfit.solvers.primal_cd import USUAL, Look, Tuning, primal_cd

_SOLVED = 0.5  # a rounded problem is solved when its own gap is such a share of the whole
_WIDE = (
    2.0  # times the width that reaches most samples is the first mu: a large one lets columns in one by one
)
_WIDE_BEND = 0.5  # of the first mu: a loss that bends so widely by itself is hardly rounded
_HARDLY = 1e-6  # times the first mu is that of a loss that bends widely by itself
_SHARPEN = 0.5  # times mu, if the last rounded problem was easy
_EASY = 4  # steps about one centre: after more, mu stays
_TOLD = 0.25  # of the first mu, if there is a w that tells the first centre
_LEAST = 1e-12  # of the first mu: then what is left to gain is rounding


def _effort(problem: Problem) -> Effort:
    """Steps of `primal_cd` on a loss that is rounded less and less."""
    n, d, product, _, hard, *_ = work_of(problem)
    steps = (6.0 if problem.has(Smooth) else 15.0) * (hard**0.25 if problem.penalty.smooth else 1.0)
    return Effort(1e6 + 700.0 * n, 7e6 + 15 * product + 600.0 * n + 950.0 * d, steps, 64.0 * n)


@needs(Atoms, (Net, Grouped), Rows, effort=_effort, downhill=True)
def rounded_cd(problem: Problem, state: dict[str, Any] | None = None, *, tuning: Tuning = USUAL) -> Steps:
    """One step: a step of `primal_cd` on the rounded problem.

    Parameters
    ----------
    tuning : of `primal_cd`.
    """
    state = state or {}
    if state.get("same"):
        at: _Stage = state["stage"]
        at = at._replace(inner={**at.inner, "to_the_bit": state.get("to_the_bit")})
    else:
        at = _Stage.start(problem, state.get("w", problem.start()))
    while at.rounding.mu > _LEAST * at.first:
        rounded, stage = at.rounding.applied(problem), at
        for iterate in primal_cd(rounded, state=stage.inner, tuning=tuning):
            stage = stage._replace(steps=stage.steps + 1)
            look = iterate.minorant
            assert isinstance(look, Look) and iterate.estimate is not None  # which `primal_cd` promises
            point = look.point
            risk, _, _ = problem.risk.value_and_subgradient(point.scores, point.b)
            above = risk - point.risk  # what rounding costs, with a constant that cancels in the sum
            below = problem.form(Conjugate).value(point.u) - rounded.form(Conjugate).value(point.u)
            estimate = iterate.estimate + above + below
            stuck = iterate.primal is not None
            solved = stuck or iterate.estimate <= _SOLVED * estimate
            if solved:  # about another centre other columns matter: a pass finds them before a stage
                look.slopes()
            then = partial(stage.after, problem, iterate, solved=solved, stuck=stuck)
            snapshot, bound = partial(_snapshot, then), partial(_bound, problem, look)
            primal = problem.alpha * problem.penalty.value(iterate.point()) + risk
            yield Iterate(iterate.w, iterate.b, bound, None, snapshot, estimate, primal)
            if solved:
                break
        at = then()


@storable
class _Rounding(NamedTuple):
    """How the risk is rounded: about which dual point, for samples of weight one, and how widely."""

    centre: Vector
    mu: float

    def applied(self, problem: Problem) -> Problem:
        """The problem with -mu (a - centre)^2 / 2 among the terms of its loss, but for a constant; the data
        are shared."""
        atoms, p, other = problem.form(Atoms), problem.shares, copy(problem)
        atoms = atoms._replace(lin=atoms.lin + self.mu * self.centre, quad=atoms.quad + self.mu / p)
        other.risk = PiecewiseRisk(problem.loss, atoms, problem.y, p)
        other.shared = {}  # what is known of the other risk is not of this one
        return other

    @classmethod
    def about(cls, u: Vector, problem: Problem, mu: float) -> "_Rounding":
        """That about the dual point u."""
        return cls(-problem.form(Atoms).sign * u / problem.shares, mu)


@storable
class _Stage(NamedTuple):
    """Where the path has got to: a rounding, and what `primal_cd` is to go on from with it."""

    rounding: _Rounding
    first: float  # mu
    steps: int  # about this centre
    inner: dict[str, Any]

    @classmethod
    def start(cls, problem: Problem, w: Slope) -> "_Stage":
        """Begin with a rounding that reaches most samples; a sharper one, if w tells the dual solution."""
        scores = problem.scores(w)
        first = _WIDE * dual_set(problem).width(scores)
        if float((problem.form(Atoms).quad * problem.shares).min()) >= _WIDE_BEND * first:
            first *= _HARDLY
        rounding = _Rounding(np.zeros(len(scores)), first)
        if w.any():
            u = rounding.applied(problem).tangent(scores).u
            rounding = _Rounding.about(u, problem, _TOLD * first)
        return cls(rounding, first, 0, {"w": w})

    def after(self, problem: Problem, iterate: Iterate, *, solved: bool, stuck: bool) -> "_Stage":
        """The stage that follows an iterate."""
        inner = {**iterate.snapshot(), "same": True}
        if not solved:
            return self._replace(inner=inner)
        point: Point = inner["point"]
        easy = stuck or self.steps <= _EASY
        rounding = _Rounding.about(point.u, problem, self.rounding.mu * (_SHARPEN if easy else 1.0))
        at = rounding.applied(problem).tangent(point.scores, point.b)
        point = point._replace(risk=at.value, u=at.u, height=at.height, b=at.b, left=at.left)
        fresh = {"point": point, "lowest": (np.inf, np.inf), "to_the_bit": None}
        return _Stage(rounding, self.first, 0, {**inner, **fresh})


def _snapshot(then: Any) -> dict[str, Any]:
    stage: _Stage = then()
    ended = not stage.rounding.mu > _LEAST * stage.first
    inner = {**stage.inner, "to_the_bit": None}
    exactly = stage.inner["to_the_bit"]
    return {"stage": stage._replace(inner=inner), "to_the_bit": exactly, "ended": ended}


def _bound(problem: Problem, look: Look) -> Minorant:
    """The lower bound that the maximiser proves, scaled down as far as the penalty demands."""
    u = look.point.u
    keep = problem.penalty.shrinkage(look.slopes() / -problem.alpha)
    return problem.minorant_at(keep * u)
