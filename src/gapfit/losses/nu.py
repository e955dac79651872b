"""The nu machines: the width of the margin, or of the tube, is a variable, and nu says what it costs.

Minimised over the width and the intercept, both risks are a difference of means over the worst scores,

    R(f) = sum of the highest r in `above` - sum of the lowest r in `below`, each up to a weight of nu / 2,

with r = f - centre. So there is no offset left; width and intercept follow from where the two sums end.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gapfit._types import Indices, Vector
from gapfit.errors import UnboundedProblem, as_share
from gapfit.forms import loss_form
from gapfit.losses.base import Loss, Risk
from gapfit.losses.forms import Conjugate
from gapfit.losses.margin import _Margin
from gapfit.losses.weighted_quantile import weighted_quantile
from gapfit.projections import project_dual_box
from gapfit.rounding import EPS, TINY, Estimate, exact_dot, exact_sum, plain_sum


class NuLoss(Loss):
    """What both have in common."""

    tube: ClassVar[bool]  # is the width that of a tube, which may not be negative, or of a margin?

    def __init__(self, nu: float = 0.5) -> None:
        self.nu = as_share("nu", nu)


class NuHinge(_Margin, NuLoss):
    """min over b and rho of  -nu rho + sum_i p_i max(0, rho - y_i (f_i + b)):  the nu support vector machine.

    It has a minimum if nu is at most twice the share of the smaller class.
    """

    tube = False

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        y, p = self.prepare(y, weight)
        most = 2 * min(float(p[y > 0].sum()), float(p[y < 0].sum()))
        if self.nu > most * (1 + 1e-12):
            raise UnboundedProblem(
                f"nu={self.nu!r} is too large: at most {most:.6g}, twice the share of the smaller class, is "
                "feasible here"
            )
        return NuRisk(self, np.zeros_like(y), p, y < 0, y > 0)


class NuTube(NuLoss):
    """min over b and epsilon >= 0 of  nu epsilon + sum_i p_i max(0, |f_i + b - y_i| - epsilon)."""

    tube = True

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        y, p = self.prepare(y, weight)
        everyone = np.ones(len(y), dtype=bool)
        return NuRisk(self, y, p, everyone, everyone)


@loss_form("the loss of a nu machine")
class TwoSums(NamedTuple):
    """The sum of the highest r in `above` less that of the lowest in `below`, each up to a weight of `half`;
    r = f - centre, and samples weigh p."""

    centre: Vector
    p: Vector
    above: Indices
    below: Indices
    half: float
    tube: bool  # may the sums also be equal and less than that?


class NuRisk(Risk):
    """The risk of either, as a function of the scores alone."""

    loss: NuLoss

    def __init__(self, loss: NuLoss, centre: Vector, p: Vector, above: Any, below: Any) -> None:
        self.loss, self.centre, self.p = loss, centre, p
        self.above, self.below = np.flatnonzero(above), np.flatnonzero(below)
        self.half = 0.5 * loss.nu

    def forms(self) -> Iterator[Any]:
        yield TwoSums(self.centre, self.p, self.above, self.below, self.half, self.loss.tube)
        yield Conjugate(self.conjugate, self.project_dual)

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        r = scores - self.centre
        u = np.zeros_like(r)
        u[self.above] += self._highest(r[self.above], self.p[self.above])
        u[self.below] -= self._highest(-r[self.below], self.p[self.below])
        return float(u @ r), u, np.zeros(len(b))

    def _highest(self, r: Vector, p: Vector) -> Vector:
        """Weights up to p with a sum of nu / 2, on the highest r."""
        end = self._end(r, p)
        higher, level = r > end, r == end
        before = float(p @ higher) + np.cumsum(np.where(level, p, 0.0))  # the first of equals count first
        first = np.minimum(np.maximum(self.half - before + p, 0.0), p)
        return np.where(level, first, np.where(higher, p, 0.0))

    def _end(self, r: Vector, p: Vector) -> float:
        """The least of the highest r."""
        return -weighted_quantile(-r, p, min(self.half, float(p.sum())))[0]

    def offset_and_width(self, scores: Vector) -> tuple[float, float]:
        """The best b, and the best rho or epsilon."""
        r = scores - self.centre
        high = self._end(r[self.above], self.p[self.above])
        low = -self._end(-r[self.below], self.p[self.below])
        return -0.5 * (high + low), 0.5 * abs(high - low)

    def rise(self, slack: Vector) -> float:
        return 2 * self.half * float(slack.max(initial=0.0)) * (1 + 16 * EPS)

    def conjugate(self, u: Vector) -> float:
        return float(u @ self.centre)

    def conjugate_above(self, u: Vector, *, exact: bool) -> Estimate:
        return exact_dot(u, self.centre) if exact else plain_sum(u * self.centre)

    def dual_error(self, u: Vector) -> Vector:
        """The sums of either side are not quite equal: a share of u makes them so."""
        up, down = exact_sum(np.maximum(u, 0.0)), exact_sum(np.maximum(-u, 0.0))
        total = max(up.above, down.above, TINY)
        off = abs(up.value - down.value) + up.error + down.error + max(total - self.half, 0.0)
        if len(self.above) + len(self.below) == len(u):  # the sums must be nu / 2
            off = max(off, abs(total - min(self.half, float(self.p[self.above].sum()))))
        return np.asarray(np.abs(u) * (4 * off / total + 8 * EPS))

    def project_dual(self, u: Vector, *, balanced: bool) -> Vector:
        """A point of the domain, near u: sums of nu / 2 on either side, none above p. It is balanced."""
        if len(self.above) + len(self.below) > len(u):  # the sides overlap: the signs tell them apart
            u = np.clip(u, -self.p, self.p)
            up, down = np.maximum(u, 0.0), np.maximum(-u, 0.0)
            sums = float(up.sum()), float(down.sum())
            least = min(*sums, self.half)
            return np.asarray(least * (up / (sums[0] or 1.0) - down / (sums[1] or 1.0)))
        out = np.zeros_like(u)
        for side, sign in ((self.above, 1.0), (self.below, -1.0)):
            p = self.p[side]
            total = min(self.half, float(p.sum()))
            out[side] = sign * project_dual_box(sign * u[side], np.zeros_like(p), p, p, total)
        return out
