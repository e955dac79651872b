"""The objective, and what is known of it at a point:

    J(w, b) = alpha * Omega(w) + R(A w + offset, b).

An `Objective` checks its data, evaluates J and the tangents of R, eliminates the unpenalised offset b, and
says how far the J that was computed may be from the exact one. `problem.py` has the bounds from below.
"""

from copy import copy
from functools import cached_property
from itertools import count
from math import isfinite
from typing import Any, NamedTuple, Self

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.cached import OfTheData
from gapfit.checks import agreed_groups, as_groups, as_offset, as_weights, check_sizes
from gapfit.design.base import Design
from gapfit.design.given import unpacked
from gapfit.design.memory import as_design
from gapfit.elsewhere import fetched
from gapfit.errors import IncompatibleSolver, UnboundedProblem, as_positive
from gapfit.fingerprint import fingerprint
from gapfit.forms import F, HasForms, lacking, part_of
from gapfit.losses.base import Loss
from gapfit.offset import Balanced, best_offsets, minimise_offsets, where_least
from gapfit.penalties import Penalty
from gapfit.proofs import attained
from gapfit.registry import as_loss, as_penalty
from gapfit.rounding import UNIT, Estimate, length, two_sum
from gapfit.rowwise import once, shares

_SMALL = 1e-3  # a risk that rounding may be a part of
_makers = count(1)


class AtZero(NamedTuple):
    """What is known of the risk at w = 0."""

    value: float  # at the best offsets
    b: Vector
    reach: float  # of a tangent there, in w; only where the risk has no lower bound


class Objective:
    """alpha * Omega(w) + R(A w + offset, b), b of size zero without intercept. Parameters as of `Problem`."""

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
        self.alpha = float(as_positive("alpha", alpha))
        X, y, sample_weight, groups = unpacked(X, y, sample_weight, groups)
        design = as_design(X).with_vectors(anywhere=self.loss.anywhere)
        n = design.n_samples
        y = self.loss.as_target(design.given(y), n)
        weight = as_weights(design.given(sample_weight), n, like=y)
        groups = agreed_groups(design.groups, None if groups is None else as_groups(fetched(groups), n))
        present = np.flatnonzero(weight)  # weight zero equals absence
        if len(present) < n:
            design, y, weight = design.keeping(present), y[present], weight[present]
            groups = None if groups is None else groups[present]
        y, weight = design.held(y), design.held(weight)
        self.risk = self.loss.bind(y, weight, groups)
        if self.risk.outputs > 1:
            design = design.widened(self.risk.outputs)
        self.shifted = False
        if offset is not None:
            offset = as_offset(fetched(offset), n, present, design.shape[0])
            self.shifted = bool(offset.any())
        offset = design.zeros() if offset is None else design.held(offset)
        check_sizes(X=design.largest, y=y, offset=offset if self.shifted else 0.0)
        self.penalty.check(design.shape[1])
        self.penalty = design.penalty(self.penalty)
        self.design: Design = design
        self.dtype = design.dtype
        self.offset: Vector = offset
        self.weight: Vector = once(weight)
        self.risk.spare = design.cost is not None  # what is not in memory may have very many rows
        self.y: Vector = y
        self.groups = groups
        self._scored: tuple[Slope, Vector] | None = None
        self._sealed: str | None = None
        self.maker = next(_makers)  # by which minorants are known; problems of other alphas share it
        self.shared: dict[Any, Any] = {}  # what was computed of the data, at whatever alpha
        self.n_offsets = self.risk.offsets.size if intercept else 0
        if self.n_offsets and (why := self.risk.unattained()):
            raise UnboundedProblem(f"{self.loss!r} with an intercept has no minimum: {why}")

    def take(self, rows: Any) -> Self:
        """The same problem on some of the samples."""
        known = self.offset.reshape(len(self.y), -1)[rows] if self.shifted else None
        return type(self)(
            self.design.take(rows), self.y[rows], self.loss, self.penalty, self.alpha, self.weight[rows],
            self.n_offsets > 0, known, None if self.groups is None else self.groups[fetched(rows)],
        )  # fmt: skip

    def tilted(self, more: Vector) -> Self:
        """The same problem with more of known offsets in the scores; the data are shared."""
        other = self.at(self.alpha)
        other.offset = self.offset + more
        other.shifted = bool(other.offset.any())
        check_sizes(offset=other.offset)
        other.maker, other._sealed, other._scored, other.shared = next(_makers), None, None, {}
        return other

    def at(self, alpha: float) -> Self:
        """The same problem with another alpha; the data are shared."""
        other = copy(self)
        other.alpha = float(as_positive("alpha", alpha))
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

    @OfTheData
    def mean(self) -> Slope:
        """The mean row, weighted; side by side if samples have several scores."""
        return self.design.adjoint(np.repeat(self.shares, self.risk.outputs))

    @OfTheData
    def shares(self) -> Vector:
        """Of the samples in the mean: their weights, divided by the sum."""
        return shares(self.weight)

    @OfTheData
    def distances(self) -> Vector:
        """Of the rows from their mean if there are offsets, else from zero; in the penalty's dual norm."""
        centre = self.mean if self.n_offsets else np.zeros(self.design.shape[1])
        return self.design.distances(self.penalty, centre)

    def known_scores(self, w: Slope) -> Vector:
        """What the rows score at w, without offset; the last w is remembered."""
        if self._scored is None or self._scored[0] is not w:
            self._scored = w, self.design.scores(w.astype(np.float64, copy=False))
        return self._scored[1]

    def remember(self, w: Slope, scores: Vector) -> None:
        """These are its scores, without offset, as they were computed."""
        self._scored = w, scores

    def start(self) -> Slope:
        """The minimiser of the penalty."""
        return self.penalty.argmax(np.zeros(self.design.shape[1]))

    @OfTheData
    def at_zero(self) -> AtZero:
        """The risk at w = 0, where nearly every fit begins."""
        at = self.tangent(self.offset)
        return AtZero(at.value, at.b, self.design.reach(at.u) if np.isinf(self.risk.infimum) else np.nan)

    @cached_property
    def scale(self) -> float:
        """How large the risk is at w = 0 with its best offsets: the unit of absolute tolerances.

        It may vanish there. So it counts as no less than 6.4e13 times its rounding at the minimiser of the
        penalty: a tolerance of 1e-12 is 64 times that. And where the risk has no lower bound, as no less than
        what a tangent could lower J by if its terms did not cancel: (sum |u_i| |x_i|)^2 / (2 alpha), or
        sum |u_i| |x_i| times the size of the box that w is in.
        """
        at, rest = self.at_zero, self.start()
        size = abs(at.value)
        if size < _SMALL:  # else rounding is less
            b = self.best(rest, np.zeros(self.n_offsets))[1]
            size = max(size, 6.4e13 * self.risk_above(rest, b, None, exact=False).error)
        if np.isinf(self.risk.infimum):
            size = max(size, self._fall(at.reach))
        return size if np.isfinite(size) else 0.0

    def _fall(self, reach: float) -> float:
        """How far J could fall along a tangent whose slope is so long; zero where that is not known."""
        if self.penalty.modulus > 0:
            return reach**2 / (2 * self.alpha * self.penalty.modulus)
        far = length(np.maximum(*np.abs(self.penalty.bounds(self.design.shape[1]))))
        return reach * far if far < np.inf else 0.0

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

    def best_offsets(self, w: Slope, guess: Vector) -> tuple[Vector, Vector | None]:
        """The best b at w, and the scores of w if they were needed for it."""
        if not self.n_offsets:
            return np.zeros(0), None
        scores = self.scores(w)
        return where_least(self.risk, scores, guess), scores

    def tangent(self, scores: Vector, guess: Vector | None = None) -> Balanced:
        """At given scores, minimised over b: the risk, a balanced subgradient u, the height of the tangent
        it belongs to (the risk, up to rounding), b, and what rounding has left of the slopes in b."""
        if not self.n_offsets:
            none = np.zeros(0)
            risk, u, _ = self.risk.value_and_subgradient(scores, none)
            return Balanced(risk, u, risk, none, None)
        return minimise_offsets(self.risk, scores, np.zeros(self.n_offsets) if guess is None else guess)

    def most(
        self, w: Slope, b: Vector, scores: Vector | None = None, *, exact: bool = False, slack: Any = None
    ) -> Estimate:
        """J(w, b), with an error that counts all rounding; `scores` are A w + offset, where known: computed
        as usual, or off by at most the slack."""
        omega = self.penalty.value_above(w, exact=exact)
        if omega.below <= 0 and self.penalty.least_is_zero and np.array_equal(w, self.start()):
            omega = Estimate(0.0, 0.0)  # at its minimiser, whatever rounding makes of it
        made = attained(self.alpha, omega, self.risk_above(w, b, scores, exact=exact, slack=slack))
        return made if isfinite(made.value) else Estimate(np.inf, 0.0)

    def risk_above(self, w: Slope, b: Vector, scores: Any, *, exact: bool, slack: Any = None) -> Estimate:
        stray = self.penalty.astray(w) * self.design.largest  # what a weight outside the domain may add
        precise = self.design.precise_scores(w) if exact else None
        if precise is not None:
            high, rest = two_sum(precise.high, self.offset)
            low, slack = precise.low + rest, precise.slack + UNIT * np.abs(precise.low)
            return self.risk.value_above(high, low, b, slack + stray)
        if scores is None and not self.shifted:
            return self.design.risk_above(self.risk, w, b, stray)
        scores = self.scores(w) if scores is None else scores
        slack = (self.design.slack(w) if slack is None else slack) + stray
        if self.shifted:  # the sum with the offset is rounded too
            slack = slack + UNIT * np.abs(scores)
        return self.risk.value_above(scores, np.zeros_like(scores), b, slack)

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

    def sealed(self, *, briefly: bool = False) -> Self:
        """The same problem, for who promises that its data stay as they are: they are not read again for
        their fingerprint, whatever alpha follows. Where nobody will compare it with another problem's, some
        name of its own will do, `briefly`, without reading them at all."""
        other = copy(self)
        other._sealed = f"problem {self.maker}" if briefly else self.fingerprint()
        return other

    def inner(self, a: Slope, other: Slope) -> float:
        """<a, other> in the dual metric of a quadratic penalty."""
        return self.design.inner(a, self.penalty.argmax(other))
