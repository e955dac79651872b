"""A small fit that nobody watches, solved and proved in one compiled call.

To make a `Problem`, to step through a solver and to certify what it has found takes a thousand calls of
Python, while the arithmetic of some hundred samples takes a fiftieth of a millisecond. So compiled code makes
the sums of a proof as well (`compiled.small_proof`), from X, y, the weights, a point and a dual point. What
they amount to is decided where it always is, in `proofs` and `certify`. A fit that is not certified so is
left to a `Problem`, which counts rounding more finely and has other solvers.
"""

from collections.abc import Callable
from functools import cache
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.certify import certify, judged
from gapfit.checks import as_tolerance
from gapfit.driver.claims import Way
from gapfit.driver.columns_in_use import ColumnsInUse
from gapfit.driver.one_call_given import Plain
from gapfit.driver.one_call_methods import Method, Task, methods_for
from gapfit.losses.base import Loss
from gapfit.losses.forms import Conjugate
from gapfit.losses.piecewise import PiecewiseLoss
from gapfit.losses.pointwise import PointwiseLoss
from gapfit.losses.regression import Poisson
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.proofs import attained, bounded
from gapfit.rounding import Estimate, length
from gapfit.solution import Certificate, Solution, Status

# of a loss and targets: as `Atoms` has them, the slope in b that no sample carries, and what kind they are
Numbers = Callable[[Any, Vector], tuple[Any, float, int]]


class Fitted(NamedTuple):
    """How a fit ended that is certified."""

    w: Slope
    intercept: Any  # a number; an array where there are several offsets
    dual_point: Vector  # slopes in the scores
    certificate: Certificate
    history: Way
    solver: str
    n_iter: int = 1
    status: Status = Status.CERTIFIED
    slope: tuple[Slope, Slope] | None = None  # X'u, and how far each entry may be from the exact one

    def solution(self, problem: Problem) -> Solution:
        """The same as the solution of its problem, which makes the minorant."""
        minorant, certificate = self._told(problem), self.certificate
        if minorant is None:
            b = np.full(problem.n_offsets, self.intercept)
            if problem.has(Conjugate):
                minorant = problem.minorant_at(self.dual_point)
            else:  # thresholds have one each: the tangent's is next to it
                _, minorant, _, b = problem.oracle(self.w, b)
            certificate = certify(problem, self.w, b, minorant)
        rest = self.status, certificate, self.n_iter, list(self.history), minorant, self.solver, None
        return Solution(self.w, self.intercept, *rest)

    def _told(self, problem: Problem) -> Minorant | None:
        """The minorant without a pass over X, where the call has told its slope, and the problem, which has
        shares of its own making, finds nothing to change in the dual point."""
        if self.slope is None:
            return None
        u, (a, spread) = self.dual_point, self.slope
        there = problem.form(Conjugate).project(u, balanced=problem.n_offsets > 0)
        return problem.claimed(u, a, None, length(spread)) if np.array_equal(u, there) else None


class Small(NamedTuple):
    """Samples and how they are to be fitted, to whatever targets."""

    given: Plain
    columns: ColumnsInUse
    rows: Any  # of its design: `compiled.rows.Rows`
    methods: tuple[Method, ...]
    numbers: Numbers

    @classmethod
    def of(cls, given: Plain) -> Self | None:
        """None, where it takes more than a call."""
        columns = ColumnsInUse.of(given.design)
        methods, numbers = methods_for(columns.design, given.net), numbers_of(given.loss)
        if not methods or numbers is None:
            return None
        return cls(given, columns, columns.design.stored, methods, numbers)

    def fit(self, y: Vector, tol: float) -> Fitted | None:
        """To these targets, which the loss takes. None if that cannot be certified at once."""
        tol, began = as_tolerance(tol), perf_counter()
        Data, Net = _records()
        _, weight, loss, (l1, l2), free = self.given
        loss.check_target(y)
        numbers, total, kind = self.numbers(loss, y)
        if total or (free and loss.unattained(y)):
            return None
        net = Net(l1, l2, free, 0.0, 0.0, 0.0)
        data = Data(self.rows, *numbers, weight)
        task = Task(self.columns.design, data, net, kind, tol)
        for method in self.methods:
            found = method(task)
            if found is None:
                continue
            (w, b, v, proved, way, slope, spread), solver = found
            certificate = certificate_of(proved, loss)
            if certificate.relative_gap <= tol:
                of_all, took = self.columns.of_all, perf_counter() - began
                told = of_all(-slope), of_all(spread)
                return Fitted(of_all(w), b, -v, certificate, Way(way, certificate, took), solver, slope=told)
        return None


@cache
def _records() -> tuple[Any, Any]:
    """Of compiled code, which is loaded only when it is to run. To import them once more takes as long as
    to make them."""
    from gapfit.compiled.small_fit import Data
    from gapfit.compiled.small_model import Net

    return Data, Net


def certificate_of(proved: Any, loss: Loss) -> Certificate:
    """What the sums of compiled code amount to."""
    omega, omega_error, risk, risk_error, height, height_error, conjugate, conjugate_error = proved
    upper = attained(1.0, Estimate(omega, omega_error), Estimate(risk, risk_error))
    lower = bounded(1.0, Estimate(height, height_error), Estimate(conjugate, conjugate_error))
    return judged(upper, lower, "conjugate", loss)


def numbers_of(loss: Loss) -> Numbers | None:
    """How to put a loss into numbers, if it is a mean over samples that can be, and none of one's own making
    that does more."""
    kind = type(loss)
    if not (kind.prepare is Loss.prepare and kind.as_target is Loss.as_target):
        return None
    if isinstance(loss, PiecewiseLoss):
        return _of_atoms if kind.bind is PiecewiseLoss.bind and loss.infimum == 0 else None
    if isinstance(loss, PointwiseLoss):
        if kind.bind is PointwiseLoss.bind and loss.has_entropy:
            return _of_entropies
        return _of_counts if kind is Poisson else None
    return None


def _of_atoms(loss: PiecewiseLoss, y: Vector) -> tuple[Any, float, int]:
    """As `Atoms` has them, the slope in b that no sample carries, and what kind of losses they are."""
    from gapfit.compiled.small_counts import LINES  # compiled code is loaded only when it is to run

    *numbers, total = loss.atoms(y)
    return numbers, total, LINES


def _of_entropies(loss: PointwiseLoss, y: Vector) -> tuple[Any, float, int]:
    from gapfit.compiled.small_counts import ENTROPY

    lowest, highest = loss.slope_range(y)
    none = np.zeros(len(y))
    return (np.ones(len(y)), none, none, none, -highest, -lowest), 0.0, ENTROPY


def _of_counts(loss: Poisson, y: Vector) -> tuple[Any, float, int]:
    from gapfit.compiled.small_counts import COUNTS

    lowest, highest = loss.slope_range(y)
    none = np.zeros(len(y))
    return (np.ones(len(y)), loss.centre(y), none, none, -highest, -lowest), 0.0, COUNTS
