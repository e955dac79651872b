"""The problem, and its mathematics, once:

    minimise over w and b:   J(w, b) = alpha * Omega(w) + R(A w + offset, b)

A `Problem` evaluates J, makes minorants of R (by a subgradient at a point, or from a dual point), eliminates
the unpenalised offset b, and turns a minorant into a lower bound of the optimum:

    min J >= min over w of  alpha * Omega(w) + <a, w> + c  =  c - alpha * Omega*(-a / alpha).
"""

from copy import copy
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Indices, Slope, Vector
from gapfit.checks import as_column, as_groups, as_weights
from gapfit.design.base import Design
from gapfit.design.memory import as_design
from gapfit.errors import IncompatibleSolver, UnboundedProblem, as_number
from gapfit.fingerprint import fingerprint
from gapfit.forms import F, HasForms, lacking, part_of
from gapfit.losses.base import Loss, Rest
from gapfit.losses.forms import Conjugate
from gapfit.minorant import Minorant, mix
from gapfit.offset import Balanced, Reserve, best_offsets, minimise_offsets, reserve_of
from gapfit.penalties import Penalty
from gapfit.registry import as_loss, as_penalty
from gapfit.rounding import SUM, UNIT, Estimate, exact_dot, gamma, length, plain_sum, two_sum

_HUGE = 1e100
_WEIGHTS = 2 * SUM  # roundings of the samples' shares in the mean: J changes by no more, relatively
_SMALL = 1e-3  # a risk that rounding may be a part of
_KEPT = 2**15  # scores, up to which a cut keeps its dual point
_makers = count(1)


class Oracle(NamedTuple):
    """What one evaluation at w reveals."""

    risk: float  # min over b of R(A w + offset, b)
    minorant: Minorant  # tight at w, with e = 0
    scores: Vector  # A w + offset
    b: Vector  # the minimising offsets


class Problem:
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

    def __init__(
        self,
        X: Any,
        y: Any,
        loss: str | Loss = "hinge",
        penalty: str | Penalty = "l2",
        alpha: float = 1e-4,
        sample_weight: Any = None,
        intercept: bool = True,
        offset: Any = None,
        groups: Any = None,
    ) -> None:
        self.loss = as_loss(loss)
        self.penalty = as_penalty(penalty)
        self.alpha = _positive_alpha(alpha)
        design = as_design(X)
        n = design.n_samples
        y = self.loss.as_target(y, n)
        weight = as_weights(sample_weight, n)
        groups = None if groups is None else as_groups(groups, n)
        present = np.flatnonzero(weight)  # weight zero equals absence
        if len(present) < n:
            design, y, weight = design.take(present), y[present], weight[present]
            groups = None if groups is None else groups[present]
        self.risk = self.loss.bind(y, weight, groups)
        if self.risk.outputs > 1:
            design = design.widened(self.risk.outputs)
        offset = _known(offset, n, present, design.shape[0])
        for name, size in (
            ("X", design.largest),
            ("y", np.abs(y).max()),
            ("offset", max(offset.max(), -offset.min())),
        ):
            if size > _HUGE:
                raise ValueError(
                    f"{name} holds {size:.3g}; squares of such numbers overflow: scale {name} down"
                )
        self.penalty.check(design.shape[1])
        self.penalty = design.penalty(self.penalty)
        self.design: Design = design
        self.dtype = design.dtype
        self.offset: Vector = offset
        self.shifted = bool(offset.any())
        self.weight: Vector = weight
        self.y: Vector = y
        self.groups = groups
        self._scored: tuple[Slope, Vector] | None = None
        self.maker = next(_makers)
        self._sealed: str | None = None
        self.n_offsets = self.risk.offsets.size if intercept else 0
        if self.n_offsets and (why := self.risk.unattained()):
            raise UnboundedProblem(f"{self.loss!r} with an intercept has no minimum: {why}")

    def take(self, rows: Any) -> "Problem":
        """The same problem on some of the samples."""
        known = self.offset.reshape(len(self.y), -1)[rows] if self.shifted else None
        return Problem(
            self.design.take(rows), self.y[rows], self.loss, self.penalty, self.alpha, self.weight[rows],
            self.n_offsets > 0, known, None if self.groups is None else self.groups[rows],
        )  # fmt: skip

    def at(self, alpha: float) -> "Problem":
        """The same problem with another alpha; the data are shared."""
        other = copy(self)
        other.alpha = _positive_alpha(alpha)
        vars(other).pop("scale", None)
        return other

    def form(self, kind: type[F]) -> F:
        """The problem in a form that one of its parts has: for solvers that declare that they need it."""
        for part in self._parts(kind):
            if (found := part.form(kind)) is not None:
                return found
        raise IncompatibleSolver(f"the solver needs {lacking(self, kind)}")

    def has(self, kind: type) -> bool:
        """Has a part of the problem this form?"""
        return any(part.has(kind) for part in self._parts(kind))

    def _parts(self, kind: type) -> tuple[HasForms, ...]:
        """Those that may have this form."""
        parts: dict[str, HasForms] = {"loss": self.risk, "penalty": self.penalty, "design": self.design}
        return (parts[part],) if (part := part_of(kind)) is not None else tuple(parts.values())

    @cached_property
    def mean(self) -> Slope:
        """The mean row, weighted; side by side if samples have several scores."""
        return self.design.adjoint(np.repeat(self.weight / self.weight.sum(), self.risk.outputs))

    @cached_property
    def distances(self) -> Vector:
        """Of the rows from their mean if there are offsets, else from zero; in the penalty's dual norm."""
        centre = self.mean if self.n_offsets else np.zeros(self.design.shape[1])
        return self.design.distances(self.penalty, centre)

    def known_scores(self, w: Slope) -> Vector:
        """What the rows score at w, without offset; the last w is remembered."""
        if self._scored is None or self._scored[0] is not w:
            self._scored = w, self.design.scores(w)
        return self._scored[1]

    def start(self) -> Slope:
        """The minimiser of the penalty."""
        return self.penalty.argmax(np.zeros(self.design.shape[1]))

    @cached_property
    def at_zero(self) -> Balanced:
        """The tangent at w = 0, where nearly every fit begins."""
        return self.tangent(self.offset)

    @cached_property
    def scale(self) -> float:
        """How large the risk is at w = 0 with its best offsets: the unit of absolute tolerances.

        It may vanish there. So it counts as no less than 6.4e13 times its rounding at the minimiser of the
        penalty: a tolerance of 1e-12 is 64 times that. And where the risk has no lower bound, as no less than
        what a tangent could lower J by if its terms did not cancel, (sum |u_i| |x_i|)^2 / (2 alpha).
        """
        at, rest = self.at_zero, self.start()
        size = abs(at.value)
        if size < _SMALL:  # else rounding is less
            b = self.best(rest, np.zeros(self.n_offsets))[1]
            size = max(size, 6.4e13 * self._risk_above(rest, b, None, exact=False).error)
        if np.isinf(self.risk.infimum) and self.penalty.modulus > 0:
            size = max(size, self.design.reach(at.u) ** 2 / (2 * self.alpha * self.penalty.modulus))
        return size if np.isfinite(size) else 0.0

    # -- upper bounds ---------------------------------------------------------------------------------

    def scores(self, w: Slope) -> Vector:
        """A w + offset."""
        scores = self.design.scores(w)
        if self.shifted:
            scores += self.offset
        return scores

    def evaluate(self, w: Slope, b: Vector) -> float:
        """J(w, b)."""
        return self._evaluate(w, b)[0]

    def _evaluate(self, w: Slope, b: Vector) -> tuple[float, Vector | None]:
        """J(w, b), and the scores of w if they were needed all at once."""
        omega = self.alpha * self.penalty.value(w)
        if not self.shifted:
            risk, known = self.design.risk(self.risk, w, b)
            return omega + risk, known
        scores = self.scores(w)
        return omega + self.risk.value_and_subgradient(scores, b)[0], scores

    def best(self, w: Slope, guess: Vector) -> tuple[float, Vector, Vector | None]:
        """J(w, b) at the best b, that b, and the scores of w if they were needed all at once."""
        if not w.any():
            at = self.at_zero
            return self.alpha * self.penalty.value(w) + at.value, at.b, self.offset
        if not self.n_offsets:
            value, scores = self._evaluate(w, np.zeros(0))
            return value, np.zeros(0), scores
        scores = self.scores(w)
        risk, b = best_offsets(self.risk, scores, guess)
        return self.alpha * self.penalty.value(w) + risk, b, scores

    def oracle(self, w: Slope, guess: Vector | None = None) -> Oracle:
        """The risk at w, minimised over b, and a minorant that is tight there."""
        scores = self.scores(w)
        at = self.tangent(scores, guess)
        return Oracle(at.value, self.minorant(at, scores), scores, at.b)

    def tangent(self, scores: Vector, guess: Vector | None = None) -> Balanced:
        """At given scores, minimised over b: the risk, a balanced subgradient u, the height of the tangent
        it belongs to (the risk, up to rounding), b, and what rounding has left of the slopes in b."""
        if not self.n_offsets:
            none = np.zeros(0)
            risk, u, _ = self.risk.value_and_subgradient(scores, none)
            return Balanced(risk, u, risk, none, None)
        return minimise_offsets(self.risk, scores, np.zeros(self.n_offsets) if guess is None else guess)

    # -- lower bounds ---------------------------------------------------------------------------------

    def minorant(self, at: Balanced | Any, scores: Vector) -> Minorant:
        """The cut that is tight at these scores; `at` is what `tangent` has found there, or a record that has
        its u, height, b and left."""
        if not (np.isfinite(at.height) and np.isfinite(at.u).all()):
            return self.nothing()  # the risk overflows there
        made = self._made(at.u, self._height(at.u, at.height, scores, at.b), "cuts", at.b, at.left)
        if self._steepest is None:
            return made
        return made._replace(spread=made.spread + gamma(self.risk.roundings(scores)) * self._steepest)

    @cached_property
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
        size += float(np.abs(u) @ (np.abs(scores) + np.abs(own))) + self.risk.constants(u)
        return Estimate(c, gamma(SUM + self.risk.roundings(scores)) * size)

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
        if not np.isfinite(u).all():
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

    def accumulated(self, u: Vector, c: Estimate, spread: float) -> Minorant:
        """The minorant of a mean of planes that a solver has summed up: their mean slope u in the scores, off
        by what moves A'u by at most `spread`, and their mean height c where all scores are zero."""
        known = plain_sum(u * self.offset)
        at_zero = Estimate(c.value + known.value, c.error + known.error)
        made = self._made(u, at_zero, "accumulated", np.zeros(self.n_offsets), None)
        return made._replace(spread=made.spread + spread)

    def claimed(self, u: Vector, a: Slope, c: float) -> Minorant:
        """The minorant of a dual point whose product A'u and height a solver has at hand. It serves until the
        fit ends: what is reported rests on u alone."""
        known = float((u * self.offset).sum()) if self.shifted else 0.0
        noise = gamma(2 * SUM) * (abs(c) + abs(known) + float(np.abs(u).sum()))
        if self.risk.has(Conjugate):
            noise += self.risk.conjugate_above(u, exact=False).error
        size, spread, none = self.design.length(a), 2 * self.design.spread(u), np.zeros(self.n_offsets)
        if self.n_offsets:
            left = self.risk.imbalance(u)
            more = self._unbalanced(abs(left.e) + left.error, c, size)
            noise, spread = noise + more[0], spread + more[1]
        return Minorant(
            a, none, c + known, "conjugate", noise, spread, size, u=u, maker=self.maker, made=False
        )

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
            u, balanced, e = self.reserve.balanced(u, at, left.e)
            noise += 8 * UNIT * (abs(height) + abs(at) + abs(balanced))
            noise += float(left.error @ abs(self.reserve.b - b))
            height, rest = balanced, abs(e) + 8 * UNIT * abs(left.e) + left.error
        a, spread = self._slope(u, exact)
        size = self.design.length(a)
        error = self.risk.dual_error(u) if evidence == "conjugate" else None
        if error is not None:
            spread += self.design.reach(error)
        more = self._unbalanced(rest, height, size)
        noise, spread = noise + more[0], spread + more[1]
        keep = u if evidence == "conjugate" or u.size <= _KEPT else None
        return Minorant(
            a, np.zeros(self.n_offsets), height, evidence, noise, spread, size, keep, self.maker, True
        )

    def _unbalanced(self, rest: Vector, height: float, size: float) -> tuple[float, float]:
        """What it costs in height, and in length of the slope, to take the rest of the slopes in b away."""
        if not rest.any():
            return 0.0, 0.0
        reserve, there = self.reserve, rest > 0
        share = float(rest[there] @ reserve.price[there])
        noise = share * (abs(height) + 2 * reserve.height) + float(rest @ abs(reserve.b))
        return noise, share * (size + self.design.reach(reserve.u))

    def _slope(self, u: Vector, exact: bool) -> tuple[Slope, float]:
        """A'u, and how far it may be from the exact one."""
        precise = self.design.precise_adjoint(u) if exact else None
        if precise is None:
            return self.design.adjoint(u), self.design.spread(u)
        a = precise.high + precise.low
        return a, length(precise.slack + UNIT * np.abs(a))

    @cached_property
    def reserve(self) -> Reserve:
        """What balances dual points exactly."""
        return reserve_of(self.risk, self.offset, self.at_zero)

    def zero_plane(self) -> Minorant | None:
        """The trivial minorant R >= infimum, if the risk is bounded below."""
        if not np.isfinite(self.risk.infimum):
            return None
        n, d = self.design.shape
        c, none = self.risk.infimum, np.zeros(self.n_offsets)
        noise = gamma(SUM) * max(abs(c), 1.0) if c else 0.0  # zero is exact, anything else computed
        u = np.zeros(n) if n <= _KEPT else None
        return Minorant(np.zeros(d), none, c, "conjugate", noise, u=u, maker=self.maker)

    def nothing(self) -> Minorant:
        """A minorant that proves nothing: where the risk overflows, or has no minimum."""
        n_weights = self.design.shape[1]
        return Minorant(np.zeros(n_weights), np.zeros(self.n_offsets), -np.inf, "none", maker=self.maker)

    def feasible(self, minorant: Minorant, *, proved: bool = True) -> Minorant:
        """The minorant mixed with the zero plane just so much that its lower bound is finite; if `proved`,
        finite whatever rounding has done to its slope."""
        if self.penalty.modulus > 0:
            return minorant  # then every plane has a finite one
        mu, zero, alpha = minorant.a / -self.alpha, self.zero_plane(), self.alpha
        spread = minorant.spread if proved else 0.0
        if zero is None or self.penalty.shrinkage(mu, spread / alpha) == 1.0:
            return minorant
        spread += gamma(64) * minorant.size if proved else 0.0  # the mixture is rounded, too
        return mix(zero, minorant, self.penalty.shrinkage(mu, spread / alpha))

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
        value = minorant.c - alpha * conjugate.value
        if not np.isfinite(value):
            return Estimate(-np.inf, 0.0)
        size = abs(minorant.c) + alpha * abs(conjugate.value)
        error = minorant.noise + alpha * conjugate.error + gamma(_WEIGHTS) * size
        return Estimate(value, error) if np.isfinite(error) else Estimate(-np.inf, 0.0)

    def most(self, w: Slope, b: Vector, scores: Vector | None = None, *, exact: bool = False) -> Estimate:
        """J(w, b), with an error that counts all rounding; `scores` are A w + offset, where known."""
        omega = self.penalty.value_above(w, exact=exact)
        if omega.below <= 0 and self.penalty.least_is_zero and np.array_equal(w, self.start()):
            omega = Estimate(0.0, 0.0)  # at its minimiser, whatever rounding makes of it
        risk = self._risk_above(w, b, scores, exact=exact)
        value = self.alpha * omega.value + risk.value
        if not np.isfinite(value):
            return Estimate(np.inf, 0.0)
        size = self.alpha * abs(omega.value) + abs(risk.value)
        return Estimate(value, self.alpha * omega.error + risk.error + gamma(_WEIGHTS) * size)

    def _risk_above(self, w: Slope, b: Vector, scores: Vector | None, *, exact: bool) -> Estimate:
        stray = self.penalty.astray(w) * self.design.largest  # what a weight outside the domain may add
        precise = self.design.precise_scores(w) if exact else None
        if precise is not None:
            high, rest = two_sum(precise.high, self.offset)
            low, slack = precise.low + rest, precise.slack + UNIT * np.abs(precise.low)
            return self.risk.value_above(high, low, b, slack + stray)
        if scores is None and not self.shifted:
            return self.design.risk_above(self.risk, w, b, stray)
        scores = self.scores(w) if scores is None else scores
        slack = self.design.slack(w) + stray
        if self.shifted:  # the sum with the offset is rounded too
            slack = slack + UNIT * np.abs(scores)
        return self.risk.value_above(scores, np.zeros_like(scores), b, slack)

    def minimiser(self, minorant: Minorant) -> Slope:
        """The w that minimises alpha * Omega + the minorant."""
        return self.penalty.argmax(minorant.a / -self.alpha)

    def fingerprint(self) -> str:
        """What minorants depend on: problems with equal fingerprints can share them, whatever alpha is.

        By the bytes of all data, read anew at each call: data that were changed in place are noticed.
        """
        if self._sealed is not None:
            return self._sealed
        known = self.offset if self.shifted else None
        return fingerprint(
            self.design.digest(), self.y, self.weight, known, self.groups, self.n_offsets, self.loss
        )

    def sealed(self) -> "Problem":
        """The same problem, for who promises that its data stay as they are: they are not read again for
        their fingerprint, whatever alpha follows."""
        other = copy(self)
        other._sealed = self.fingerprint()
        return other

    def inner(self, a: Slope, other: Slope) -> float:
        """<a, other> in the dual metric of a quadratic penalty."""
        return self.design.inner(a, self.penalty.argmax(other))


def _positive_alpha(alpha: Any) -> float:
    number = as_number("alpha", alpha)
    if not 0 < number < np.inf:
        raise ValueError(f"alpha must be positive and finite, got {alpha!r}")
    return number


def _known(offset: Any, n: int, present: Indices, scores: int) -> Vector:
    """The known part of the scores, given for n samples of which some are present."""
    if offset is None:
        return np.zeros(scores)
    columns = [as_column("offset", column, n) for column in np.atleast_2d(np.asarray(offset).T)]
    if len(columns) * len(present) != scores:
        raise ValueError(
            f"offset has shape {np.shape(offset)}, and the loss {scores // len(present)} scores a sample"
        )
    return np.stack(columns, axis=1)[present].ravel()
