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

from gapfit._types import Slope, Vector
from gapfit.certify import certify, judged
from gapfit.checks import as_tolerance
from gapfit.design.memory import MemoryDesign
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

ENTRIES = 200_000  # of X, up to which coordinate descent is worth a try
CROWD = 200  # samples for each feature, beyond which it is not
VERY_LITTLE = 1e6  # multiply-adds for a Hessian of which many are needed


class Fitted(NamedTuple):
    """How a fit ended that is certified."""

    w: Slope
    intercept: float
    dual_point: Vector
    certificate: Certificate
    history: list[Record]
    solver: str
    n_iter: int = 1
    status: Status = Status.CERTIFIED

    def solution(self, problem: Problem) -> Solution:
        """The same as the solution of its problem, which makes the minorant and proves it once more."""
        b = np.full(problem.n_offsets, self.intercept)
        minorant = problem.minorant_at(self.dual_point)
        certificate = certify(problem, self.w, b, minorant)
        rest = self.status, certificate, self.n_iter, self.history, minorant, self.solver, None
        return Solution(self.w, self.intercept, *rest)


class Small(NamedTuple):
    """Samples and how they are to be fitted, to whatever targets."""

    rows: Any  # `compiled.rows.Rows`
    shape: tuple[int, int]
    weight: Vector
    loss: Loss
    net: Net
    alpha: float
    intercept: bool

    @classmethod
    def of(
        cls,
        design: MemoryDesign,
        weight: Vector,
        loss: Loss,
        penalty: Penalty,
        alpha: float,
        *,
        intercept: bool,
    ) -> "Small | None":
        """None, where it takes more than a call."""
        from gapfit.compiled.rows import as_rows  # compiled code is loaded only when it is to run

        (n, d), net = design.shape, penalty.form(Net)
        if design.dtype != np.float64 or net is None or not penalty.has(Everywhere):
            return None
        if not (_by_features(n, d, net) or _by_samples(n, d, design.size, net)) or _numbers_of(loss) is None:
            return None
        rows = as_rows(*design.rows())
        return cls(rows, (n, d), weight, loss, net, float(as_positive("alpha", alpha)), intercept)

    def fit(self, y: Vector, tol: float) -> Fitted | None:
        """To these targets, which the loss takes. None if that cannot be certified at once."""
        from gapfit.compiled import small_fit  # loaded only when it is to run

        as_tolerance(tol)
        began, loss = perf_counter(), self.loss
        loss.check_target(y)
        numbers, total, entropy = _numbers_of(loss)(loss, y)  # type: ignore[misc]  # `of` has seen some
        if total or (self.intercept and loss.unattained(y)):
            return None
        data = small_fit.Data(self.rows, *numbers, self.weight)  # type: ignore[call-arg]  # six of them
        run = self._newton if _by_features(*self.shape, self.net) else self._sweeps
        found = run(data, entropy, float(tol))
        upper = attained(1.0, Estimate(*found.proved[0:2]), Estimate(*found.proved[2:4]))
        lower = bounded(1.0, Estimate(*found.proved[4:6]), Estimate(*found.proved[6:8]))
        certificate = judged(upper, lower, "conjugate", loss)
        if not certificate.relative_gap <= tol:
            return None
        seconds = perf_counter() - began
        history = [*on_the_way(found.way(), 1, 0.0, seconds), Record(1, seconds, *certificate[:3])]
        return Fitted(found.w, found.b, -found.v, certificate, history, found.solver)

    def _penalty(self) -> Any:
        from gapfit.compiled.small_model import Net

        l1, l2 = self.net
        return Net(self.alpha * l1, self.alpha * l2, self.intercept, 0.0, 0.0, 0.0)

    def _newton(self, data: Any, entropy: bool, tol: float) -> "_Found":
        """Newton's method in the weights: for few of them."""
        from gapfit.compiled import small, small_fit, small_model

        (n, d), net = self.shape, self._penalty()
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
        b, proved = small_fit.fit(data, net, entropy, tol, room, place, corners)
        return _Found(w, b, dual, proved, place, "small_newton")

    def _sweeps(self, data: Any, entropy: bool, tol: float) -> "_Found":
        """Coordinate descent in the dual: for easy problems of many weights."""
        from gapfit.compiled import small, small_dual
        from gapfit.compiled.rows import SAMPLE

        n, d = self.shape
        f, v, *of_losses = np.zeros((9, n))
        z, w, mean, slope, spread = np.zeros((5, d))
        space = small_dual.Space(
            small.Losses(*of_losses), np.zeros(n, SAMPLE), z, w, mean, f, v, slope, spread,
            np.empty((2, 2 * n)), np.zeros(1, np.int64), np.empty(small_dual.MOST), np.empty(small_dual.MOST),
        )  # fmt: skip
        b, proved = small_dual.fit(data, self._penalty(), entropy, tol, space)
        return _Found(w, b, v, proved, space, "dual_cd")


class _Found(NamedTuple):
    """What a call has found: a point, a dual point, what is proved, and where the rest was written."""

    w: Slope
    b: float
    v: Vector
    proved: Any
    place: Any
    solver: str  # whose method it is

    def way(self) -> list[tuple[float, float]]:
        """J and the gap at points that were passed, by guess."""
        passed = int(self.place.passed[0])
        values, gaps = self.place.values[:passed].tolist(), self.place.gaps[:passed].tolist()
        return list(zip(values, gaps, strict=True))


def _by_features(n: int, d: int, net: Net) -> bool:
    """Is a Hessian next to nothing? With few samples and weights that may be zero, steps are many."""
    many = net.l1 > 0 and n < 2 * d
    return is_small_shape(n, d) and (not many or (n + d) * d**2 <= VERY_LITTLE)


def _by_samples(n: int, d: int, entries: float, net: Net) -> bool:
    """Do some sweeps over all samples cost next to nothing? Where samples are very many for each feature, and
    the penalty is weak, it would take a lot of them."""
    return net.l1 == 0 and entries <= ENTRIES and n <= CROWD * d


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
