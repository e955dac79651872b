"""A small fit that nobody watches, solved and proved in one compiled call.

To make a `Problem`, to step through a solver and to certify what it has found takes a thousand calls of
Python, while the arithmetic of some hundred samples takes a fiftieth of a millisecond. So compiled code makes
the sums of a proof as well (`compiled.small_proof`), from X, y, the weights, a point and a dual point. What
they amount to is decided where it always is, in `proofs` and `certify`. A fit that is not certified so is
left to a `Problem`, which counts rounding more finely and has other solvers.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gapfit._types import Matrix, Slope, Vector
from gapfit.certify import certify, judged
from gapfit.checks import as_tolerance
from gapfit.driver.claims import on_the_way
from gapfit.errors import as_positive
from gapfit.losses.base import Loss
from gapfit.losses.piecewise import PiecewiseLoss
from gapfit.losses.pointwise import PointwiseLoss
from gapfit.penalties import Penalty
from gapfit.penalties.forms import Everywhere, Net
from gapfit.problem import Problem
from gapfit.proofs import attained, bounded
from gapfit.rounding import Estimate
from gapfit.solution import Certificate, Record, Solution, Status
from gapfit.solvers.choice.shapes import is_small_shape

SOLVER = "small_newton"  # whose method it is


class Fitted(NamedTuple):
    """How a fit ended that is certified."""

    w: Slope
    intercept: float
    dual_point: Vector
    certificate: Certificate
    history: list[Record]
    n_iter: int = 1
    status: Status = Status.CERTIFIED

    def solution(self, problem: Problem) -> Solution:
        """The same as the solution of its problem, which makes the minorant and proves it once more."""
        b = np.full(problem.n_offsets, self.intercept)
        minorant = problem.minorant_at(self.dual_point)
        certificate = certify(problem, self.w, b, minorant)
        rest = self.status, certificate, self.n_iter, self.history, minorant, SOLVER, None
        return Solution(self.w, self.intercept, *rest)


class Small(NamedTuple):
    """Samples and how they are to be fitted, to whatever targets."""

    X: Matrix
    weight: Vector
    loss: Loss
    net: Net
    alpha: float
    intercept: bool

    @classmethod
    def of(
        cls, X: Any, weight: Vector, loss: Loss, penalty: Penalty, alpha: float, *, intercept: bool
    ) -> "Small | None":
        """None, where it takes more than a call."""
        n, d = X.shape
        if X.dtype != np.float64 or not (is_small_shape(n, d) and (penalty.smooth or n >= 2 * d)):
            return None
        net = penalty.form(Net)
        if net is None or not penalty.has(Everywhere) or _numbers_of(loss) is None:
            return None
        rows = X.toarray() if sparse.issparse(X) else np.ascontiguousarray(X)
        return cls(rows, weight, loss, net, float(as_positive("alpha", alpha)), intercept)

    def fit(self, y: Vector, tol: float) -> Fitted | None:
        """To these targets, which the loss takes. None if that cannot be certified at once."""
        as_tolerance(tol)
        began, loss = perf_counter(), self.loss
        loss.check_target(y)
        numbers, total, entropy = _numbers_of(loss)(loss, y)  # type: ignore[misc]  # `of` has seen some
        if total or (self.intercept and loss.unattained(y)):
            return None
        place, b, v, proved = self._run((self.X, *numbers, self.weight), entropy, float(tol))
        upper = attained(1.0, Estimate(*proved[0:2]), Estimate(*proved[2:4]))
        lower = bounded(1.0, Estimate(*proved[4:6]), Estimate(*proved[6:8]))
        certificate = judged(upper, lower, "conjugate", self.loss)
        if not certificate.relative_gap <= tol:
            return None
        seconds = perf_counter() - began
        passed = int(place.passed[0])
        way = zip(place.values[:passed].tolist(), place.gaps[:passed].tolist(), strict=True)
        history = [*on_the_way(list(way), 1, 0.0, seconds), Record(1, seconds, *certificate[:3])]
        return Fitted(place.w, b, -v, certificate, history)

    def _run(self, data: Any, entropy: bool, tol: float) -> Any:
        """The place where it ended, b, the dual point and what is proved of it."""
        from gapfit.compiled import small, small_fit, small_model  # loaded only when it is to run

        n, d = self.X.shape
        net = small.Net(self.alpha * self.net.l1, self.alpha * self.net.l2, self.intercept, 0.0, 0.0, 0.0)
        f, v, centre, curvature, loss, along, dual, *of_losses = np.zeros((14, n))
        w, z, step, middle, mean, slope, spread, at, change = np.zeros((9, d))
        place = small.Place(
            w=w, f=f, v=v, z=z, centre=centre, curvature=curvature, loss=loss, step=step, along=along,
            hessian=np.zeros((d, d)), mean=middle, rows=np.zeros(n + 3, np.int64),
            passed=np.zeros(1, np.int64), values=np.empty(small.MOST), gaps=np.empty(small.MOST),
        )  # fmt: skip
        room = small_fit.Room(
            np.empty((n, d)), mean, small.Losses(*of_losses), dual, slope, spread, np.empty((2, 2 * n))
        )
        corners = None
        if net.l1:
            corners = small_model.Corners(at, np.zeros((d, d)), change, np.zeros(d, np.int64))
        b, proved = small_fit.fit(small_fit.Data(*data), net, entropy, tol, room, place, corners)
        return place, b, dual, proved


def _numbers_of(loss: Loss) -> Callable[[Any, Vector], tuple[Any, float, bool]] | None:
    """How to put a loss into numbers, if it is a mean over samples that can be, and none of one's own making
    that does more."""
    kind = type(loss)
    if not (kind.prepare is Loss.prepare and kind.as_target is Loss.as_target):
        return None
    if isinstance(loss, PiecewiseLoss):
        return _of_atoms if kind.bind is PiecewiseLoss.bind and loss.infimum == 0 else None
    if isinstance(loss, PointwiseLoss):
        return _of_entropies if kind.bind is PointwiseLoss.bind and loss.has_entropy else None
    return None


def _of_atoms(loss: PiecewiseLoss, y: Vector) -> tuple[Any, float, bool]:
    """As `Atoms` has them, the slope in b that no sample carries, and whether the loss has an entropy."""
    *numbers, total = loss.atoms(y)
    return numbers, total, False


def _of_entropies(loss: PointwiseLoss, y: Vector) -> tuple[Any, float, bool]:
    lowest, highest = loss.slope_range(y)
    none = np.zeros(len(y))
    return (np.ones(len(y)), none, none, none, -highest, -lowest), 0.0, True
