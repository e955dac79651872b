"""Many problems of one kind, and bounds of all their optima at once:

    minimise over functions f and b:   J_k(f, b) = alpha_k / 2 |f|^2 + sum of p_i phi(y_i, f(x_i) + b)

over the samples i of the k-th part, where the loss phi is made of lines and the kernel matrix is kept. Each
is a `Problem`, and what is proved of it is what `Problem` would prove, by the same arithmetic (`proofs`); but
the sums that this needs are taken for all problems in a few calls of compiled code. One by one, small
problems cost many times their arithmetic.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from gapfit._types import Indices, Matrix, Vector
from gapfit.certify import judged
from gapfit.design.kernel import KeptGram, KernelDesign
from gapfit.losses.base import Loss
from gapfit.losses.piecewise import PiecewiseLoss, PiecewiseRisk
from gapfit.projections import project_dual_box
from gapfit.proofs import attained, balanced, bounded, left_over, near_square, square, taken_away
from gapfit.rounding import EPS, TINY, UNIT, Estimate, gamma
from gapfit.solution import Certificate


class Part(Protocol):
    """Some of the samples, their targets, and the weight of the penalty."""

    @property
    def rows(self) -> Any: ...

    @property
    def target(self) -> Vector: ...

    @property
    def alpha(self) -> float: ...


class Proved(NamedTuple):
    """What is proved of a point of each problem."""

    b: Vector  # the best offsets of these points
    u: Vector  # the dual points, feasible and balanced
    certificates: list[Certificate]


class Problems:
    """Problems about parts of the samples, each with an intercept.

    What belongs to samples stands in flat arrays, one problem after the other: the k-th has the places
    first[k] to first[k + 1].
    """

    def __init__(self, K: Matrix, rows: Indices, sizes: Any, alpha: Vector, risk: PiecewiseRisk) -> None:
        from gapfit.compiled import machines  # compiled code is loaded only when it is to run

        self.compiled, self.K, self.rows, self.sizes = machines, K, rows, sizes
        self.alpha, self.risk = alpha, risk
        self.first = np.concatenate([[0], np.cumsum(sizes)])
        self.most = int(sizes.max())
        self.each_alpha = np.repeat(alpha, sizes)
        self.parts = machines.Parts(rows, self.first, *_runs(rows, self.first))
        self.lower, self.upper = risk._dual_box
        self.lengths = np.sqrt(np.maximum(np.diagonal(K)[rows], 0.0)) * (1 + 8 * EPS)  # of the samples
        self.zeros = np.zeros(len(rows))

    @classmethod
    def of(cls, design: KernelDesign, parts: Sequence[Part], loss: Loss, weight: Vector) -> Self | None:
        """The problems, if they are of this kind and a bound of each can be balanced."""
        kept = design.form(KeptGram)
        if kept is None or not isinstance(loss, PiecewiseLoss) or design.indefinite is not None:
            return None
        sizes = np.array([len(part.target) for part in parts])
        rows: Indices = np.concatenate([part.rows for part in parts])
        y = np.concatenate([part.target for part in parts])
        total = np.add.reduceat(weight[rows], np.cumsum(sizes) - sizes)
        p = weight[rows] / np.repeat(total, sizes)
        loss.check_target(y)
        risk = PiecewiseRisk(loss, loss.atoms(y).weighted(p).whole(), y, p, loss.infimum)
        if risk.atoms.quad.any():
            return None
        made = cls(np.ascontiguousarray(kept.K), rows, sizes, np.array([part.alpha for part in parts]), risk)
        return made if made._can_be_balanced() else None

    def some(self, chosen: Any, places: Any) -> Self:
        """Some of the problems, and the places of their samples."""
        risk = self.risk
        other = type(self)(
            self.K, self.rows[places], self.sizes[chosen], self.alpha[chosen],
            PiecewiseRisk(risk.loss, risk.atoms.take(places), risk.y[places], risk.p[places], risk.infimum),
        )  # fmt: skip
        other._can_be_balanced()
        return other

    def _can_be_balanced(self) -> bool:
        """Are there planes that lean either way in b? Those at the ends of the boxes are the steepest."""
        if not (np.isfinite(self.lower).all() and np.isfinite(self.upper).all()):
            return False
        low, high = (
            self._sums(5, self.compiled.conjugates, self.risk.atoms, self.parts, end)
            for end in (self.lower, self.upper)
        )
        least, most = low[2], high[2]  # their slopes in b
        if not ((least < 0).all() and (most > 0).all()):
            return False
        self.price = 1.01 / np.minimum(most, -least)
        self.highest = np.maximum(np.abs(low[0]), np.abs(high[0]))  # where scores and b are zero
        self.reach_of_ends = self._reach(np.maximum(-self.lower, self.upper))
        return True

    def proved(self, w: Vector, u: Vector) -> Proved:
        """What the points w with their best offsets, and the dual points nearest to u, prove."""
        near = self._feasible(np.where(np.isfinite(u), u, 0.0))
        lower, (upper, b) = self._least(near), self._most(w)
        numbers = np.stack([*upper, *lower], axis=1).tolist()
        certificates = [
            judged(Estimate(most, above), Estimate(least, below), "conjugate", self.risk.loss)
            for most, above, least, below in numbers
        ]
        return Proved(b, near, certificates)

    def _feasible(self, u: Vector) -> Vector:
        """The nearest dual points that are feasible and balanced; most are near, and found in one call."""
        box, balance = (self.risk.p, self.lower, self.upper), (-self.risk.atoms.total, 4 * EPS)
        near, k = np.empty_like(u), -1
        while (k := self.compiled.project(self.parts, k + 1, u, *box, balance, near)) < len(self.sizes):
            here = slice(self.first[k], self.first[k + 1])
            p, lower, upper = (values[here] for values in box)
            near[here] = project_dual_box(u[here], lower, upper, p, balance[0])
        return near

    def _least(self, u: Vector) -> Estimate:
        """The lower bounds that the dual points u prove, as `Problem.minorant_at` and `Problem.least` do."""
        conjugate, size, total, lost, lost_size = self._sums(
            5, self.compiled.conjugates, self.risk.atoms, self.parts, u
        )
        c = -conjugate
        noise = self.risk.sum_error(size, self.sizes) + UNIT * abs(c) + balanced(c, c, c)
        e = total + lost
        error = UNIT * abs(e) + gamma(self.most) * lost_size + self.sizes * (TINY * UNIT)
        reach = self._reach(u)
        share = self.price * left_over(e, e, error)
        more, spread = taken_away(share, c, self.highest, reach, self.reach_of_ends)
        spread = spread + gamma(4) * reach + self.sizes * TINY
        mu = u / -self.each_alpha
        here, _, _ = self._squares(mu)
        conjugate_of_penalty = near_square(here, self._reach(mu), spread / self.alpha)
        return bounded(self.alpha, Estimate(c, noise + more), conjugate_of_penalty)

    def _most(self, w: Vector) -> tuple[Estimate, Vector]:
        """J_k at the points w with their best offsets, as `Objective.most` says it, and these."""
        omega, scores, slack = self._squares(w)
        b = self._best_offsets(scores)
        return attained(self.alpha, omega, self._risks(scores, slack, b)), b

    def _squares(self, w: Vector) -> tuple[Estimate, Vector, Vector]:
        """1/2 w'Kw, the scores, and how far these may be from the exact ones."""
        scores = np.empty_like(w)
        self.compiled.products(self.K, self.parts, w, scores)
        length = self._reach(w)
        unit = gamma(self.most + 5) * 2 * length  # of a sample of length one
        dot, size = self._sums(2, self.compiled.dots, self.parts, w, scores)
        slack = self.lengths * np.repeat(unit, self.sizes)
        return square(dot, size, length * unit, self.most), scores, slack

    def _reach(self, u: Vector) -> Vector:
        """Sums of |u_i| times the length of the sample."""
        sums = self._sums(2, self.compiled.dots, self.parts, u, self.lengths)
        return np.asarray(sums[1] * (1 + gamma(self.most + 8)))

    def _best_offsets(self, scores: Vector) -> Vector:
        room, ends = np.empty((2, 2 * self.most)), np.empty((2, len(self.alpha)))
        self.compiled.offsets(self.risk.atoms, self.parts, scores, room, *ends)
        finite = np.isfinite(ends)
        known = np.where(finite, ends, 0.0).sum(axis=0)
        return np.asarray(known / np.maximum(finite.sum(axis=0), 1))

    def _risks(self, scores: Vector, slack: Vector, b: Vector) -> Estimate:
        around = (scores, self.zeros, slack, UNIT)
        value, size, rise = self._sums(3, self.compiled.values, self.risk.atoms, self.parts, around, b)
        own = self.risk.atoms.total * b
        return Estimate(value + own, self.risk.sum_error(size + 2 * abs(own), self.sizes) + 1.01 * rise)

    def _sums(self, count: int, function: Any, *arguments: Any) -> Matrix:
        """So many sums for each problem, as compiled code writes them."""
        sums = np.empty((count, len(self.alpha)))
        function(*arguments, sums)
        return sums


def _runs(rows: Indices, first: Any) -> tuple[Any, Any]:
    """Where runs of rows one after the other begin, and which of them each part has."""
    begins = np.concatenate([[True], np.diff(rows) != 1])
    begins[first[:-1]] = True
    run = np.flatnonzero(begins)
    return np.append(run, len(rows)), np.append(np.searchsorted(run, first[:-1]), len(run))
