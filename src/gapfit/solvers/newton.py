"""Newton's method for smooth risks and quadratic penalties, in w and the intercept together.

The risk is a sum of functions of one score each. With D their second derivatives, a step (s, t) minimises the
quadratic model of J: eliminating t, the change of the intercept,

    (alpha Q + (X - 1m')'D(X - 1m')) s = -gradient in w + m * gradient in b,

m being the mean of the rows weighted by D (zero without an intercept). A search along the line follows;
scores are linear, so it costs no pass over X. Losses made of lines and parabolas have no second derivative at
their seams, where any of its limits serves; few samples pass a seam in a step, and the matrix is only
corrected for these.

Three things make steps few and cheap:

* the lower bound. If u are the derivatives of the risk in the scores, u + D(Xs + t) is a dual point whose
  slope is -alpha Q(w + s) and whose sum is zero, exactly, whatever D is: only the curvature of the
  derivatives is lost on it. The tangent at the next w proves as much only when the square of its gradient,
  divided by alpha, has vanished;
* a factorised matrix serves again as long as the steps it gives shrink fast;
* with many samples the first steps are made on a share of them.
"""

from collections.abc import Generator
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Matrix, Slope, Vector
from gapfit.design.forms import RowSums
from gapfit.errors import UnboundedProblem
from gapfit.losses.forms import Curvature, Parabola, ThresholdCurvature
from gapfit.penalties.forms import Quadratic
from gapfit.problem import Problem
from gapfit.records import storable
from gapfit.rounding import EPS
from gapfit.solution import Certificate, Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.choice.work import work_of
from gapfit.solvers.point import Point
from gapfit.solvers.second_order.definite import factorised, with_penalty
from gapfit.solvers.second_order.place import bound_of, moved, place
from gapfit.solvers.second_order.share import one_of_each
from gapfit.solvers.second_order.thresholds import newton_thresholds

_PARABOLA = 1e-9  # of the decrement is a gap that only a parabola leaves

Start = tuple[Slope, Vector | None]  # w, and b if it is known


class Tuning(NamedTuple):
    """When a matrix serves again, and what is learnt from some of the samples."""

    again: float = 0.3  # of the last decrement: a step with the same H must promise no more
    little: float = 0.2  # of the mean second derivative: smaller changes are left out while steps are large
    shares: tuple[int, ...] = (1024, 64, 16, 4)  # the first steps see so small a part of the samples
    least_per_feature: int = 10  # samples: a share of fewer would teach too little
    enough_per_feature: int = 100  # samples: a share four times as large would teach little more
    small: int = 200_000  # entries of X, of which no share is worth the trouble
    rough: float = 0.1  # of J: the decrement after which a share has taught what it can


USUAL = Tuning()


def _effort(problem: Problem) -> Effort:
    """A Gram matrix or two, for second derivatives settle, and a factor each."""
    n, d, product, gram, *_ = work = work_of(problem)
    steps = 2.0 if problem.has(Parabola) else work.newton(1.4, 0.12, 200)
    if problem.has(ThresholdCurvature):
        setup, step = 7e6 + 50 * product + 5e4 * d + gram, 1e6 + 4 * product + 2e3 * n + 27e3 * d
        return Effort(setup, step, steps, 8.0 * 6 * d**2)
    step = 1.5e6 + 4 * product + 230.0 * n + 12.0 * d**2 + 0.02 * d**3
    return Effort(7e6 + 10 * product + 400.0 * n + gram + 50.0 * d**2, step, steps, 8.0 * 6 * d**2)


@needs((Curvature, ThresholdCurvature), Quadratic, RowSums, squares=6, effort=_effort)
def newton(
    problem: Problem, state: dict[str, Any] | None = None, *, seed: int = 0, tuning: Tuning = USUAL
) -> Steps:
    """One step: one line search, and one dense factorisation or less. For up to some thousand features.

    Ordered levels have a method of their own (`second_order/thresholds.py`), which draws no samples.

    Parameters
    ----------
    seed : of the choice of samples for the first steps, where there are very many.
    tuning : when a matrix serves again, and how much is learnt from some of the samples.
    """
    if problem.has(ThresholdCurvature):
        return newton_thresholds(problem, state or {})
    return _newton_scores(problem, state or {}, seed, tuning)


def _newton_scores(problem: Problem, state: dict[str, Any], seed: int, tuning: Tuning) -> Steps:
    if state.get("same"):
        descent: _Descent = _Descent(problem, tuning, state["point"], state["known"])
    else:
        start = (
            _told(problem, state) if "w" in state else (yield from _learn_from_shares(problem, tuning, seed))
        )
        point = place(problem, *start)
        if not np.isfinite(point.J):  # what a share has taught was too bold
            point = place(problem, problem.start(), None)
        descent = _Descent(problem, tuning, point)
    moving = True
    while moving:
        moving = descent.step()
        point = descent.point
        now: dict[str, Any] = {"point": point, "known": descent.known, "ended": not moving}
        estimate = descent.estimate if moving else 0.0  # it is to look at the last point in any case
        yield Iterate(point.w, point.b, descent.bound, None, now.copy, estimate, point.J)


def _told(problem: Problem, state: dict[str, Any]) -> Start:
    """The point to start from, and its intercept where solutions at other alphas tell that."""
    if problem.n_offsets and "foretold" in state:
        return state["w"], np.array([float(state["foretold"].intercept)])
    return state["w"], state.get("offsets")


def _learn_from_shares(problem: Problem, tuning: Tuning, seed: int) -> Generator[Iterate, Certificate, Start]:
    """A first point, found on ever larger shares of the samples if there are enough of them."""
    n, d = problem.design.shape
    least, enough = tuning.least_per_feature * d, tuning.enough_per_feature * d
    # what is followed by a share more than four times as large is to teach accordingly more
    steps = [(share, max(share / (4 * larger), 1.0)) for share, larger in pairwise((*tuning.shares, 1))]
    shares = [share for share, more in steps if least * more * share <= n < 4 * enough * share]
    known: Start = (problem.start(), None)
    if not shares or problem.design.size < tuning.small:
        return known
    for share in shares:
        try:
            part = problem.take(one_of_each(n, share, seed, problem.y))
        except UnboundedProblem:
            continue  # one class is missing
        descent = _Descent(part, tuning, place(part, *known))
        while np.isfinite(descent.point.J) and descent.step():
            known, decrement = (descent.point.w, descent.point.b), descent.known.decrement
            yield Iterate(*known, estimate=np.inf)
            if descent.estimate <= _PARABOLA * decrement:
                return known
            if decrement <= tuning.rough * abs(descent.point.J):
                break
    return known


@storable
class _Known(NamedTuple):
    """What one step leaves to the next."""

    D: Vector  # second derivatives in the Hessian
    gram: Matrix  # sum of D (x - centre)(x - centre)', its lower triangle
    mean: Slope  # of the rows, weighted by D; zero without an intercept
    total: float  # of D
    factor: Any  # of the Hessian
    decrement: float  # twice what the last step promised


class _Descent:
    """A point on its way."""

    def __init__(self, problem: Problem, tuning: Tuning, point: Point, known: _Known | None = None) -> None:
        self.problem, self.tuning, self.point = problem, tuning, point
        d = problem.design.shape[1]
        # large means would drown the Hessian; where there is an intercept they can be taken out
        self.centre: Slope = problem.mean if problem.n_offsets else np.zeros(d)
        self.known: Any = known
        self.estimate = np.inf

    def step(self) -> bool:
        """To the next point; False if what is left to gain is rounding."""
        problem, point = self.problem, self.point
        gradient = problem.alpha * problem.penalty.subgradient(point.w) + problem.design.adjoint(point.u)
        again = self.known is not None
        if again:
            s, t, decrement = self._newton_step(gradient)
            again = 2 * EPS * abs(point.J) < decrement <= self.tuning.again * self.known.decrement
        if not again:
            self.known = self._look_anew()
            s, t, decrement = self._newton_step(gradient)
        self.known = self.known._replace(decrement=decrement)
        scores_step = problem.design.scores(s)
        dual = point.u + self.known.D * (scores_step + t.sum())
        moving = decrement > 2 * EPS * abs(point.J)
        if moving:
            self.point = moved(problem, point, s, scores_step, t, decrement)
            # if the model were right, J would fall by half the decrement, and nothing would be left
            self.estimate = 0.5 * decrement * (1.0 - 2.0 * (point.J - self.point.J) / decrement) ** 2
        self.bound = partial(bound_of, problem, self.point, dual)
        return moving

    def _newton_step(self, gradient: Slope) -> tuple[Slope, Vector, float]:
        """The step in w and in b, and the decrement."""
        known, e = self.known, self.point.e
        s = -known.factor.solve(gradient - e.sum() * known.mean)
        t = -e / known.total - float(known.mean @ s) if known.total > 0 else np.zeros_like(e)
        return s, t, -float(gradient @ s) - float(e @ t)

    def _look_anew(self) -> _Known:
        problem, design, centre = self.problem, self.problem.form(RowSums).matrix, self.centre
        D = problem.form(Curvature).at(self.point.scores, self.point.b)
        known, few = self.known, False
        if known is not None:
            little = min(self.tuning.little, known.decrement / max(abs(self.point.J), 1e-300))
            change = D - known.D
            change[np.abs(change) <= little * float(D.mean())] = 0.0
            few = bool(np.count_nonzero(change) < np.count_nonzero(D))
        if few:
            D = known.D + change
            gram = known.gram + design.gram_for_steps(change, centre)
        else:
            gram = design.gram_for_steps(D, centre)
        hessian, mean, total = with_penalty(problem, gram), centre, float(D.sum())
        if problem.n_offsets and total > 0:
            across = design.adjoint(D) - total * centre
            there = np.asarray(across, like=hessian)
            hessian -= np.outer(there, there / total)
            mean = centre + across / total
        return _Known(D, gram, mean, total, factorised(problem.design, hessian), np.inf)
