"""Penalties Omega(w), each with minimum zero, and their conjugates.

A solver needs a penalty in three ways: its value, its conjugate `Omega*(mu) = sup_w <mu, w> - Omega(w)` with
the maximiser (which turns a minorant into a lower bound and a point), and, for master problems, the curvature
of the conjugate. Penalties that are sums over coordinates (`Separable`) can be restricted by `Box`.

`modulus` m and `norm` state strong convexity: Omega(v) >= Omega(w) + <g, v - w> + m/2 norm(v - w)^2 for
g in the subdifferential at w. The gap then bounds the distance to the optimum; modulus 0 means it does not.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from inspect import signature
from typing import Any

import numpy as np

from gapfit._types import Data, Indices, Matrix, Slope, Vector
from gapfit.design.rows import row_norms
from gapfit.forms import HasForms
from gapfit.penalties.forms import Differentiable, Euclidean, Quadratic
from gapfit.rounding import EPS, SUM, Estimate, gamma, length

_EUCLIDEAN, _QUADRATIC, _DIFFERENTIABLE = Euclidean(), Quadratic(), Differentiable()


class Penalty(HasForms, ABC):
    """Omega(w). Representation and equality follow the parameters."""

    modulus: float = 0.0  # strong convexity in `norm`; 0 if there is none
    inner_product: bool = False  # does `norm` come from an inner product?
    stretch: float = 1.0  # length(w) <= stretch * norm(w); for slopes, dual norm <= stretch * length
    euclidean: bool = False  # is Omega 1/2 |w|^2?
    quadratic: bool = False  # is the conjugate a quadratic form? Then masters work on a Gram matrix
    polyhedral: bool = False  # is Omega piecewise linear? Then masters are linear programs
    conic: bool = False  # is Omega another norm? Then masters hold on to a centre, by `held`
    least_is_zero: bool = True  # as a box may spoil
    smooth: bool = False  # is Omega differentiable on its whole domain R^d?

    def forms(self) -> Iterator[Any]:
        if self.euclidean:
            yield _EUCLIDEAN
        if self.quadratic:
            yield _QUADRATIC
        if self.smooth:
            yield _DIFFERENTIABLE

    @abstractmethod
    def value(self, w: Slope) -> float:
        """Omega(w), +inf outside the domain."""

    @abstractmethod
    def conjugate(self, mu: Slope) -> float:
        """sup over w of <mu, w> - Omega(w)."""

    @abstractmethod
    def argmax(self, mu: Slope) -> Slope:
        """The w that attains the conjugate: its gradient at mu."""

    @abstractmethod
    def curvature(self, mu: Slope, V: Matrix) -> Matrix:
        """V' H V, H the Hessian (or a generalised one) of the conjugate at mu."""

    @abstractmethod
    def subgradient(self, w: Slope) -> Slope:
        """One subgradient of Omega at w."""

    @abstractmethod
    def prox(self, v: Slope, step: float) -> Slope:
        """argmin over w of step * Omega(w) + |w - v|^2 / 2."""

    def shrinkage(self, mu: Slope, slack: float = 0.0) -> float:
        """The largest t <= 1 for which the conjugate is finite at t times everything within slack of mu."""
        return 1.0

    # -- what is proved, rounding counted; distances are Euclidean, or those of the design's own space -------

    def value_above(self, w: Slope, *, exact: bool = False) -> Estimate:
        """Omega(w), by default for sums of terms that do not cancel. `exact` asks for twice the digits where
        they do."""
        value = self.value(w)
        return Estimate(value, gamma(self.roundings(w)) * abs(value))

    def conjugate_above(self, mu: Slope, slack: float, *, exact: bool = False) -> Estimate:
        """The conjugate, with an error that covers everything within `slack` of mu as well.

        Its gradient is the maximiser, which moves by no more than 1 / modulus times as far as mu does.
        """
        value, length = self.conjugate(mu), self.length(self.argmax(mu))
        if not np.isfinite(value):
            return Estimate(np.inf, 0.0)
        move = slack + 4 * EPS * self.length(mu)
        return Estimate(value, gamma(self.roundings(mu)) * abs(value) + move * (length + move / self.modulus))

    def argmax_error(self, mu: Slope, slack: float) -> float:
        """How far, in `norm`, the computed `argmax` can be from that of anything within `slack` of mu."""
        move = slack + 8 * EPS * self.length(mu)
        return self.stretch * move / self.modulus + 8 * EPS * self.norm(self.argmax(mu))

    def roundings(self, w: Slope) -> int:
        """How many operations a coordinate may go through on its way into the value or the conjugate."""
        return w.size + SUM

    def length(self, w: Slope) -> float:
        """What <delta, w> is at most, for a delta of length one; and so for slopes."""
        return length(w)

    def astray(self, w: Slope) -> float:
        """How far w, rounded, is outside the domain, in the sum of its coordinates."""
        return 0.0

    def rounded(self, w: Slope, dtype: Any) -> Slope:
        """w as it is returned: in the precision of the data, if the domain has such points near by."""
        return w.astype(dtype, copy=False)

    def bounds(self, d: int) -> tuple[Vector, Vector]:
        """The box outside which Omega is infinite, for all its other parts."""
        return np.full(d, -np.inf), np.full(d, np.inf)

    def norm(self, w: Slope) -> float:
        """The norm in which Omega is strongly convex."""
        return float(np.linalg.norm(w))

    def norm_below(self, w: Slope) -> float:
        """The norm, not above its true value by rounding."""
        return self.norm(w) * (1 - gamma(4 * w.size + 16))

    def dual_norms(self, X: Data, centre: Vector) -> Vector:
        """The dual norm of each row of X - centre: how far a score can move with w."""
        return row_norms(X, centre)

    def take(self, columns: Indices) -> "Penalty":
        """The penalty of some of the weights, all others at rest."""
        return self

    def held(self, ratio: float) -> "Penalty":
        """ratio * Omega(w) + (1 - ratio) / 2 |w|^2, of a norm."""
        raise NotImplementedError(f"{type(self).__name__} is not conic")

    def check(self, d: int) -> None:
        """Raise a ValueError if the parameters do not fit d features."""

    def __repr__(self) -> str:
        # on one line, since errors name the penalty: of arrays no more than some entries
        with np.printoptions(threshold=12, edgeitems=3):
            given = [f"{name}={getattr(self, name)!r}" for name in signature(type(self)).parameters]
        return f"{type(self).__name__}({' '.join(', '.join(given).split())})"

    def __eq__(self, other: object) -> bool:
        # by the parameters themselves: a large array is shortened in a representation
        names = signature(type(self)).parameters
        return type(self) is type(other) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in names
        )

    def __hash__(self) -> int:
        return hash(repr(self))
