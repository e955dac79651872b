"""Losses of the residual r = f - y, for real targets, and Poisson counts."""

from typing import Any

import numpy as np

from gapfit._types import Target, Vector
from gapfit.errors import as_number, as_positive
from gapfit.losses.atoms import Atoms
from gapfit.losses.piecewise import PiecewiseLoss
from gapfit.losses.pointwise import PointwiseLoss, log_sum_exp
from gapfit.losses.quantiles import Quantiles
from gapfit.rounding import TINY
from gapfit.special import xlog1py, xlogy


class _Residual(PiecewiseLoss):
    target = Target.REAL


class Squared(_Residual):
    """r^2 / 2: least squares."""

    def atoms(self, y: Vector) -> Atoms:
        return Atoms.each(y, lin=y, quad=1.0, lo=-np.inf, hi=np.inf)


class Absolute(_Residual):
    """|r|: the median."""

    def atoms(self, y: Vector) -> Atoms:
        return Atoms.each(y, lin=y, lo=-1.0, hi=1.0)


class Quantile(_Residual):
    """max(q (y - f), (1 - q) (f - y)): the q-th quantile, 0 < q < 1. Of several q it makes `Quantiles`."""

    def __new__(cls, q: Any = 0.5) -> Any:
        return Quantiles(q) if np.ndim(q) else super().__new__(cls)

    def __init__(self, q: float = 0.5) -> None:
        if not 0 < as_number("q", q) < 1:
            raise ValueError(f"q must lie in (0, 1), got {q!r}")
        self.q = q

    def atoms(self, y: Vector) -> Atoms:
        return Atoms.each(y, lin=y, lo=self.q - 1.0, hi=self.q)


class _Tube(_Residual):
    def __init__(self, epsilon: float = 0.1) -> None:
        if not 0 <= as_number("epsilon", epsilon) < np.inf:
            raise ValueError(f"epsilon must be non-negative and finite, got {epsilon!r}")
        self.epsilon = epsilon


class EpsilonInsensitive(_Tube):
    """max(0, |r| - epsilon): support vector regression."""

    def atoms(self, y: Vector) -> Atoms:
        return Atoms.each(y, lin=y, kink=self.epsilon, lo=-1.0, hi=1.0)


class SquaredEpsilonInsensitive(_Tube):
    """max(0, |r| - epsilon)^2."""

    def atoms(self, y: Vector) -> Atoms:
        return Atoms.each(y, lin=y, kink=self.epsilon, quad=0.5, lo=-np.inf, hi=np.inf)


class Huber(_Residual):
    """r^2 / 2 where |r| <= delta, delta |r| - delta^2 / 2 beyond."""

    def __init__(self, delta: float = 1.0) -> None:
        self.delta = as_positive("delta", delta)

    def atoms(self, y: Vector) -> Atoms:
        return Atoms.each(y, lin=y, quad=1.0, lo=-self.delta, hi=self.delta)


def _log(y: Vector) -> Vector:
    """log y, and zero where y is zero."""
    return np.log(np.where(y > 0, y, 1.0))


class Poisson(PointwiseLoss):
    """exp(f) - y f + y log y - y, half the Poisson deviance of the mean exp(f), for y >= 0.

    Conjugate at v: (v + y) log(v + y) - v - y log y, v >= -y.
    """

    target = Target.COUNTS
    formula = "poisson"
    smooth = True
    curvature_rate = 1.0
    has_curvature = True
    has_conjugate = True

    def check_target(self, y: Vector) -> None:
        if (y < 0).any():
            raise ValueError(f"y must hold counts >= 0 for {self!r}")

    def value_and_slope(self, f: Vector, y: Vector) -> tuple[Vector, Vector]:
        """In terms of the distance from log y, so that large counts do not cancel: y (exp(r) - 1 - r)."""
        r = f - self.centre(y)
        with np.errstate(over="ignore", invalid="ignore"):
            grown = np.expm1(r)
            return np.where(y > 0, y * (grown - r), grown + 1.0), np.where(y > 0, y * grown, grown + 1.0)

    def terms(self, f: Vector, y: Vector, value: Vector, slope: Vector) -> Vector:
        r = f - self.centre(y)
        # log y is rounded as well, which moves r
        moved = np.abs(np.expm1(r)) * (1.0 + np.abs(f) + np.abs(r))
        terms: Vector = np.where(y > 0, y, 1.0) * (moved + np.abs(r) + (y == 0))
        return terms

    def curvature(self, f: Vector, y: Vector) -> Vector:
        return np.exp(f)

    def conjugate(self, v: Vector, y: Vector) -> Vector:
        """As the value: v log y + (v + y) log(1 + v / y) - v."""
        share = v / np.where(y > 0, y, 1.0)
        m = np.maximum(v + y, 0.0)
        near = v * _log(y) + xlog1py(m, np.maximum(share, -1.0)) - v
        value: Vector = np.where(y > 0, near, xlogy(m, m) - v)
        return value

    def conjugate_terms(self, v: Vector, y: Vector, value: Vector) -> Vector:
        m = np.maximum(v + y, 0.0)
        log = np.log(np.maximum(m, TINY)) - _log(y)  # v / y and v + y are rounded once each
        return np.abs(v) * (2.0 + np.abs(_log(y)) + np.abs(log)) + np.abs(m * log)

    def centre(self, y: Vector) -> Vector:
        return _log(y)

    def slope_range(self, y: Vector) -> tuple[Vector, Vector]:
        return -y, np.full_like(y, np.inf)

    def best_offset(self, f: Vector, y: Vector, p: Vector) -> tuple[float, float]:
        return (float(np.log(p @ y) - log_sum_exp(f, p)),) * 2

    def unattained(self, y: Vector) -> str | None:
        return None if y.any() else "all counts in y are zero, so the best intercept is infinite"
