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
        self.target = np.zeros(len(y))
        self._about(K, rows, sizes, alpha, loss, self.target)
        self.sums, self.sides = nu_machines, nu_machines.Sides(y, p, 0.5 * loss.nu)
        self.least = nu_machines.set_up(self.sides, self.given, self.lower, self.upper, self.limits)

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
        return made if made.least * (1 - _ROOM) > made.sides.half else None

    def some(self, chosen: Any, places: Any) -> Self:
        sides = self.sides
        return type(self)(
            self.K, self.rows[places], self.sizes[chosen], self.alpha[chosen], self.loss,
            sides.y[places], sides.p[places],
        )  # fmt: skip

    def start(self) -> Vector:
        v: Vector = np.empty(len(self.rows))
        self.sums.begin(self.sides, self.parts, self.alpha, v)
        return v

    def margins(self, w: Vector) -> list[Margin]:
        """Those of the points w."""
        b, width, largest = np.empty((3, len(self.alpha)))
        margins = self.sums.Margins(b, width, largest)
        self.sums.put_margins(self.sides, self.given, w, np.empty_like(w), margins)
        return [Margin(*each) for each in zip(*map(np.ndarray.tolist, margins), strict=True)]

    def _feasible(self, u: Vector) -> Vector:
        """Inside of the box: `_bounds` sees to the sums."""
        return np.asarray(np.minimum(np.maximum(u, self.lower), self.upper))

    def _bounds(self, w: Vector, u: Vector) -> Any:
        """Of the points w, with the best margins. Shares that sums lack are added to the dual points."""
        found = self._unknown()
        self.sums.prove(self.sides, self.given, w, u, found)
        return found
