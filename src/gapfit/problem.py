"""The problem, and all bounds of its optimum:

    minimise over w and b:   J(w, b) = alpha * Omega(w) + R(A w + offset, b)

A `Problem` is an objective with bounds from below: it makes minorants of R (by a subgradient at a point, or
from a dual point), and turns a minorant into a lower bound of the optimum:

    min J >= min over w of  alpha * Omega(w) + <a, w> + c  =  c - alpha * Omega*(-a / alpha).
"""

from collections.abc import Iterator
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.cached import OfTheData
from gapfit.elsewhere import finite
from gapfit.losses.base import Rest
from gapfit.losses.forms import Conjugate
from gapfit.minorant import Minorant, mix
from gapfit.objective import Objective
from gapfit.offset import Balanced, Reserve, reserve_of
from gapfit.proofs import balanced, bounded, left_over, taken_away
from gapfit.refinement import drawn_in
from gapfit.rounding import SUM, UNIT, Estimate, additions, exact_dot, gamma, length, plain_sum

_KEPT = 2**15  # scores, up to which a cut keeps its dual point
_PROJECTIONS = 4  # the last ones change nothing but rounding
_DRAWS = 3  # each leaves what rounding has made of the last one


class Oracle(NamedTuple):
    """What one evaluation at w reveals."""

    risk: float  # min over b of R(A w + offset, b)
    minorant: Minorant  # tight at w, with e = 0
    scores: Vector  # A w + offset
    b: Vector  # the minimising offsets


class Problem(Objective):
    """Minimise alpha * Omega(w) + R(A w + offset, b) over w and, if `intercept`, over b.

    Parameters
    ----------
    X : array or sparse matrix (n, d), or a design. float32 is kept.
    y : targets (n,), or what the loss says. Margin losses want -1 and +1.
    loss : a loss or its snake_case name; means are weighted by sample_weight.
    penalty : a penalty or its name.
    alpha : positive number, multiplies the penalty. C of other libraries is 1 / (alpha * sum of weights).
    sample_weight : non-negative weights (n,). Weight k equals k copies, weight 0 equals absence.
    intercept : add an unpenalised b to all scores. (Novelty losses need it.)
    offset : known numbers (n,) added to the scores; (n, k) for losses of k scores a sample.
    groups : the query (n,) that each sample belongs to, for losses that rank within queries; of any kind.
    """

    def oracle(self, w: Slope, guess: Vector | None = None) -> Oracle:
        """The risk at w, minimised over b, and a minorant that is tight there."""
        scores = self.scores(w)
        at = self.tangent(scores, guess)
        return Oracle(at.value, self.minorant(at, scores), scores, at.b)

    def minorant(self, at: Balanced | Any, scores: Vector) -> Minorant:
        """The cut that is tight at these scores; `at` is what `tangent` has found there, or a record that has
        its u, height, b and left."""
        if not (np.isfinite(at.height) and finite(at.u)):
            return self.nothing()  # the risk overflows there
        made = self._made(at.u, self._height(at.u, at.height, scores, at.b), "cuts", at.b, at.left)
        if self._steepest is None:
            return made
        return made._replace(spread=made.spread + gamma(self.risk.roundings(scores)) * self._steepest)

    @OfTheData
    def _steepest(self) -> float | None:
        """What slopes in the weights can be made of, where the risk says it. A slope that is a difference of
        sums may vanish, or should: it is off in proportion to those sums, not to itself."""
        return self.risk.rise(self.design.row_sizes)

    def _height(self, u: Vector, height: float, scores: Vector, b: Vector) -> Estimate:
        """That of a cut where all scores are zero."""
        own = scores - self.offset if self.shifted else scores
        c = height - float((u * own).sum())
        # the height is a sum over the scores with b, in an order of the risk's own
        size = abs(height) + float(np.abs(u).sum()) * float(np.abs(b).max(initial=0.0))
        size += self.risk.made_of(u, np.abs(scores) + np.abs(own)) + self.risk.constants(u)
        return Estimate(c, gamma(additions(u) + self.risk.roundings(scores)) * size)

    def tangent_plane(self, value: float, u: Vector, e: Vector, scores: Vector, b: Vector) -> Minorant:
        """The tangent at these scores and offsets, by the risk's value and subgradient there. It leans in b:
        it bounds offsets, and no optimum."""
        c = self._height(u, value - float(e @ b), scores, b)
        a, spread = self._slope(u, exact=False)
        size = self.design.reach(u)
        spread += gamma(self.risk.roundings(scores)) * max(size, self._steepest or 0.0)
        noise = c.error + gamma(2 * SUM) * (abs(value) + float(np.abs(e) @ np.abs(b)))
        return Minorant(a, e, c.value, "cuts", noise, spread, size, u, self.maker, True)

    def minorant_at(self, u: Vector, *, exact: bool = False) -> Minorant:
        """The minorant of a dual point in score space, which is first made feasible and balanced.

        `exact` takes all sums with twice the digits.
        """
        if not finite(u):
            u = np.where(np.isfinite(u), u, 0.0)  # far out a step may overflow; any dual point will do
        u = self.form(Conjugate).project(u, balanced=self.n_offsets > 0)
        conjugate = self.risk.conjugate_above(u, exact=exact)
        known = Estimate(0.0, 0.0)
        if self.shifted:
            known = exact_dot(u, self.offset) if exact else plain_sum(u * self.offset)
        c = known.value - conjugate.value
        noise = known.error + conjugate.error + UNIT * abs(c)
        none = np.zeros(self.n_offsets)
        return self._made(u, Estimate(c, noise), "conjugate", none, None, exact=exact)

    def settled(self, u: Vector) -> Vector:
        """A dual point near u in which `minorant_at` finds nothing to change: A'u may be computed before."""
        project = self.form(Conjugate).project
        for _ in range(_PROJECTIONS):
            before, u = u, project(u, balanced=self.n_offsets > 0)
            if np.array_equal(before, u):
                break
        return u

    def accumulated(self, u: Vector, c: Estimate, spread: float) -> Minorant:
        """The minorant of a mean of planes that a solver has summed up: their mean slope u in the scores, off
        by what moves A'u by at most `spread`, and their mean height c where all scores are zero."""
        known = plain_sum(u * self.offset)
        at_zero = Estimate(c.value + known.value, c.error + known.error)
        made = self._made(u, at_zero, "accumulated", np.zeros(self.n_offsets), None)
        return made._replace(spread=made.spread + spread)

    def claimed(self, u: Vector, a: Slope, c: float | None, off: float | None = None) -> Minorant:
        """The minorant of a dual point whose product A'u is at hand, and its height, unless that is None. By
        default it serves until the fit ends: what is reported rests on u alone. Where it is proved how far
        `off` the product is, that is not made anew."""
        known = float((u * self.offset).sum()) if self.shifted else 0.0
        conjugate = Estimate(0.0, 0.0)
        if self.risk.has(Conjugate):
            conjugate = self.risk.conjugate_above(u, exact=False)
        c = -conjugate.value if c is None else c
        noise = conjugate.error + gamma(SUM + additions(u)) * (abs(c) + abs(known) + float(np.abs(u).sum()))
        size, spread = self.design.length(a), 2 * self.design.spread(u) if off is None else off
        if self.n_offsets:
            left = self.risk.imbalance(u)
            more = self._unbalanced(abs(left.e) + left.error, c, size)
            noise, spread = noise + more[0], spread + more[1]
        made = off is not None
        return self.level(a, c + known, "conjugate", noise, spread=spread, size=size, u=u, made=made)

    def again(self, minorant: Minorant, *, exact: bool = False) -> Minorant:
        """The minorant, made anew from nothing but X, y and the dual point that it keeps."""
        if minorant.u is None:
            return minorant
        if self.risk.has(Conjugate):
            return self.minorant_at(minorant.u, exact=exact)
        a, spread = self._slope(minorant.u, exact)
        rest = minorant.spread - self.design.spread(minorant.u) if minorant.made else 0.0
        return minorant._replace(a=a, spread=spread + max(rest, 0.0), made=True)

    def adopt(self, minorant: Minorant) -> Minorant:
        """Take over a minorant, and all others of the problem that made it: one with the same fingerprint."""
        self.maker = minorant.maker
        return minorant

    def _made(
        self, u: Vector, c: Estimate, evidence: str, b: Vector, left: Rest | None, *, exact: bool = False
    ) -> Minorant:
        """The minorant of slope u and height c where all scores are zero at b, from which what is left of its
        slopes in b is taken away."""
        height, noise = c.value, c.error
        rest = np.zeros(self.n_offsets)
        if self.n_offsets and left is None:
            left = self.risk.imbalance(u)
        if self.n_offsets and left is not None and left.any():
            at = height + float(
                left.e @ (self.reserve.b - b)
            )  # where all scores are zero, at the reserve's b
            u, mixed, e = self.reserve.balanced(u, at, left.e)
            noise += balanced(height, at, mixed) + float(left.error @ abs(self.reserve.b - b))
            height, rest = mixed, left_over(e, left.e, left.error)
        a, spread = self._slope(u, exact)
        size = self.design.length(a)
        error = self.risk.dual_error(u) if evidence == "conjugate" else None
        if error is not None:
            spread += self.design.reach(error)
        more = self._unbalanced(rest, height, size)
        noise, spread = noise + more[0], spread + more[1]
        keep = u if evidence == "conjugate" or u.size <= _KEPT else None
        return self.level(a, height, evidence, noise, spread=spread, size=size, u=keep)

    def level(self, a: Slope, c: float, evidence: str, noise: float = 0.0, **more: Any) -> Minorant:
        """A minorant that does not lean in b, for who has counted what its numbers may be off by."""
        return Minorant(a, np.zeros(self.n_offsets), c, evidence, noise, maker=self.maker, **more)

    def _unbalanced(self, rest: Vector, height: float, size: float) -> tuple[float, float]:
        """What it costs in height, and in length of the slope, to take the rest of the slopes in b away."""
        if not rest.any():
            return 0.0, 0.0
        reserve, there = self.reserve, rest > 0
        share = float(rest[there] @ reserve.price[there])
        noise, spread = taken_away(share, height, reserve.height, size, self.reach_of_reserve)
        return noise + float(rest @ abs(reserve.b)), spread

    def _slope(self, u: Vector, exact: bool) -> tuple[Slope, float]:
        """A'u, and how far it may be from the exact one."""
        precise = self.design.precise_adjoint(u) if exact else None
        if precise is None:
            return self.design.adjoint(u), self.design.spread(u)
        a = precise.high + precise.low
        return a, length(precise.slack + UNIT * np.abs(a))

    @OfTheData
    def reserve(self) -> Reserve:
        """What balances dual points exactly."""
        return reserve_of(self.risk, self.offset, lambda: self.at_zero)

    @OfTheData
    def reach_of_reserve(self) -> float:
        return self.design.reach(self.reserve.u())

    def zero_plane(self) -> Minorant | None:
        """The trivial minorant R >= infimum, if the risk is bounded below."""
        if not np.isfinite(self.risk.infimum):
            return None
        n, d = self.design.shape
        c, u = self.risk.infimum, np.zeros_like(self.offset) if n <= _KEPT else None
        noise = gamma(SUM) * max(abs(c), 1.0) if c else 0.0  # zero is exact, anything else computed
        return self.level(np.zeros(d), c, "conjugate", noise, u=u)

    def nothing(self) -> Minorant:
        """A minorant that proves nothing: where the risk overflows, or has no minimum."""
        return self.level(np.zeros(self.design.shape[1]), -np.inf, "none")

    def feasible(self, minorant: Minorant, *, proved: bool = True, exact: bool = False) -> Minorant:
        """The minorant mixed with the zero plane just so much that its lower bound is finite; if `proved`,
        finite whatever rounding has done to its slope.

        Where the loss has parabolas or entropies, that of the dual point scaled down is higher: near the
        optimum it loses a share of the penalty, not of J. It is made where what is proved counts most, with
        sums that are `exact`, and where nothing is proved. With such sums dual points are drawn in as well.
        """
        if self.penalty.modulus > 0:
            return minorant  # then every plane has a finite one
        keep, mixed = self._mixed(minorant, proved=proved)
        if keep == 1.0 or minorant.u is None or not self.risk.has(Conjugate) or proved > exact:
            return mixed
        u = keep * minorant.u
        if not proved:
            height = -self.form(Conjugate).value(u)
            return max(mixed, self.claimed(u, keep * minorant.a, height), key=self.dual)
        scaled = self._mixed(self.minorant_at(u, exact=True), proved=True)[1]
        return max(mixed, scaled, *self._drawn_in(minorant, keep), key=self.dual)

    def _drawn_in(self, minorant: Minorant, keep: float) -> Iterator[Minorant]:
        """Minorants of dual points near its own whose slopes exceed the penalty's domain less and less."""
        for _ in range(_DRAWS):
            u = drawn_in(self, minorant.u, minorant.a, keep)  # type: ignore[arg-type]  # which is there
            if u is None:
                return
            minorant = self.minorant_at(u, exact=True)
            keep, mixed = self._mixed(minorant, proved=True)
            if keep == 1.0:
                yield mixed
                return
            yield self._mixed(self.minorant_at(keep * u, exact=True), proved=True)[1]

    def _mixed(self, minorant: Minorant, *, proved: bool) -> tuple[float, Minorant]:
        """The share of it that a mixture with the zero plane may have, and that mixture."""
        mu, zero, alpha = minorant.a / -self.alpha, self.zero_plane(), self.alpha
        spread = minorant.spread if proved else 0.0
        if zero is None or self.penalty.shrinkage(mu, spread / alpha) == 1.0:
            return 1.0, minorant
        spread += gamma(64) * minorant.size if proved else 0.0  # the mixture is rounded, too
        keep = self.penalty.shrinkage(mu, spread / alpha)
        return keep, mix(zero, minorant, keep)

    def dual(self, minorant: Minorant) -> float:
        """The lower bound on min J that the minorant proves: c - alpha * Omega*(-a / alpha)."""
        if minorant.e.any():
            return -np.inf  # it falls without bound in b
        return minorant.c - self.alpha * self.penalty.conjugate(minorant.a / -self.alpha)

    def least(self, minorant: Minorant, *, exact: bool = False) -> Estimate:
        """The lower bound of `dual`, with an error that counts all rounding: what is below is proved."""
        if minorant.e.any():
            return Estimate(-np.inf, 0.0)
        alpha = self.alpha
        conjugate = Estimate(0.0, 0.0)  # of a level minorant, if the least penalty is zero
        if minorant.spread > 0 or minorant.a.any() or not self.penalty.least_is_zero:
            mu, slack = minorant.a / -alpha, minorant.spread / alpha
            conjugate = self.penalty.conjugate_above(mu, slack, exact=exact)
        made = bounded(alpha, Estimate(minorant.c, minorant.noise), conjugate)
        return made if isfinite(made.value) and isfinite(made.error) else Estimate(-np.inf, 0.0)

    def minimiser(self, minorant: Minorant) -> Slope:
        """The w that minimises alpha * Omega + the minorant."""
        return self.penalty.argmax(minorant.a / -self.alpha)
