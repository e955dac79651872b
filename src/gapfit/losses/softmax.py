"""Multinomial logistic regression, and its second derivatives."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gapfit import threads
from gapfit._types import Matrix, Target, Vector
from gapfit.elsewhere import fetched, loops_of
from gapfit.errors import as_count
from gapfit.losses.base import Loss, Risk
from gapfit.losses.forms import Conditional, Smooth
from gapfit.losses.multiclass import WORK, ClassCurvature, SimplexRisk, Simplices, as_labels, count_classes
from gapfit.losses.vector import class_sums
from gapfit.rounding import EPS, TINY
from gapfit.special import xlogy


class Softmax(Loss):
    """log sum_k exp(f_k) - f_y: multinomial logistic regression.

    exp(f_k) / sum_l exp(f_l) are the probabilities of the classes. Conjugate: sum_k a_k log a_k.

    Parameters
    ----------
    n_classes : K, or None for one more than the largest label
    """

    target = Target.CLASSES
    relative = True
    likelihood = True
    anywhere = True

    def __init__(self, n_classes: int | None = None) -> None:
        self.n_classes = as_count("n_classes", n_classes, 2)

    def as_target(self, y: Any, n: int) -> Any:
        return as_labels(y, n)

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        return SoftmaxRisk(self, y.astype(np.intp), weight, count_classes(y, self.n_classes))


class SoftmaxRisk(SimplexRisk):
    """log sum_k exp(f_k) - f_y."""

    def forms(self) -> Iterator[Any]:
        yield from super().forms()
        yield Smooth()
        yield ClassCurvature(self.hessian)
        yield Conditional(self._against_the_rest, self._without)

    def _against_the_rest(self, k: int) -> Vector:
        return np.where(self.truth == k, 1.0, -1.0)

    def _without(self, F: Matrix, k: int) -> Vector:
        """Minus log sum over the other classes of exp(f)."""
        others = np.delete(F, k, axis=1)
        top = others.max(axis=1)
        return np.asarray(-top - np.log(np.exp(others - top[:, None]).sum(axis=1)))

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
        E.ravel()[self.places_of(rows)] = 0.0
        others = E @ ones
        E /= 1.0 + others[:, None]
        return np.log1p(others), E

    def hessian(self, u: Vector) -> "SoftmaxHessian":
        """The second derivatives in the scores where the gradient is u."""
        pi = u.reshape(-1, self.outputs) / self.p[:, None]
        pi.ravel()[self.places] += 1.0
        return SoftmaxHessian(pi, self.p)

    def first_offsets(self) -> Vector:
        logs = np.log(np.maximum(class_sums(self.truth, self.p, self.outputs), EPS))
        return np.asarray(logs - logs.mean())

    def offset_hessian(self, scores: Vector, b: Vector) -> Matrix:
        return self.hessian(self.value_and_subgradient(scores, b)[1]).mean

    def conjugates(self, a: Matrix) -> Vector:
        each: Vector = xlogy(a, a).sum(axis=1)
        return each

    def steepness(self, share: Vector) -> Vector:
        slopes: Vector = 1.0 - np.log(np.maximum(share, TINY))
        return slopes

    def unattained(self) -> str | None:
        missing = np.flatnonzero(class_sums(self.truth, self.p, self.outputs) == 0.0)
        if len(missing) == 0:
            return None
        return f"no sample has the label {missing[0]}, so that its best intercept is infinite"

    @cached_property
    def simplices(self) -> Simplices:
        none = np.asarray(np.zeros((1, self.outputs)), like=self.p)
        return Simplices(self.p, self.truth, none, np.zeros_like(self.truth), True)


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
            some *= self.p[rows][:, None]

        whole = loops_of(V) is not None
        threads.each(multiply, [slice(None)] if whole else threads.parts(len(V), WORK * V.size))
        return V.ravel(), fetched(np.ones_like(self.p) @ V) if b.size else np.zeros(0)

    @property
    def trace(self) -> Vector:
        """Of each D_i."""
        squares = (self.pi * self.pi) @ np.ones(len(self.pi.T))
        trace: Vector = self.p * np.maximum(1.0 - squares, EPS)
        return trace

    @property
    def mean(self) -> Matrix:
        """The sum of all D_i: the second derivatives in b."""
        first, second = self.p @ self.pi, (self.pi * self.p[:, None]).T @ self.pi
        return np.asarray(np.diag(fetched(first)) - fetched(second))
