"""Losses over K classes at once: a score f_ik for each sample i and class k, and the classes compete.

    R(F, b) = sum_i p_i phi(y_i, f_i + b),      p_i = weight_i / sum of weights,

with labels y = 0, ..., K - 1. Both losses are maxima over the simplex of the classes,

    phi(y, f) = max over a >= 0, sum a = 1 of  <a, cost + f> - f_y - h(a),

so that the derivative is a - e_y, and their conjugate at it is h(a) - <a, cost>: dual points are a product of
simplices, one for each sample. A common shift of a sample's scores changes nothing.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from gapfit import threads
from gapfit._types import Matrix, Target, Vector
from gapfit.checks import as_column
from gapfit.errors import as_numbers
from gapfit.forms import loss_form
from gapfit.losses.base import Leaning, Loss, Risk
from gapfit.losses.forms import Conjugate, Smooth
from gapfit.losses.vector import VectorRisk, as_table, one_hot
from gapfit.rounding import Estimate, gamma, plain_sum

_EPS = float(np.finfo(float).eps)
_WORK = 32  # multiplications that a score is worth


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
        """The nearest a in the simplices with u_i = p_i (a_i - e_y)."""
        from gapfit.compiled.simplices import project_rows  # compiled code is loaded only when it is to run

        a = one_hot(self.truth, self.costs.shape[1])
        a += u.reshape(a.shape) / self.p[:, None]
        threads.each(
            lambda rows: project_rows(a, rows.start, rows.stop), threads.parts(len(a), _WORK * a.size)
        )
        return a


@loss_form("a margin loss over classes")
class MarginSimplices(Simplices):
    """Without entropy: the risk is polyhedral, and proximal steps among its dual points are projections."""


@loss_form("softmax")
class ClassCurvature(NamedTuple):
    """R has second derivatives, in which the scores of a sample interact."""

    at: Callable[[Vector], "SoftmaxHessian"]  # where the gradient is u


class CrammerSinger(Loss):
    """max over classes k of  cost(y, k) + f_k - f_y: the multiclass support vector machine.

    It bounds the cost of predicting the class with the highest score from above. By default every error
    costs 1, and the loss is the multiclass hinge of Crammer and Singer.

    Parameters
    ----------
    costs : table of K x K numbers, or None
        costs[y][k] >= 0 is what it costs to predict k where y is true; zero on the diagonal. None: 1 off it.
    rescaling : "margin" (default), or "slack"
        "slack" multiplies instead of adding: max over k of cost(y, k) (1 + f_k - f_y). Labels that cost
        little then need no margin beyond 1, but a dual of simplices there is none: `bundle` fits it.
    n_classes : K, or None
        By default as many as `costs` has rows, or one more than the largest label.

    Targets may also be a matrix (n, K) instead of labels: row i holds what each class would cost for sample
    i. Its truth is the cheapest one (the first of several), and costs count from there.
    """

    target = Target.CLASSES

    def __init__(
        self,
        costs: ArrayLike | None = None,
        rescaling: Literal["margin", "slack"] = "margin",
        n_classes: int | None = None,
    ) -> None:
        if rescaling not in ("margin", "slack"):
            raise ValueError(f"rescaling must be 'margin' or 'slack', got {rescaling!r}")
        self.costs = None if costs is None else _checked_costs(costs)
        self.rescaling = rescaling
        self.n_classes = check_count(n_classes)
        if self.costs is not None and self.n_classes not in (None, len(self.costs)):
            raise ValueError(f"n_classes is {n_classes}, but costs has {len(self.costs)} rows")

    def as_target(self, y: Any, n: int) -> Any:
        if np.ndim(y) < 2:
            return as_labels(y, n)
        if self.costs is not None:
            raise ValueError("y holds costs of its own, so that costs=None is needed")
        return as_table("y", y, n)

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        del groups
        kind = SlackRisk if self.rescaling == "slack" else MarginRisk
        if np.ndim(y) == 2:
            count_classes(np.array([float(y.shape[1] - 1)]), self.n_classes)
            costs = y - y.min(axis=1, keepdims=True)
            return kind(self, y.argmin(axis=1), weight, costs, np.arange(len(y)))
        K = count_classes(y, len(self.costs) if self.costs is not None else self.n_classes)
        truth = y.astype(np.intp)
        costs = 1.0 - np.eye(K) if self.costs is None else np.array(self.costs)
        return kind(self, truth, weight, costs, truth)


class Softmax(Loss):
    """log sum_k exp(f_k) - f_y: multinomial logistic regression.

    exp(f_k) / sum_l exp(f_l) are the probabilities of the classes. Conjugate: sum_k a_k log a_k.

    Parameters
    ----------
    n_classes : K, or None for one more than the largest label
    """

    target = Target.CLASSES
    likelihood = True

    def __init__(self, n_classes: int | None = None) -> None:
        self.n_classes = check_count(n_classes)

    def as_target(self, y: Any, n: int) -> Any:
        return as_labels(y, n)

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        del groups
        return SoftmaxRisk(self, y.astype(np.intp), weight, count_classes(y, self.n_classes))


class ClassRisk(VectorRisk):
    """sum_i p_i phi(y_i, f_i + b). Write `value_and_slope`."""

    infimum = 0.0

    def __init__(self, loss: Loss, truth: NDArray[np.intp], weight: Vector, outputs: int) -> None:
        super().__init__(loss, outputs)
        self.truth, self.p = truth, weight / weight.sum()

    @abstractmethod
    def value_and_slope(self, margins: Matrix, rows: slice) -> tuple[Vector, Matrix]:
        """phi and a derivative in f for some samples, from f - f_y. The slope of f_y may be left open."""

    steepest = 1.0  # slope of phi in the score of another class than the truth

    def rise(self, slack: Vector) -> float:
        """The score of one class against that of the truth counts, and both may move."""
        worst = slack.reshape(-1, self.outputs).max(axis=1)
        return 2 * self.steepest * float(self.p @ worst) * (1 + gamma(len(worst) + 8))

    def roundings(self, scores: Vector) -> int:
        return 8 * self.outputs + 32

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        F = self.matrix(scores, b)
        value, U = np.empty(len(F)), np.empty(F.shape)

        def evaluate(rows: slice) -> None:
            some = np.arange(rows.stop - rows.start), self.truth[rows]
            with np.errstate(invalid="ignore", over="ignore"):  # far out: the risk is inf or nan there
                value[rows], slope = self.value_and_slope(F[rows] - F[rows][some][:, None], rows)
            slope[some] = 0.0
            slope[some] = -slope.sum(axis=1)  # exactly: a common shift changes nothing
            U[rows] = slope * self.p[rows, None]

        threads.each(evaluate, threads.parts(len(F), _WORK * F.size))
        with np.errstate(invalid="ignore"):
            return self.flat(float((self.p * value).sum()), U, b)


class SimplexRisk(ClassRisk):
    """A class risk whose dual is a product of simplices: u_i = p_i (a_i - e_y). Write `conjugates`."""

    def forms(self) -> Iterator[Any]:
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

    def conjugate_above(self, u: Vector, *, exact: bool) -> Estimate:
        del exact
        terms = self.p * self.conjugates(self.simplices.shares(u))
        return plain_sum(terms, 4 * self.outputs + 16, float((np.abs(terms) + self.p).sum()))

    def dual_error(self, u: Vector) -> Vector:
        """What rounding moves shares by: off their simplices, and off those that u was made of."""
        a = self.simplices.shares(u)
        exactly = (a - one_hot(self.truth, self.outputs)) * self.p[:, None]
        rounded = gamma(4 * self.outputs + 8) * (a + one_hot(self.truth, self.outputs)) * self.p[:, None]
        return np.asarray(np.abs(u - exactly.ravel()) + rounded.ravel())

    def leaning(self, scores: Vector, b: Vector) -> Leaning:
        """Those of the vertices: all samples of one class, phi >= cost_k + f_k - f_y."""
        F, p, rows = self.matrix(scores, b), self.p, np.arange(len(self.p))
        simplices = self.simplices
        costs = np.bincount(simplices.row, p, len(simplices.costs)) @ simplices.costs
        heights = costs + p @ F - p @ F[rows, self.truth]

        def mixture(shares: Vector) -> Vector:
            U = np.outer(p, shares)
            U[rows, self.truth] -= shares.sum() * p
            return U.ravel()

        slopes = p.sum() * np.eye(self.outputs) - np.bincount(self.truth, p, self.outputs)
        return Leaning(slopes, heights, np.repeat(p, self.outputs), mixture)

    def project_dual(self, u: Vector, *, balanced: bool) -> Vector:
        """The nearest point; if `balanced`, near it one in whose shares every class has its weight of old."""
        a, truth = self.simplices.shares(u), one_hot(self.truth, self.outputs)
        if balanced:
            has, wanted = self.p @ a, self.p @ truth
            a = a @ transport(has, wanted)
        return np.asarray(((a - truth) * self.p[:, None]).ravel())


def transport(has: Vector, wanted: Vector) -> Matrix:
    """A matrix of shares, its rows adding up to one, that carries the masses `has` to those wanted.

    What a class has too much goes to those that have too little, by what they lack.
    """
    surplus, lack = np.maximum(has - wanted, 0.0), np.maximum(wanted - has, 0.0)
    total = lack.sum()
    if total == 0:
        return np.eye(len(has))
    away = surplus / np.where(has > 0, has, 1.0)
    return np.asarray(np.diag(1.0 - away) + np.outer(away, lack / total))


class CostRisk(ClassRisk):
    """A class risk with costs; those of sample i are costs[row_i]."""

    def __init__(
        self, loss: Loss, truth: NDArray[np.intp], weight: Vector, costs: Matrix, row: NDArray[np.intp]
    ) -> None:
        super().__init__(loss, truth, weight, costs.shape[1])
        self.costs, self.row = costs, row
        self.size = float(costs.max(initial=0.0))

    def constants(self, u: Vector) -> float:
        return (1.0 + self.size) * super().constants(u)


class MarginRisk(CostRisk, SimplexRisk):
    """max over k of cost_k + f_k - f_y."""

    def value_and_slope(self, margins: Matrix, rows: slice) -> tuple[Vector, Matrix]:
        G = margins + self.costs[self.row[rows]]
        best = G.argmax(axis=1)
        return G[np.arange(len(G)), best], one_hot(best, self.outputs)

    def conjugates(self, a: Matrix) -> Vector:
        return np.asarray(-(a * self.costs[self.row]).sum(axis=1))

    @cached_property
    def simplices(self) -> Simplices:
        return MarginSimplices(self.p, self.truth, self.costs, self.row, False)


class SlackRisk(CostRisk):
    """max over k of cost_k (1 + f_k - f_y)."""

    @property
    def steepest(self) -> float:  # type: ignore[override]
        return self.size

    def value_and_slope(self, margins: Matrix, rows: slice) -> tuple[Vector, Matrix]:
        costs = self.costs[self.row[rows]]
        G = costs * (1.0 + margins)
        best = G.argmax(axis=1)
        every = np.arange(len(G))
        return G[every, best], one_hot(best, self.outputs) * costs[every, best][:, None]


class SoftmaxRisk(SimplexRisk):
    """log sum_k exp(f_k) - f_y."""

    def forms(self) -> Iterator[Any]:
        yield from super().forms()
        yield Smooth()
        yield ClassCurvature(self.hessian)

    def value_and_slope(self, margins: Matrix, rows: slice) -> tuple[Vector, Matrix]:
        # the margin of the truth is zero, so that only overflow is to be feared
        E = np.exp(margins)
        ones = np.ones(self.outputs)
        total = E @ ones
        if not (total < np.inf).all():
            top = margins.max(axis=1)
            E = np.exp(margins - top[:, None])
            total = E @ ones
            return top + np.log(total), E / total[:, None]
        E[np.arange(len(E)), self.truth[rows]] = 0.0
        others = E @ ones
        E /= 1.0 + others[:, None]
        return np.log1p(others), E

    def hessian(self, u: Vector) -> "SoftmaxHessian":
        """The second derivatives in the scores where the gradient is u."""
        pi = u.reshape(-1, self.outputs) / self.p[:, None]
        pi[np.arange(len(pi)), self.truth] += 1.0
        return SoftmaxHessian(pi, self.p)

    def first_offsets(self) -> Vector:
        logs = np.log(np.maximum(np.bincount(self.truth, self.p, self.outputs), _EPS))
        return np.asarray(logs - logs.mean())

    def offset_hessian(self, scores: Vector, b: Vector) -> Matrix:
        return self.hessian(self.value_and_subgradient(scores, b)[1]).mean

    def conjugates(self, a: Matrix) -> Vector:
        return np.asarray(xlogy(a, a).sum(axis=1))

    def unattained(self) -> str | None:
        missing = np.setdiff1d(np.arange(self.outputs), self.truth)
        if len(missing) == 0:
            return None
        return f"no sample has the label {missing[0]}, so that its best intercept is infinite"

    @cached_property
    def simplices(self) -> Simplices:
        none = np.zeros(len(self.truth), dtype=np.intp)
        return Simplices(self.p, self.truth, np.zeros((1, self.outputs)), none, True)


class SoftmaxHessian(NamedTuple):
    """The second derivatives D_i = p_i (diag(pi_i) - pi_i pi_i') of the samples' losses in their scores."""

    pi: Matrix
    p: Vector

    def product(self, scores: Vector, b: Vector) -> tuple[Vector, Vector]:
        """What changes of the scores and of b make of the gradients in both."""
        V = scores.reshape(self.pi.shape).copy()

        def multiply(rows: slice) -> None:
            some, pi = V[rows], self.pi[rows]
            if b.size:
                some += b
            some *= pi
            some -= pi * (some @ np.ones(len(pi.T)))[:, None]
            some *= self.p[rows, None]

        threads.each(multiply, threads.parts(len(V), _WORK * V.size))
        return V.ravel(), np.ones(len(V)) @ V if b.size else np.zeros(0)

    @property
    def trace(self) -> Vector:
        """Of each D_i."""
        return np.asarray(self.p * np.maximum(1.0 - np.einsum("ik,ik->i", self.pi, self.pi), _EPS))

    @property
    def mean(self) -> Matrix:
        """The sum of all D_i: the second derivatives in b."""
        return np.asarray(np.diag(self.p @ self.pi) - (self.pi * self.p[:, None]).T @ self.pi)


def as_labels(y: Any, n: int) -> Vector:
    """Labels 0, 1, 2, ... of n samples."""
    y = np.asarray(as_column("y", y, n), dtype=np.float64)
    if (y < 0).any() or (y != np.rint(y)).any() or (y > 2**31).any():
        raise ValueError(
            "y must hold the labels 0, 1, 2, ..., K - 1; use LinearClassifier, which takes labels of any kind"
        )
    return np.asarray(y)


def count_classes(y: Vector, n_classes: int | None) -> int:
    """K: what is asked for, or what the labels need, which is at least two."""
    needed = int(y.max()) + 1
    if n_classes is None:
        return max(needed, 2)
    if needed > n_classes:
        raise ValueError(f"y needs {needed} classes, but there are {n_classes}")
    return n_classes


def check_count(n_classes: Any) -> int | None:
    if n_classes is None:
        return None
    if isinstance(n_classes, bool) or not isinstance(n_classes, Integral):
        raise TypeError(f"n_classes must be a whole number or None, got {n_classes!r}")
    if n_classes < 2:
        raise ValueError(f"n_classes must be at least 2, got {n_classes!r}")
    return int(n_classes)


def _checked_costs(costs: ArrayLike) -> tuple[tuple[float, ...], ...]:
    table = as_numbers("costs", costs)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) < 2:
        raise ValueError(f"costs must be a square table for two classes or more, got shape {table.shape}")
    if not (np.isfinite(table).all() and (table >= 0).all()):
        raise ValueError("costs must hold finite numbers that are not negative")
    if table.diagonal().any():
        raise ValueError("costs must be zero on the diagonal: the truth costs nothing")
    return tuple(tuple(row) for row in table.tolist())
