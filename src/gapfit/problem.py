"""The problem, and its mathematics, once:

    minimise over w and b:   J(w, b) = alpha * Omega(w) + R(A w + offset, b)

A `Problem` evaluates J, makes minorants of R (by a subgradient at a point, or from a dual point), eliminates
the unpenalised offset b, and turns a minorant into a lower bound of the optimum:

    min J >= min over w of  alpha * Omega(w) + <a, w> + c  =  c - alpha * Omega*(-a / alpha).
"""

from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Indices, Slope, Vector
from gapfit.checks import as_column, as_groups, as_weights
from gapfit.design.base import Design
from gapfit.design.memory import MemoryDesign, as_design
from gapfit.design.wide import WideDesign
from gapfit.errors import UnboundedProblem, as_number
from gapfit.fingerprint import fingerprint
from gapfit.losses.base import Loss
from gapfit.minorant import Minorant, mix
from gapfit.offset import best_offsets, minimise_offsets
from gapfit.penalties import Penalty
from gapfit.registry import as_loss, as_penalty

_EPS = float(np.finfo(float).eps)
_HUGE = 1e100


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
        if self.risk.outputs > 1 and isinstance(design, MemoryDesign):
            design = WideDesign(design, self.risk.outputs)
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
        self._centred: tuple[Slope, Vector] | None = None
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
        return other

    @property
    def memory(self) -> MemoryDesign:
        """The design, for solvers that declare that they need its rows."""
        assert isinstance(self.design, MemoryDesign)
        return self.design

    @cached_property
    def mean(self) -> Slope:
        """The mean row, weighted; side by side if samples have several scores."""
        return self.design.adjoint(np.repeat(self.weight / self.weight.sum(), self.risk.outputs))

    @cached_property
    def distances(self) -> Vector:
        """Of the rows from their mean if there are offsets, else from zero; in the penalty's dual norm."""
        centre = self.mean if self.n_offsets else np.zeros(self.design.shape[1])
        return self.design.distances(self.penalty, centre)

    def centred_scores(self, w: Slope) -> Vector:
        """What the rows score at w, less their mean if there are offsets; the last w is remembered."""
        if self._centred is None or self._centred[0] is not w:
            scores = self.design.scores(w)
            self._centred = w, scores - self.design.inner(self.mean, w) if self.n_offsets else scores
        return self._centred[1]

    def start(self) -> Slope:
        """The minimiser of the penalty."""
        return self.penalty.argmax(np.zeros(self.design.shape[1]))

    # -- upper bounds ---------------------------------------------------------------------------------

    def scores(self, w: Slope) -> Vector:
        """A w + offset."""
        scores = self.design.scores(w)
        if self.shifted:
            scores += self.offset
        return scores

    def evaluate(self, w: Slope, b: Vector) -> float:
        """J(w, b)."""
        if self.shifted:
            risk, _, _ = self.risk.value_and_subgradient(self.scores(w), b)
        else:
            risk = self.design.risk(self.risk, w, b)
        return self.alpha * self.penalty.value(w) + risk

    def best(self, w: Slope, guess: Vector) -> tuple[float, Vector]:
        """J(w, b) at the best b, and that b."""
        if not self.n_offsets:
            return self.evaluate(w, np.zeros(0)), np.zeros(0)
        risk, b = best_offsets(self.risk, self.scores(w), guess)
        return self.alpha * self.penalty.value(w) + risk, b

    def oracle(self, w: Slope, guess: Vector | None = None) -> Oracle:
        """The risk at w, minimised over b, and a minorant that is tight there."""
        scores = self.scores(w)
        risk, u, height, b = self.tangent(scores, guess)
        return Oracle(risk, self.minorant(u, height, scores), scores, b)

    def tangent(self, scores: Vector, guess: Vector | None = None) -> tuple[float, Vector, float, Vector]:
        """At given scores, minimised over b: the risk, a balanced subgradient u, the height of the tangent
        it belongs to (the risk, up to rounding), and b."""
        if not self.n_offsets:
            b = np.zeros(0)
            risk, u, _ = self.risk.value_and_subgradient(scores, b)
            return risk, u, risk, b
        return minimise_offsets(self.risk, scores, np.zeros(self.n_offsets) if guess is None else guess)

    # -- lower bounds ---------------------------------------------------------------------------------

    def minorant(self, u: Vector, height: float, scores: Vector) -> Minorant:
        """The minorant with balanced subgradient u that has this height at these scores."""
        c = height - float(u @ (scores - self.offset if self.shifted else scores))
        noise = 4 * _EPS * (abs(height) + float(np.abs(u) @ np.abs(scores)))
        return Minorant(self.design.adjoint(u), np.zeros(self.n_offsets), c, "cuts", noise)

    def minorant_at(self, u: Vector) -> Minorant:
        """The minorant of a dual point in score space, which is first made feasible and balanced."""
        u = self.risk.project_dual(u, balanced=self.n_offsets > 0)
        known, conjugate = float(u @ self.offset), self.risk.conjugate(u)
        noise = 4 * _EPS * (abs(known) + abs(conjugate))
        a = self.design.adjoint(u)
        return Minorant(a, np.zeros(self.n_offsets), known - conjugate, "conjugate", noise)

    def zero_plane(self) -> Minorant | None:
        """The trivial minorant R >= infimum, if the risk is bounded below."""
        if not np.isfinite(self.risk.infimum):
            return None
        return Minorant(
            np.zeros(self.design.shape[1]), np.zeros(self.n_offsets), self.risk.infimum, "conjugate"
        )

    def feasible(self, minorant: Minorant) -> Minorant:
        """The minorant mixed with the zero plane just so much that its lower bound is finite."""
        if self.penalty.modulus > 0:
            return minorant  # then every plane has a finite one
        keep = self.penalty.shrinkage(minorant.a / -self.alpha)
        zero = self.zero_plane()
        return minorant if keep == 1.0 or zero is None else mix(zero, minorant, keep)

    def dual(self, minorant: Minorant) -> float:
        """The lower bound on min J that the minorant proves: c - alpha * Omega*(-a / alpha)."""
        if minorant.e.any():
            return -np.inf  # it falls without bound in b
        return minorant.c - self.alpha * self.penalty.conjugate(minorant.a / -self.alpha)

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
