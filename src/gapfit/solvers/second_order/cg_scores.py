"""Newton's method by conjugate gradients for losses of one score a sample: w and the intercept together.

The step is that of `newton.py`, and so is its lower bound. The system is not factorised but solved by
conjugate gradients, preconditioned by the diagonal; one step here is one product with the Hessian. What is
left of the system, r, is what the slope of the dual point lacks: it costs the bound |r|^2 / (2 alpha). Far
from the optimum systems are left as soon as more products gain little. Near it they are solved until r costs
less than the curvature of the derivatives, and at any of these products the driver may take the point.
"""

from functools import partial
from typing import Any

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.losses.forms import Curvature
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.records import Kept
from gapfit.rounding import EPS
from gapfit.solution import Iterate
from gapfit.solvers.base import Steps
from gapfit.solvers.point import Point
from gapfit.solvers.second_order.curved_rows import CurvedRows
from gapfit.solvers.second_order.place import bound_of, moved, place

_SLOW_GAIN = 0.5  # of the mean gain of a product so far: one that gains less may be the last of its system
_CLOSE = 0.02  # of J, promised by a step: then the bound is worth solving its system for
_CURVED = 0.2  # times decrement^1.5 / J^0.5 is commonly lost on the curvature of the derivatives
_RESIDUAL_SHARE = 0.25  # of what is lost on curvature may be lost on the residual r as well
_RESIDUAL = 1e-11  # of its first square: single precision gives no more
_PRODUCTS = 300  # with the Hessian for one system, at most


def newton_cg_scores(problem: Problem, state: dict[str, Any]) -> Steps:
    """One step: a product with the Hessian, and sometimes a line search."""
    descent = _Descent(problem)
    if state.get("same"):
        descent.restore(state["descent"])
    else:
        descent.point = place(problem, state.get("w", problem.start()), None)
    while descent.moving:
        descent.step()
        estimate = descent.estimate if descent.moving else 0.0  # it is to look at the last point in any case
        yield Iterate(
            descent.w, descent.b, descent.bound, descent.primal, descent.snapshot, estimate, descent.J
        )


class _Descent(Kept):
    """A point, and the system for the step from there while it is being solved. Arrays are never changed."""

    point: Point
    w: Slope | partial[Slope]  # where the driver may look
    KEPT = (
        "point", "D", "mean", "total", "diagonal", "gradient", "s", "f", "r", "way", "now", "first", "gain",
        "count", "solving",
    )  # fmt: skip

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.solving, self.moving = False, True
        self.rows = CurvedRows(problem)

    def snapshot(self) -> dict[str, Any]:
        return {"descent": self.state(), "ended": not self.moving}

    def step(self) -> None:
        """A product. It is the last if what is left to gain is rounding."""
        if not self.solving:
            self._set_up()
        solved = self._multiply()
        point, problem = self.point, self.problem
        t = -point.e / self.total - float(self.mean @ self.s) if self.total > 0 else np.zeros_like(point.e)
        scores_step = self.f + float(self.mean @ self.s)
        decrement = -float(self.gradient @ self.s) - float(point.e @ t)
        cost = problem.inner(self.r, self.r) / (2 * problem.alpha)
        bent = _CURVED * decrement * min(1.0, float(np.sqrt(max(decrement, 0.0) / max(abs(point.J), 1e-300))))
        near = decrement <= _CLOSE * abs(point.J)
        dual = point.u, self.D, scores_step, t
        if not solved and not (self.slow and (not near or cost <= _RESIDUAL_SHARE * bent)):
            self.w, self.b, self.J = partial(np.add, point.w, self.s), point.b + t, point.J - 0.5 * decrement
            self.primal, self.estimate, self.bound = None, cost + bent, partial(_bound, problem, point, *dual)
            return
        self.solving = False
        self.moving = decrement > 2 * EPS * abs(point.J)
        if self.moving:
            if not self.rows.exact:
                scores_step = problem.design.scores(self.s)
            self.point = moved(problem, point, self.s, scores_step, t, decrement)
            # J would fall by half the decrement if the model were right
            self.estimate = cost + 0.5 * abs(point.J - self.point.J - 0.5 * decrement)
        self.w, self.b, self.J = self.point.w, self.point.b, self.point.J
        self.primal = self.J
        self.bound = partial(_bound, problem, self.point, *dual)

    def _set_up(self) -> None:
        """The system at this point."""
        problem, point = self.problem, self.point
        self.D = problem.form(Curvature).at(point.scores, point.b)
        self.total = float(self.D.sum())
        offset = problem.n_offsets > 0 and self.total > 0
        slope = self.rows.design.adjoints(point.u)[0]
        self.gradient = problem.alpha * problem.penalty.subgradient(point.w) + slope
        self.mean = self.rows.mean(self.D) if offset else np.zeros_like(slope)
        self.diagonal = problem.alpha + self.total * self.rows.spread
        self.s, self.f = np.zeros_like(slope), np.zeros_like(point.u)
        self.r = point.e.sum() * self.mean - self.gradient
        self.way = self.r / self.diagonal
        self.now = self.first = float(self.r @ self.way)
        self.gain, self.count, self.solving = 0.0, 0, True

    def _multiply(self) -> bool:
        """A step of conjugate gradients; True if it is the last."""
        if not self.now > 0:
            return True
        f, bent = self.rows.product(self.D, self.way, float(self.mean @ self.way))
        bent += self.problem.alpha * self.problem.penalty.subgradient(self.way)
        curve = float(self.way @ bent)
        if not curve > 0:
            return True  # rounding
        t = self.now / curve
        self.s, self.f, self.r = self.s + t * self.way, self.f + t * f, self.r - t * bent
        gain = 0.5 * t * self.now
        self.gain, self.count = self.gain + gain, self.count + 1
        self.slow = gain * self.count <= _SLOW_GAIN * self.gain
        z = self.r / self.diagonal
        before, self.now = self.now, float(self.r @ z)
        self.way = z + self.now / before * self.way
        return self.now <= _RESIDUAL * self.first or self.count >= _PRODUCTS


def _bound(problem: Problem, point: Point, u: Vector, D: Vector, f: Vector, t: Vector) -> Minorant:
    """What is proved after a step from derivatives u and D by which the scores change by f, b by t."""
    return bound_of(problem, point, u + D * (f + t.sum()))
