"""`Problems` of nu machines of two classes: width and offset are settled, and two sums fixed.

What is proved is what `Problem` would prove with `losses.nu.NuRisk`: from above the risk at the ends of the
two sums, from below the square of a dual point, whose shares of either side add up to nu / 2.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from gapfit._types import Indices, Matrix, Vector
from gapfit.design.kernel import KeptGram, KernelDesign
from gapfit.losses.base import Loss
from gapfit.losses.nu import NuHinge
from gapfit.problems import Part, Problems, joined
from gapfit.proofs import attained, bounded, near_square
from gapfit.rounding import EPS, TINY, Estimate, gamma

_ROOM = 1e-9  # by so much the weight of either side has to be more than its sum: others say what is wrong


class Margin(NamedTuple):
    """What follows from where the sums end."""

    b: float
    width: float  # half of it
    largest: float  # score


class NuProblems(Problems):
    """Problems about parts of the samples, whose offsets and widths are the best ones."""

    apart = True
    offsets = 0
    steps = 6000, 15  # exact ones settle a margin of next to no width, which is the rule where steps are many

    def __init__(
        self, K: Matrix, rows: Indices, sizes: Any, alpha: Vector, loss: Loss, y: Vector, p: Vector
    ) -> None:
        from gapfit.compiled import nu_machines

        assert isinstance(loss, NuHinge)
        box = np.where(y > 0, -p, 0.0), np.where(y > 0, 0.0, p)
        self._about(K, rows, sizes, alpha, loss, box)
        self.sums, self.sides = nu_machines, nu_machines.Sides(y, p, 0.5 * loss.nu)
        self.target = self.kink = np.zeros(len(y))

    @classmethod
    def of(cls, design: KernelDesign, parts: Sequence[Part], loss: Loss, weight: Vector) -> Self | None:
        """The problems, if they are of this kind and have solutions."""
        kept = design.form(KeptGram)
        if kept is None or type(loss) is not NuHinge or design.indefinite is not None:
            return None
        given, y, p = joined(parts, weight)
        loss.check_target(y)
        alpha = np.array([part.alpha for part in parts])
        made = cls(np.ascontiguousarray(kept.K), *given, alpha, loss, y, p)
        first = made.first[:-1]
        sides = [np.add.reduceat(np.where(y == sign, p, 0.0), first).min() for sign in (1.0, -1.0)]
        return made if min(sides) * (1 - _ROOM) > made.sides.half else None

    def some(self, chosen: Any, places: Any) -> Self:
        sides = self.sides
        return type(self)(
            self.K, self.rows[places], self.sizes[chosen], self.alpha[chosen], self.loss,
            sides.y[places], sides.p[places],
        )  # fmt: skip

    def start(self) -> Vector:
        v = np.empty(len(self.rows))
        self.sums.begin(self.sides, self.parts, self.alpha, v)
        return v

    def ends(self, scores: Vector) -> tuple[Matrix, Matrix]:
        """The margins at which the sums of either side end; the risk, and what was added up to it."""
        ends, sums = np.empty((2, 2, len(self.alpha)))
        room = np.empty((2, self.most))
        self.sums.above(self.sides, self.parts, scores, room, ends, sums)
        return ends, sums

    def margins(self, w: Vector) -> list[Margin]:
        """Those of the points w."""
        scores = self.scores(w)
        (right, left), _ = self.ends(scores)
        largest = np.maximum.reduceat(np.abs(scores), self.first[:-1])
        found = np.array([0.5 * (left - right), 0.5 * np.abs(left + right), largest])
        return [Margin(*each) for each in found.T.tolist()]

    def _feasible(self, u: Vector) -> Vector:
        """Inside of the box: `_least` sees to the sums."""
        return np.minimum(np.maximum(u, self.lower), self.upper)

    def _least(self, u: Vector, w: Vector, omega: Estimate) -> Estimate:
        known = self.alpha, self.lengths, np.empty(self.most)
        sums = self._sums(3, self.sums.below, self.sides, self.parts, u, w, *known)
        (off, reach, moved), (alpha, sizes) = self._of_each(*sums), self._of_each(self.alpha, self.sizes)
        reach, moved = reach * self.grown, moved * self.grown
        spread = (1.01 * off + gamma(4)) * reach + sizes * TINY
        omega, moved = self._nearest(u, omega, moved, reach / alpha)
        square = near_square(omega, reach / alpha, spread / alpha + moved)
        return bounded(alpha, Estimate(0.0 * alpha, 0.0 * alpha), square)

    def _most(self, w: Vector) -> tuple[Estimate, Estimate, Vector]:
        omega, scores, unit = self._squares(w)
        _, sums = self.ends(scores)
        risk, size = self._of_each(*sums)
        alpha, longest = self._of_each(self.alpha, np.maximum.reduceat(self.lengths, self.first[:-1]))
        rise = 2 * self.sides.half * longest * unit * (1 + 16 * EPS)  # if all scores are off by as much
        error = 1.01 * (gamma(self.most + 8) * size + rise)
        return omega, attained(alpha, omega, Estimate(risk, error)), np.zeros(len(self.alpha))
