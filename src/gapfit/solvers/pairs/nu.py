"""The dual of the nu machines, as pairwise solvers see it.

    minimise  1/2 v'Kv - <target, v>,   lower <= v <= upper,  sum of v+ = sum of v- = nu / (2 alpha)

Both of a pair are on one side of zero. The middles of the slopes on the two sides are the ends of the margin,
or of the tube: half their difference is its width. A tube may not be of negative width; where it would be,
its width is zero, and the two sums need only be equal.
"""

from math import isfinite

import numpy as np

from gapfit._types import Vector
from gapfit.design.kept import KeptColumns
from gapfit.losses.nu import TwoSums
from gapfit.problem import Problem
from gapfit.solvers.pairs.dual import Dual, Slopes

_CHANGES = 8  # of the sums that are kept, at most


class NuDual(Dual):
    """v, their scores, and the two sums."""

    KEPT = (*Dual.KEPT, "changes", "width")

    def __init__(self, problem: Problem, start: Vector | None) -> None:
        centre, p, above, below, half, self.tube = problem.form(TwoSums)
        self.half = half / problem.alpha
        self.target = centre - problem.offset
        self.kink = self.quad = np.zeros_like(self.target)
        self.least, self.most = np.zeros_like(p), np.zeros_like(p)
        self.least[above], self.most[below] = -p[above], p[below]
        self.lower, self.upper = self.least / problem.alpha, self.most / problem.alpha
        if start is not None:
            v = problem.minimiser(problem.minorant_at(-problem.alpha * start))
        else:  # where the driver has looked as well
            v = problem.risk.value_and_subgradient(problem.offset, np.zeros(0))[1] / -problem.alpha
        self.changes = 0
        self.sums = 1 if self.tube and np.abs(v).sum() < 2 * self.half * (1 - 1e-12) else 2
        self.width = 0.0
        self._begin(problem, v)

    def slopes(self) -> Slopes:
        """Relative to the middle of the side on which a variable would move."""
        if self.sums == 1:
            return super().slopes()
        v, G = self.v, self.gradient
        up, down = np.full_like(G, np.inf), np.full_like(G, -np.inf)
        middles, worst = [], 0.0
        for rising, falling in ((v >= 0, v > 0), (v < 0, v <= 0)):
            rising, falling = rising & (v < self.upper), falling & (v > self.lower)
            highest, lowest = G[falling].max(initial=-np.inf), G[rising].min(initial=np.inf)
            ends = [end for end in (highest, lowest) if isfinite(end)]
            middles.append(float(sum(ends)) / len(ends) if ends else 0.0)
            up[rising], down[falling] = G[rising] - middles[-1], G[falling] - middles[-1]
            worst = max(worst, highest - lowest)
        self.width = 0.5 * (middles[0] - middles[1]) * (-1 if self.tube else 1)
        if not self.tube:
            self.scale = abs(self.width) or self.scale  # of the margin
        return Slopes(up, down, 0.5 * worst, -0.5 * worst)

    def regroup(self, slopes: Slopes, columns: KeptColumns | None) -> bool:
        """A tube of negative width has none; one that holds more than nu allows has a width."""
        if not self.tube or self.changes >= _CHANGES:
            return False
        if self.sums == 2:
            if not self.width < -slopes.violation:
                return False
            self.sums = 1
        else:
            if np.maximum(self.v, 0.0).sum() <= self.half:
                return False
            v = self._cut(self.v) - self._cut(-self.v)
            if columns is None:
                self.v, self.f = v, self.design.scores(v).copy()
            else:
                self.move(np.arange(len(v)), v, columns)
            self.sums = 2
        self.changes += 1
        return True

    def _cut(self, v: Vector) -> Vector:
        """The largest of the positive v, up to half of what nu allows."""
        v = np.maximum(v, 0.0)
        order = np.argsort(-v, kind="stable")
        before = np.concatenate([[0.0], np.cumsum(v[order])[:-1]])
        out = np.zeros_like(v)
        out[order] = np.clip(self.half - before, 0.0, v[order])
        return out


def dual_of(problem: Problem, start: Vector | None) -> Dual:
    """The dual of a kernel machine."""
    return (NuDual if problem.has(TwoSums) else Dual)(problem, start)
