"""What losses over K classes have in common: a score f_ik for each sample i and class k, and classes compete.

    R(F, b) = sum_i p_i phi(y_i, f_i + b),      p_i = weight_i / sum of weights,

with labels y = 0, ..., K - 1. `CrammerSinger` and `Softmax` are maxima over the simplex of the classes,

    phi(y, f) = max over a >= 0, sum a = 1 of  <a, cost + f> - f_y - h(a),

so that the derivative is a - e_y, and their conjugate at it is h(a) - <a, cost>: dual points are a product of
simplices, one for each sample. A common shift of a sample's scores changes nothing.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapfit import threads
from gapfit._types import Matrix, Vector
from gapfit.checks import as_column
from gapfit.elsewhere import as_floats, fetched, loops_of
from gapfit.forms import loss_form
from gapfit.losses.base import Loss
from gapfit.losses.forms import Conjugate
from gapfit.losses.leaning import Leaning
from gapfit.losses.vector import VectorRisk, class_sums, flat_places, one_hot
from gapfit.rounding import EPS, Estimate, gamma, plain_sum

if TYPE_CHECKING:
    from gapfit.losses.softmax import SoftmaxHessian

WORK = 32  # multiplications that a score is worth


@loss_form("a loss over classes that compete")
class Simplices(NamedTuple):
    """A risk over classes as data: sum_i p_i phi(y_i, f_i).

    phi is the maximum above, with cost = costs[row_i] and h(a) = sum a log a if `entropic`, else zero.
    """

    p: Vector
    truth: NDArray[np.intp]
    costs: Matrix
    row: NDArray[np.intp]
    entropic: bool

    def shares(self, u: Vector) -> Matrix:
        """The nearest a in the simplices with u_i = p_i (a_i - e_y).

        Where there is one, those of other classes than the truth are what u says, however small they are: one
        plus a small number, and less one again, would be another number.
        """
        K = self.costs.shape[1]
        a: Matrix = u.reshape(-1, K) / self.p[:, None]
        truth = flat_places(self.truth, K)
        a.ravel()[truth] = 0.0
        taken = a.sum(axis=1)
        inside = (taken <= 1.0 + gamma(2 * K + 8)) & (a.min(axis=1) >= 0.0)
        a.ravel()[truth] = np.maximum(1.0 - taken, 0.0)
        if not inside.all():
            a[~inside] = self._nearest(u.reshape(-1, K)[~inside], ~inside)
        return a

    def slopes(self, a: Matrix) -> Matrix:
        """u of these shares, one row a sample: that of the truth makes up for the others, to the last bit."""
        U: Matrix = a * self.p[:, None]
        truth = flat_places(self.truth, U.shape[1])
        U.ravel()[truth] = 0.0
        U.ravel()[truth] = -U.sum(axis=1)
        return U

    def _nearest(self, U: Matrix, rows: NDArray[np.bool_]) -> Matrix:
        from gapfit.compiled.simplices import project_rows  # compiled code is loaded only when it is to run

        truth, p, here = fetched(self.truth[rows]), fetched(self.p[rows]), fetched(U)
        a = one_hot(truth, U.shape[1]) + here / p[:, None]
        threads.each(
            lambda some: project_rows(a, some.start, some.stop), threads.parts(len(a), WORK * a.size)
        )
        return np.asarray(a, like=U)


@loss_form("a margin loss over classes")
class MarginSimplices(Simplices):
    """Without entropy: the risk is polyhedral, and proximal steps among its dual points are projections."""


@loss_form("softmax")
class ClassCurvature(NamedTuple):
    """R has second derivatives, in which the scores of a sample interact."""

    at: Callable[[Vector], "SoftmaxHessian"]  # where the gradient is u


class ClassRisk(VectorRisk):
    """sum_i p_i phi(y_i, f_i + b). Write `value_and_slope`."""

    infimum = 0.0

    def __init__(self, loss: Loss, truth: NDArray[np.intp], weight: Vector, outputs: int) -> None:
        super().__init__(loss, outputs)
        self.truth, self.p = truth, weight / weight.sum()
        self.places = flat_places(truth, outputs)

    def places_of(self, rows: slice) -> NDArray[np.intp]:
        """Those of the truth, in the matrix of some samples."""
        return self.places[rows] - rows.start * self.outputs if rows.start else self.places[rows]

    @abstractmethod
    def value_and_slope(self, margins: Matrix, rows: slice) -> tuple[Vector, Matrix]:
        """phi and a derivative in f for some samples, from f - f_y. The slope of f_y may be left open."""

    def parts(self, F: Matrix) -> list[slice]:
        """Samples that threads work on; a device works on all at once."""
        there = loops_of(F) is not None
        return [slice(0, len(F))] if there else list(threads.parts(len(F), WORK * F.size))

    steepest = 1.0  # slope of phi in the score of another class than the truth

    def rise(self, slack: Vector) -> float:
        """The score of one class against that of the truth counts, and both may move."""
        worst = slack.reshape(-1, self.outputs).max(axis=1)
        return 2 * self.steepest * float(self.p @ worst) * (1 + gamma(len(worst) + 8))

    def roundings(self, scores: Vector) -> int:
        return 8 * self.outputs + 32

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        F = self.matrix(scores, b)
        value, U = np.empty_like(self.p), np.empty_like(F)

        def evaluate(rows: slice) -> None:
            truth = self.places_of(rows)
            with np.errstate(invalid="ignore", over="ignore"):  # far out: the risk is inf or nan there
                margins = F[rows] - F[rows].ravel()[truth][:, None]
                value[rows], slope = self.value_and_slope(margins, rows)
            slope.ravel()[truth] = 0.0
            slope.ravel()[truth] = -slope.sum(axis=1)  # exactly: a common shift changes nothing
            U[rows] = slope * self.p[rows][:, None]

        threads.each(evaluate, self.parts(F))
        with np.errstate(invalid="ignore"):
            return self.flat(float((self.p * value).sum()), U, b)


class SimplexRisk(ClassRisk):
    """A class risk whose dual is a product of simplices: u_i = p_i (a_i - e_y). Write `conjugates`."""

    def forms(self) -> Iterator[Any]:
        if loops_of(self.p) is None:  # solvers that step on simplices do so in memory
            yield self.simplices
        yield Conjugate(self.conjugate, self.project_dual)

    @abstractmethod
    def conjugates(self, a: Matrix) -> Vector:
        """h(a) - <a, cost>, sample by sample."""

    @property
    @abstractmethod
    def simplices(self) -> Simplices:
        """The risk as data."""

    def conjugate(self, u: Vector) -> float:
        return float((self.p * self.conjugates(self.simplices.shares(u))).sum())

    def steepness(self, share: Vector) -> Vector:
        """That of h in the share of the truth, at most: zero, if h is linear and the truth costs nothing."""
        return np.zeros_like(share)

    def conjugate_above(self, u: Vector, *, exact: bool) -> Estimate:
        a = self.simplices.shares(u)
        terms, known = self.p * self.conjugates(a), a.ravel()[self.places]
        made = plain_sum(terms, 4 * self.outputs + 16, float((np.abs(terms) + self.p).sum()))
        off = gamma(2 * self.outputs + 8) * np.minimum(a.sum(axis=1) - known, 1.0)
        astray = float((self.p * off * self.steepness(np.maximum(known, off))).sum())
        return Estimate(made.value, made.error + 2 * astray)

    def dual_error(self, u: Vector) -> Vector:
        """How far u is from slopes that are exactly those of some shares: from those of its own shares, and
        what rounding makes of them."""
        exactly = self.simplices.slopes(self.simplices.shares(u)).ravel()
        error: Vector = np.abs(u - exactly) + gamma(2 * self.outputs + 8) * np.abs(exactly)
        return error

    def leaning(self, scores: Vector, b: Vector) -> Leaning:
        """Those of the vertices: all samples of one class, phi >= cost_k + f_k - f_y."""
        F, p, simplices = self.matrix(scores, b), self.p, self.simplices
        costs = class_sums(simplices.row, p, len(simplices.costs)) @ fetched(simplices.costs)
        heights = costs + fetched(p @ F) - float(p @ F.ravel()[self.places])

        def mixture(shares: Vector) -> Vector:
            U = np.outer(p, shares)
            flat: Vector = U.ravel()
            flat[self.places] -= shares.sum() * p
            return flat

        slopes = p.sum() * np.eye(self.outputs) - class_sums(self.truth, p, self.outputs)
        return Leaning(slopes, heights, lambda: np.repeat(p, self.outputs), mixture)

    def project_dual(self, u: Vector, *, balanced: bool) -> Vector:
        """The nearest point; if `balanced`, near it one in whose shares every class has its weight of old."""
        simplices = self.simplices
        U = simplices.slopes(simplices.shares(u))
        if balanced:
            excess = fetched(U.sum(axis=0))  # what is more than rounding
            excess = np.where(np.abs(excess) > 2 * EPS * fetched(np.abs(U).sum(axis=0)), excess, 0.0)
            a = U / self.p[:, None] + one_hot(self.truth, self.outputs)
            U = simplices.slopes(a @ transport(excess, fetched(self.p @ a)))
        flat: Vector = U.ravel()
        return flat


def transport(excess: Vector, has: Vector) -> Matrix:
    """A matrix of shares, its rows adding up to one, that takes the excess away from the masses that classes
    have: what one has too much goes to those that have too little, by what they lack."""
    surplus, lack = np.maximum(excess, 0.0), np.maximum(-excess, 0.0)
    total = lack.sum()
    if total == 0:
        return np.eye(len(has))
    away = np.minimum(surplus / np.where(has > 0, has, 1.0), 1.0)
    return np.asarray(np.diag(1.0 - away) + np.outer(away, lack / total))


def as_labels(y: Any, n: int) -> Vector:
    """Labels 0, 1, 2, ... of n samples."""
    labels = as_floats(as_column("y", y, n))
    if (labels < 0).any() or (labels != np.rint(labels)).any() or (labels > 2**31).any():
        raise ValueError(
            "y must hold the labels 0, 1, 2, ..., K - 1; use LinearClassifier, which takes labels of any kind"
        )
    return labels


def count_classes(y: Vector, n_classes: int | None) -> int:
    """K: what is asked for, or what the labels need, which is at least two."""
    needed = int(y.max()) + 1
    if n_classes is None:
        return max(needed, 2)
    if needed > n_classes:
        raise ValueError(f"y needs {needed} classes, but there are {n_classes}")
    return n_classes
