"""Newton's method for small data, compiled as a whole: what is slow there is the interpreter.

The method is that of `semismooth_newton` without what pays on large data only: a loss of lines is rounded off
near a guess of the dual solution, Newton's method solves the rounded problem, its maximisers become the next
guess, and the rounding is sharpened. Smooth losses need no rounding. Where the penalty has an l1 part, the
quadratic model of a step is minimised by coordinates instead of by a factorisation.

X is copied, dense and centred. A step of the solver is as many of Newton's as leave a hundredth of the gap.
"""

from typing import Any

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.design.forms import Rows
from gapfit.losses.atoms import Atoms
from gapfit.losses.forms import BinaryEntropy, Smooth
from gapfit.minorant import Minorant
from gapfit.penalties.forms import Everywhere, Net
from gapfit.problem import Problem
from gapfit.records import copied
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, Steps, needs


def _effort(problem: Problem) -> Effort:
    """A Gram matrix a step, of the samples that are on a curved part, without the help of BLAS."""
    n, d = problem.design.shape
    each = (120.0 if problem.has(Smooth) else 800.0) + (13.0 if problem.penalty.smooth else 30.0) * d
    return Effort(3e6, 1e6 + n * (each + 1.5 * d**2) + d**3, 5, 8.0 * (n * d + d**2))


@needs((Atoms, BinaryEntropy), Net, Everywhere, Rows, squares=2, effort=_effort)
def small_newton(problem: Problem, state: dict[str, Any] | None = None) -> Steps:
    """One step: some steps of Newton's method, in compiled code. For thousands of samples of few features."""
    state = state or {}
    path = _Path(problem)
    if state.get("same"):
        path.restore(state["path"])
    else:
        path.start(state.get("w"), state.get("offsets") if "w" in state else None)
    while path.course.moving:
        path.improve()
        course = path.course
        estimate = course.gap if course.moving else 0.0  # the last point is to be looked at in any case
        claim = course.primal if course.best else None  # else the best offset is searched for
        yield Iterate(
            path.w, path.offsets(), path.bound, claim, path.snapshot, estimate, course.primal, way=path.way()
        )


class _Path:
    """A point on its way, in terms of rows less their mean where there is an intercept."""

    def __init__(self, problem: Problem) -> None:
        from gapfit.compiled import small, small_corners  # compiled code is loaded only when it is to run
        from gapfit.compiled.small_start import begin

        self.problem, self.small, self.begin = problem, small, begin
        n, d = problem.design.shape
        p = np.ascontiguousarray(problem.shares)
        self.losses, total = _losses(problem, p)
        # the slope in b that no sample carries would become one in w, too
        self.mean: Slope = problem.mean if problem.n_offsets and not total else np.zeros(d)
        self.X = problem.form(Rows).matrix.dense()
        self.X -= self.mean
        net, alpha = problem.form(Net), problem.alpha
        self.net = small.Net(alpha * net.l1, alpha * net.l2, bool(problem.n_offsets), total, 0.0, 0.0)
        f, v, centre, curvature, loss, along = np.zeros((6, n))
        w, z, step, mean = np.zeros((4, d))
        self.place = small.Place(
            w=w, f=f, v=v, z=z, centre=centre, curvature=curvature, loss=loss, step=step, along=along,
            hessian=np.zeros((d, d)), mean=mean, rows=np.zeros(n + 3, np.int64),
            passed=np.zeros(1, np.int64), values=np.zeros(small.MOST), gaps=np.zeros(small.MOST),
        )  # fmt: skip
        self.corners = None
        if net.l1:
            at, change = np.zeros((2, d))
            self.corners = small_corners.Corners(at, np.zeros((d, d)), change, np.zeros(d, np.int64))

    def start(self, w: Slope | None, offsets: Vector | None = None) -> None:
        """Begin at w, or from nothing with a rounding that reaches most samples."""
        place, b = self.place, np.nan
        if w is not None:
            place.w[:] = w
            place.f[:] = self.X @ place.w
        if offsets is not None and self.net.free:  # in terms of rows less their mean
            b = float(offsets[0] + self.mean @ place.w)
        self.net, self.course = self.begin(self.X, self.losses, self.net, place, b, w is not None)

    def improve(self) -> None:
        self.course = self.small.improve(self.X, self.losses, self.net, self.place, self.course, self.corners)

    @property
    def w(self) -> Slope:
        w: Slope = self.place.w
        return w

    def offsets(self) -> Vector:
        b = self.course.b - float(self.mean @ self.place.w)
        return np.array([b]) if self.net.free else np.zeros(0)

    def bound(self) -> Minorant:
        return self.problem.minorant_at(-self.place.v)

    def way(self) -> list[tuple[float, float]]:
        """J and the gap at the points that the last call has passed."""
        passed = int(self.place.passed[0])
        return list(zip(self.place.values[:passed].tolist(), self.place.gaps[:passed].tolist(), strict=True))

    def snapshot(self) -> dict[str, Any]:
        records = (tuple(record) for record in (self.net, self.place, self.course))
        return {"path": copied(tuple(records)), "ended": not self.course.moving}

    def restore(self, records: Any) -> None:
        net, place, course = copied(records)
        self.net, self.place = self.small.Net(*net), self.small.Place(*place)
        self.course = self.small.Course(*course)


def _losses(problem: Problem, p: Vector) -> tuple[Any, float]:
    """The losses as data, and the slope in b that no sample carries."""
    from gapfit.compiled.small import Losses

    none = np.zeros_like(p)
    if problem.has(Atoms):
        sign, lin, kink, quad, lo, hi, total = problem.form(Atoms)
        lower, upper = np.where(sign > 0, lo, -hi), np.where(sign > 0, hi, -lo)  # of v = sign * a
        kink, quad = np.ascontiguousarray(kink), np.ascontiguousarray(quad)
        return Losses(sign * lin - problem.offset, kink, quad, lower, upper, none, p), total
    lower, upper = problem.form(BinaryEntropy).bounds()
    return Losses(-problem.offset, none, none, lower, upper, upper - lower, p), 0.0
