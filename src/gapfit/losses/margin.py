"""Losses of the margin y * f, for labels y in {-1, +1}, and one-class novelty detection."""

from math import log

import numpy as np

from gapfit._types import Target, Vector
from gapfit.errors import as_positive, as_share
from gapfit.losses.atoms import Atoms
from gapfit.losses.base import Loss
from gapfit.losses.piecewise import PiecewiseLoss
from gapfit.losses.pointwise import PointwiseLoss, log_sum_exp
from gapfit.rounding import TINY
from gapfit.special import xlogy


class _Margin(Loss):
    """Labels are -1 or +1."""

    target = Target.LABELS

    def check_target(self, y: Vector) -> None:
        if not (np.abs(y) == 1.0).all():
            raise ValueError(
                f"y must hold the labels -1 and +1 for {self!r}; "
                "encode them, or use LinearClassifier, which takes any two labels"
            )


class Hinge(_Margin, PiecewiseLoss):
    """max(0, 1 - y f): the support vector machine."""

    def atoms(self, y: Vector) -> Atoms:
        return Atoms.each(y, sign=y, lin=1.0, hi=1.0)


class SquaredHinge(_Margin, PiecewiseLoss):
    """max(0, 1 - y f)^2."""

    def atoms(self, y: Vector) -> Atoms:
        return Atoms.each(y, sign=y, lin=1.0, quad=0.5, hi=np.inf)


class SmoothedHinge(_Margin, PiecewiseLoss):
    """The hinge with its corner replaced by a parabola of width gamma:

    0 where y f >= 1;  (1 - y f)^2 / (2 gamma) where 1 - gamma < y f < 1;  1 - y f - gamma / 2 below.
    """

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = as_positive("gamma", gamma)

    def atoms(self, y: Vector) -> Atoms:
        return Atoms.each(y, sign=y, lin=1.0, quad=self.gamma, hi=1.0)


class _Likelihood(_Margin, PointwiseLoss):
    """A loss that falls for ever as margins grow."""

    likelihood = True
    smooth = True
    curvature_rate = 1.0
    has_curvature = True
    has_conjugate = True
    never_flat = True

    def unattained(self, y: Vector) -> str | None:
        return None if y.min() < y.max() else "y holds one class only, so the best intercept is infinite"


class Logistic(_Likelihood):
    """log(1 + exp(-y f)).   Conjugate at v = -y t: t log t + (1 - t) log(1 - t), 0 <= t <= 1."""

    has_entropy = True
    curved_at_most = 0.25
    formula = "logistic"

    def value_and_slope(self, f: Vector, y: Vector) -> tuple[Vector, Vector]:
        margin = y * f
        t = np.exp(-np.abs(margin))
        # log(1 + t), with the digits of t that 1 + t has lost (log1p has no fast version for whole arrays)
        u = 1.0 + t
        rest = np.log(u) + (t - (u - 1.0)) / u
        return np.maximum(-margin, 0.0) + rest, -y * np.where(margin < 0, 1.0, t) / u

    def curvature(self, f: Vector, y: Vector) -> Vector:
        t = np.exp(-np.abs(f))
        return t / (1.0 + t) ** 2

    def conjugate(self, v: Vector, y: Vector) -> Vector:
        t = -y * v
        rest = 1.0 - t
        # t log t is zero at zero (and xlogy, which knows that, has no fast version for whole arrays)
        log_rest = np.log(np.maximum(rest, TINY))
        lost = np.where(rest > 0, (1.0 - rest) - t, 0.0)  # by rounding 1 - t, whose logarithm would show it
        return t * np.log(np.maximum(t, TINY)) + rest * log_rest + lost * (1.0 + log_rest)

    def slope_range(self, y: Vector) -> tuple[Vector, Vector]:
        away = -y
        return np.minimum(away, 0.0), np.maximum(away, 0.0)

    def best_offset(self, f: Vector, y: Vector, p: Vector) -> tuple[float, float] | None:
        """At equal scores, as at w = 0: the logarithm of the odds."""
        least = float(f.min(initial=np.inf))
        if least != float(f.max(initial=-np.inf)):
            return None
        positive, negative = (float((p * np.maximum(s * y, 0.0)).sum()) for s in (1, -1))
        if not (positive > 0 and negative > 0):
            return None
        return (log(positive) - log(negative) - least,) * 2


class Exponential(_Likelihood):
    """exp(-y f).   Conjugate at v = -y t: t log t - t, t >= 0."""

    formula = "exponential"

    def value_and_slope(self, f: Vector, y: Vector) -> tuple[Vector, Vector]:
        with np.errstate(over="ignore"):
            value = np.exp(-y * f)
        return value, -y * value

    def curvature(self, f: Vector, y: Vector) -> Vector:
        return np.exp(-y * f)

    def conjugate(self, v: Vector, y: Vector) -> Vector:
        t = -y * v
        value: Vector = xlogy(t, t) - t
        return value

    def conjugate_terms(self, v: Vector, y: Vector, value: Vector) -> Vector:
        t = np.abs(v)
        terms: Vector = np.abs(xlogy(t, t)) + t
        return terms

    def slope_range(self, y: Vector) -> tuple[Vector, Vector]:
        return np.where(y > 0, -np.inf, 0.0), np.where(y > 0, 0.0, np.inf)

    def best_offset(self, f: Vector, y: Vector, p: Vector) -> tuple[float, float]:
        positive, negative = (log_sum_exp(-s * f[y == s], p[y == s]) for s in (1, -1))
        return (0.5 * float(positive - negative),) * 2


class Novelty(PiecewiseLoss):
    """One-class novelty detection with the nu-trick; the offset b is minus the threshold rho:

    R(f, b) = b + (1 / nu) sum_i p_i max(0, -(f_i + b)),      0 < nu <= 1.

    At the optimum at most a share nu of the samples scores below zero, and the targets are ignored. R is
    unbounded below, but never falls faster than linearly, which any strongly convex penalty outweighs.
    """

    target = Target.NOTHING
    infimum = -np.inf

    def __init__(self, nu: float = 0.5) -> None:
        self.nu = as_share("nu", nu)

    def atoms(self, y: Vector) -> Atoms:
        return Atoms.each(y, hi=1.0 / self.nu, total=1.0)
