"""Many problems of one kind, and bounds of all their optima at once:

    minimise over functions f and b:   J_k(f, b) = alpha_k / 2 |f|^2 + sum of p_i phi(y_i, f(x_i) + b)

over the samples i of the k-th part, where the loss phi is made of lines and the kernel matrix is kept. Each
is a `Problem`, and what is proved of it is what `Problem` would prove, by the same arithmetic (`proofs`); but
the sums that this needs are taken for all problems in a few calls of compiled code. One by one, small
problems cost many times their arithmetic.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from gapfit._types import Indices, Matrix, Vector
from gapfit.certify import judged
from gapfit.design.kernel import KeptGram, KernelDesign
from gapfit.losses.base import Loss
from gapfit.losses.piecewise import PiecewiseLoss, PiecewiseRisk
from gapfit.projections import filled, project_dual_box
from gapfit.proofs import attained, balanced, bounded, left_over, near_square, square, taken_away
from gapfit.rounding import EPS, TINY, UNIT, Estimate, gamma
from gapfit.solution import Certificate

_SAME = 4 * EPS  # of their length, up to which two functions differ by rounding


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

    apart = False  # are there two sums to be kept, those of the positive and of the negative coefficients?
    offsets = 1
    steps = 6000, 40  # on pairs, and for each sample if that is more, beyond which exact ones are better

    def __init__(self, K: Matrix, rows: Indices, sizes: Any, alpha: Vector, risk: PiecewiseRisk) -> None:
        self._about(K, rows, sizes, alpha, risk.loss, risk._dual_box)
        self.risk, self.kink = risk, risk.atoms.kink
        self.target = risk.atoms.sign * risk.atoms.lin

    def _about(
        self, K: Matrix, rows: Indices, sizes: Any, alpha: Vector, loss: Loss, box: tuple[Vector, Vector]
    ) -> None:
        from gapfit.compiled import blocks, machines  # compiled code is loaded only when it is to run

        self.compiled, self.K, self.rows, self.sizes = machines, K, rows, sizes
        self.alpha, self.loss = alpha, loss
        self.first = np.concatenate([[0], sizes.cumsum()])
        self.most = int(sizes.max())
        self.each_alpha = alpha.repeat(sizes)
        self.parts = blocks.Parts(rows, self.first, *_runs(rows, self.first))
        self.lower, self.upper = box
        self.lengths = np.sqrt(np.maximum(K.diagonal()[rows], 0.0)) * (1 + 8 * EPS)  # of the samples
        self.grown = 1 + gamma(self.most + 8)  # by which a sum over samples may be too small

    @classmethod
    def of(cls, design: KernelDesign, parts: Sequence[Part], loss: Loss, weight: Vector) -> Self | None:
        """The problems, if they are of this kind and a bound of each can be balanced."""
        kept = design.form(KeptGram)
        if kept is None or not isinstance(loss, PiecewiseLoss) or design.indefinite is not None:
            return None
        (rows, sizes), y, p = joined(parts, weight)
        loss.check_target(y)
        risk = PiecewiseRisk(loss, loss.atoms(y).weighted(p).whole(), y, p, loss.infimum)
        if risk.curved:
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
        low, high = self._below(self.lower), self._below(self.upper)
        least, most = low[2], high[2]  # their slopes in b
        if not ((least < 0).all() and (most > 0).all()):
            return False
        highest = np.maximum(np.abs(low[0]), np.abs(high[0]))  # where scores and b are zero
        reach = (low[5] + high[5]) * self.grown
        self.price, self.highest, self.reach_of_ends = self._of_each(
            1.01 / np.minimum(most, -least), highest, reach
        )
        return True

    def start(self) -> Vector:
        """Coefficients to begin with: zero, or where some of the slope in b is carried by no sample, what
        makes up for it."""
        total, first = self.risk.atoms.total, self.first
        if total == 0:
            return np.zeros_like(self.target)
        pieces = zip(self.alpha, pairwise(first), strict=True)
        return np.concatenate(
            [filled(-self.upper[a:b] / at, -self.lower[a:b] / at, total / at) for at, (a, b) in pieces]
        )

    def proved(self, w: Vector, u: Vector) -> Proved:
        """What the points w with their best offsets, and the dual points nearest to u, prove."""
        near = self._feasible(np.where(np.isfinite(u), u, 0.0))
        omega, upper, b = self._most(w)
        lower = self._least(near, w, omega)
        numbers = np.array([*upper, *lower]).reshape(4, -1).T.tolist()
        certificates = [
            judged(Estimate(most, above), Estimate(least, below), "conjugate", self.loss)
            for most, above, least, below in numbers
        ]
        return Proved(b, near, certificates)

    def scores(self, w: Vector) -> Vector:
        """K w, each problem's own part of it."""
        return self._squares(w)[1]

    def _feasible(self, u: Vector) -> Vector:
        """The nearest dual points that are feasible and balanced; most are near, and found in one call."""
        box, balance = (self.risk.p, self.lower, self.upper), (-self.risk.atoms.total, 4 * EPS)
        near, k = np.empty_like(u), -1
        while (k := self.compiled.project(self.parts, k + 1, u, *box, balance, near)) < len(self.sizes):
            here = slice(self.first[k], self.first[k + 1])
            p, lower, upper = (values[here] for values in box)
            near[here] = project_dual_box(u[here], lower, upper, p, balance[0])
        return near

    def _least(self, u: Vector, w: Vector, omega: Estimate) -> Estimate:
        """The lower bounds that the dual points u prove, as `Problem.minorant_at` and `Problem.least` do.

        Most of the minimisers mu = -u / alpha are the points w, whose squares are known, up to rounding.
        """
        conjugate, size, total, lost, lost_size, reach, moved = self._of_each(*self._below(u, w))
        alpha, sizes = self._of_each(self.alpha, self.sizes)
        reach, moved = reach * self.grown, moved * self.grown
        c = -conjugate
        noise = self.risk.sum_error(size, sizes) + UNIT * abs(c) + balanced(c, c, c)
        e = total + lost
        error = UNIT * abs(e) + gamma(self.most) * lost_size + sizes * (TINY * UNIT)
        share = self.price * left_over(e, e, error)
        more, spread = taken_away(share, c, self.highest, reach, self.reach_of_ends)
        spread = spread + gamma(4) * reach + sizes * TINY
        omega, moved = self._nearest(u, omega, moved, reach / alpha)
        square = near_square(omega, reach / alpha, spread / alpha + moved)
        return bounded(alpha, Estimate(c, noise + more), square)

    def _nearest(self, u: Vector, omega: Estimate, moved: Any, length: Any) -> tuple[Estimate, Any]:
        """The squares of points next to the minimisers of u, and how far they are from these: those of the
        points w, where rounding is all that is between them."""
        if np.any(moved > _SAME * length):
            return self._squares(u / -self.each_alpha)[0], 0.0
        return omega, moved

    def _most(self, w: Vector) -> tuple[Estimate, Estimate, Vector]:
        """1/2 |w|^2, J_k at the points w with their best offsets, as `Objective.most` says it, and these."""
        omega, scores, unit = self._squares(w)
        b = np.empty(len(self.alpha))
        alpha, sizes = self._of_each(self.alpha, self.sizes)
        known = (self.lengths, np.atleast_1d(unit), UNIT)
        sums = self._sums(3, self.compiled.above, self.risk.atoms, self.parts, (scores, b), known)
        value, size, rise = self._of_each(*sums)
        (offset,), total = self._of_each(b), self.risk.atoms.total
        error = self.risk.sum_error(size + 2 * abs(total * offset), sizes) + 1.01 * rise
        return omega, attained(alpha, omega, Estimate(value + total * offset, error)), b

    def _squares(self, w: Vector) -> tuple[Estimate, Vector, Any]:
        """1/2 w'Kw, the scores, and how far that of a sample of length one may be from the exact one."""
        scores = np.empty_like(w)
        sums = self._sums(3, self.compiled.products, self.K, self.parts, w, self.lengths, scores)
        dot, size, reach = self._of_each(*sums)
        length = reach * self.grown
        unit = gamma(self.most + 5) * 2 * length
        return square(dot, size, length * unit, self.most), scores, unit

    def _below(self, u: Vector, w: Vector | None = None) -> Matrix:
        at = (u, u if w is None else w, self.alpha, self.lengths)
        return self._sums(7, self.compiled.below, self.risk.atoms, self.parts, *at)

    def _sums(self, count: int, function: Any, *arguments: Any) -> Matrix:
        """So many sums for each problem, as compiled code writes them."""
        sums = np.empty((count, len(self.alpha)))
        function(*arguments, sums)
        return sums

    def _of_each(self, *vectors: Vector) -> Any:
        """Vectors with an entry for each problem; of one, numbers: with these Python is faster than NumPy."""
        return vectors if len(self.alpha) > 1 else [vector[0].item() for vector in vectors]


def joined(parts: Sequence[Part], weight: Vector) -> tuple[tuple[Indices, Any], Vector, Vector]:
    """The rows of all parts, one after the other, and how many each has; their targets, and their shares of
    the weight of a part."""
    sizes = np.array([len(part.target) for part in parts])
    rows: Indices = _in_line([part.rows for part in parts])
    y, each = _in_line([part.target for part in parts]), weight[rows]
    total = np.add.reduceat(each, sizes.cumsum() - sizes)
    return (rows, sizes), y, each / total.repeat(sizes)


def _in_line(vectors: list[Any]) -> Any:
    """One after the other; a single one is not copied."""
    return vectors[0] if len(vectors) == 1 else np.concatenate(vectors)


def _runs(rows: Indices, first: Any) -> tuple[Any, Any]:
    """Where runs of rows one after the other begin, and which of them each part has."""
    begins = np.ones(len(rows) + 1, dtype=bool)  # and one where all end
    np.not_equal(rows[1:], rows[:-1] + 1, out=begins[1:-1])
    begins[first] = True
    run = begins.nonzero()[0]
    return run, run.searchsorted(first)
