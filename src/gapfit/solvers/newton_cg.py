"""Newton's method for softmax, its systems solved by conjugate gradients: W and the intercepts together.

No Hessian is formed: a product with it costs two products with X. They are preconditioned by a Kronecker
product (`second_order/kronecker.py`), and solved only as exactly as the step deserves, so that there are few
far from the optimum. A search along the line, on which scores are linear, takes no product at all.

The lower bound is that of a dual point. With D the second derivatives and s the step, u + D A s is what the
gradients in the scores at the new point would be if the risk were quadratic, and Newton's equation says that
A'(u + D A s) = -alpha (w + s), so that the two points belong together: what is between their objectives is
the error of the quadratic model. The tangent at the new point would prove |grad J|^2 / (2 alpha) only.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import daxpy

from gapfit._types import Slope, Vector
from gapfit.design.forms import RowSums, WideSums
from gapfit.elsewhere import loops_of
from gapfit.losses.atoms import Atoms
from gapfit.losses.forms import Curvature, Parabola
from gapfit.losses.multiclass import ClassCurvature
from gapfit.penalties.forms import Euclidean
from gapfit.problem import Problem
from gapfit.rounding import EPS
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.choice.work import work_of
from gapfit.solvers.point import Point, at_offsets
from gapfit.solvers.second_order.cg_scores import newton_cg_scores
from gapfit.solvers.second_order.kronecker import MOST, Kronecker

_LAST_GAIN = 1e-13  # of J, left to gain: from there on the driver is to look at every step
_FORCING = 0.3  # a system is solved at least that exactly, in its own norm
_ERROR_SHARE = 0.1  # of the quadratic model's error is commonly between the bounds
_SINGULAR = 1e-13  # of the largest singular value, counts as zero: a common shift of b changes nothing
_PRODUCTS = 300  # with the Hessian for one system, at most


class _Step(NamedTuple):
    """The step, what it does to the scores and their gradient, and what it leaves of the gradient of J."""

    w: Slope
    b: Vector
    scores: Vector
    u: Vector
    left: Slope
    slope: float
    curve: float


def _effort(problem: Problem) -> Effort:
    """Two products a step; for classes, where a step is a system, some of them."""
    n, d, product, _, hard, short, _ = work_of(problem)
    if problem.has(ClassCurvature):
        step, columns = 2.5e6 + 6 * product + 600.0 * n + 75.0 * d, d / problem.risk.outputs
        spectrum = columns**3 if columns <= MOST else 0.0
        return Effort(1e7 + 100.0 * d + spectrum, step, 1.9 * hard**0.12, 8.0 * (columns**2 + 8 * n))
    steps = 1.8 * hard**0.16 * short**0.37
    if problem.has(Parabola):
        steps = 1.4 * hard**0.2
    elif problem.has(Atoms):  # at their seams curvatures change
        steps *= 1.5 * max(d / n, 1.0) ** 0.2
    step = 4.5e5 + 2 * product + 120.0 * n + 50.0 * d
    return Effort(3e6 + 10 * product + 1400.0 * n, step, steps, 4.0 * problem.design.size + 64.0 * n)


@needs((ClassCurvature, Curvature), Euclidean, (WideSums, RowSums), effort=_effort)
def newton_cg(problem: Problem, state: dict[str, Any] | None = None) -> Steps:
    """One step: for softmax a system, solved in part, and a line search; for other losses one product with X
    and one with its transpose. For any number of features."""
    if problem.has(ClassCurvature):
        return _newton_cg_classes(problem, state or {})
    return newton_cg_scores(problem, state or {})


def _newton_cg_classes(problem: Problem, state: dict[str, Any]) -> Steps:
    stand_in = Kronecker(*problem.form(WideSums), problem.alpha, problem.n_offsets > 0)
    if state.get("same"):  # a run that goes on has already reported its point
        point = state["point"]
        stand_in.restore(state["stand_in"])
    else:
        w = np.array(state.get("w", problem.start()))
        scores = problem.scores(w)
        at = problem.tangent(scores)
        point = at_offsets(problem, w, scores, at.b)
        bound = partial(problem.minorant, at, scores)
        yield Iterate(w, at.b, bound, problem.alpha * problem.penalty.value(w) + at.value)
    while True:
        gradient = problem.alpha * point.w + problem.design.adjoint(point.u)
        step = _newton_step(problem, point, gradient, stand_in)
        gain = -step.slope
        there, s = _line_search(problem, point, step)
        # what is between the bounds: the error of the quadratic model, and what the step leaves
        error = abs(there.J - point.J - s * step.slope - 0.5 * s * s * step.curve)
        left = (1 - s) * gradient + s * step.left
        unbalanced = (1 - s) * float(np.abs(point.e).sum())
        guess = _ERROR_SHARE * error + float(left @ left) / (2 * problem.alpha)
        guess += unbalanced * (1.0 + float(np.ptp(there.b) if len(there.b) else 0.0))
        bound = partial(problem.minorant_at, point.u + s * step.u)
        point = there
        ended = gain <= 2 * EPS * abs(point.J)  # what is left to gain is rounding
        now = partial(_state, point, stand_in, ended)
        done = gain <= _LAST_GAIN * abs(point.J)
        yield Iterate(point.w, point.b, bound, point.J, now, None if done else guess, point.J)
        if ended:
            return


def _state(point: Point, stand_in: Kronecker, ended: bool) -> dict[str, Any]:
    return {"point": point, "stand_in": stand_in.state(), "ended": ended}


def _newton_step(problem: Problem, point: Point, gradient: Slope, stand_in: Kronecker) -> _Step:
    """Conjugate gradients on the Newton system, from zero."""
    hessian = problem.form(ClassCurvature).at(point.u)
    stand_in.update(hessian.trace, hessian.mean)
    w, b = np.zeros_like(point.w), np.zeros_like(point.b)
    scores = np.zeros_like(point.scores)
    r_w, r_b = -gradient, -point.e
    z_w, z_b = stand_in.solve(r_w, r_b)
    way_w, way_b = z_w, z_b
    first = now = float(r_w @ z_w + r_b @ z_b)
    enough = min(_FORCING, np.sqrt(max(now, 0.0) / max(abs(point.J), 1e-300))) ** 2 * now
    for _ in range(_PRODUCTS):
        way_scores = problem.design.scores(way_w)
        way_u, bent_b = hessian.product(way_scores, way_b)
        bent_w = problem.alpha * way_w + problem.design.adjoint(way_u)
        curve = float(way_w @ bent_w + way_b @ bent_b)
        if not curve > 0 or not now > 0:
            break  # rounding
        t = now / curve
        w, b, scores = w + t * way_w, b + t * way_b, _further(scores, t, way_scores)
        r_w, r_b = r_w - t * bent_w, r_b - t * bent_b
        z_w, z_b = stand_in.solve(r_w, r_b)
        before, now = now, float(r_w @ z_w + r_b @ z_b)
        if now <= max(enough, EPS**2 * first):
            break
        way_w, way_b = z_w + now / before * way_w, z_b + now / before * way_b
    if len(b):  # a dual point must be balanced exactly: the best offsets for this w, in the quadratic model
        b = b + np.linalg.lstsq(hessian.mean, r_b, rcond=_SINGULAR)[0]
    u, _ = hessian.product(scores, b)
    left = gradient + problem.alpha * w + problem.design.adjoint(u)
    slope = float(gradient @ w + point.e @ b)
    return _Step(w, b, scores, u, left, slope, float(left @ w) - slope)


def _further(scores: Vector, t: float, way: Vector) -> Vector:
    """Along the way; in memory without a vector in between."""
    moved: Vector = daxpy(way, scores, a=t) if loops_of(scores) is None else scores + t * way
    return moved


def _line_search(problem: Problem, point: Point, step: _Step) -> tuple[Point, float]:
    """The first of the steps 1, 1/2, 1/4, ... after which J has fallen as a tangent promises, in part."""
    s = 1.0
    while True:
        there = at_offsets(
            problem, point.w + s * step.w, point.scores + s * step.scores, point.b + s * step.b
        )
        if -1e-4 * s * step.slope - 4 * EPS * abs(point.J) <= point.J - there.J or s < 1e-12:
            return there, s
        s *= 0.5
