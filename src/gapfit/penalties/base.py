"""Penalties Omega(w), each with minimum zero, and their conjugates.

A solver needs a penalty in three ways: its value, its conjugate `Omega*(mu) = sup_w <mu, w> - Omega(w)` with
the maximiser (which turns a minorant into a lower bound and a point), and, for master problems, the curvature
of the conjugate. Penalties that are sums over coordinates (`Separable`) can be restricted by `Box`.

`modulus` m and `norm` state strong convexity: Omega(v) >= Omega(w) + <g, v - w> + m/2 norm(v - w)^2 for
g in the subdifferential at w. The gap then bounds the distance to the optimum; modulus 0 means it does not.
"""

from abc import ABC, abstractmethod
from inspect import signature

import numpy as np

from gapfit._types import Data, Matrix, Slope, Vector
from gapfit.design.rows import row_norms


class Penalty(ABC):
    """Omega(w). Representation and equality follow the parameters."""

    modulus: float = 0.0  # strong convexity in `norm`; 0 if there is none
    inner_product: bool = False  # does `norm` come from an inner product?
    euclidean: bool = False  # is Omega 1/2 |w|^2?
    quadratic: bool = False  # is the conjugate a quadratic form? Then masters work on a Gram matrix
    polyhedral: bool = False  # is Omega piecewise linear? Then masters are linear programs
    smooth: bool = False  # is Omega differentiable on its whole domain R^d?

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

    def shrinkage(self, mu: Slope) -> float:
        """The largest t <= 1 for which the conjugate is finite at t * mu."""
        del mu
        return 1.0

    def bounds(self, d: int) -> tuple[Vector, Vector]:
        """The box outside which Omega is infinite, for all its other parts."""
        return np.full(d, -np.inf), np.full(d, np.inf)

    def norm(self, w: Slope) -> float:
        """The norm in which Omega is strongly convex."""
        return float(np.linalg.norm(w))

    def dual_norms(self, X: Data, centre: Vector) -> Vector:
        """The dual norm of each row of X - centre: how far a score can move with w."""
        return row_norms(X, centre)

    def check(self, d: int) -> None:
        """Raise a ValueError if the parameters do not fit d features."""

    def __repr__(self) -> str:
        parameters = signature(type(self)).parameters
        return f"{type(self).__name__}({', '.join(f'{k}={getattr(self, k)!r}' for k in parameters)})"

    def __eq__(self, other: object) -> bool:
        # by the parameters themselves: a large array is shortened in a representation
        names = signature(type(self)).parameters
        return type(self) is type(other) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in names
        )

    def __hash__(self) -> int:
        return hash(repr(self))
