"""The group lasso as a sum over groups of columns.

Sweeps go group by group: the model is replaced by one that bends equally in all directions of the group, as
much as it does in any, and the norm then shortens a step or sets the whole group to zero. Among groups that
are not zero the norm has second derivatives, and Newton's method goes on: a handful of steps to the minimum.
"""

from functools import cached_property
from typing import Any

import numpy as np

from gapfit._types import Indices, Matrix, Slope, Vector
from gapfit.penalties.forms import Grouped
from gapfit.penalties.groups import Partition
from gapfit.problem import Problem
from gapfit.solvers.columns.bend import GroupBend

_STEPS = 12  # of Newton's method, at most
_FINER = 0.1  # of the tolerance: then derivatives are small enough
_HALVINGS = 60  # of a segment, in which a slope is to vanish
_LEVEL = 1e-3  # of the first slope: there a search ends
_SHORT = 0.5  # of a step: a search that ends sooner has met a norm's kink


class GroupTerms:
    """alpha * Omega(w) = sum over groups of strength_g |w_g| + l2 |w|^2 / 2."""

    selects = True

    def __init__(self, groups: Indices, strength: Vector, l2: float) -> None:
        names, codes = np.unique(groups, return_inverse=True)
        self.part, self.strength, self.l2 = Partition(codes), strength[names], l2

    @classmethod
    def of(cls, problem: Problem) -> "GroupTerms":
        groups, strength, l2 = problem.form(Grouped)
        return cls(groups, problem.alpha * strength, problem.alpha * l2)

    @property
    def lower(self) -> Vector:
        return np.full(len(self.part.codes), -np.inf)

    @property
    def upper(self) -> Vector:
        return np.full(len(self.part.codes), np.inf)

    def take(self, columns: Indices) -> "GroupTerms":
        """Those of some columns, of which whole groups are there."""
        return GroupTerms(self.part.codes[columns], self.strength, self.l2)

    def value(self, w: Slope) -> float:
        """alpha * Omega(w)."""
        return float(self.strength @ self.part.norms(w)) + 0.5 * self.l2 * float(w @ w)

    def changes(self, w: Slope, target: Slope) -> Vector:
        """How much the penalty grows from w to the target, also where that is little, by coordinates."""
        both = self.part.norms(w) + self.part.norms(target)
        steep = self.strength / np.where(both > 0, both, 1.0)
        return np.asarray((steep[self.part.codes] + 0.5 * self.l2) * (target - w) * (target + w))

    def slope(self, w: Slope, way: Slope) -> float:
        """How fast alpha * Omega grows along the way from w."""
        norms, dots = self.part.norms(w), self.part.sums(w * way)
        grow = np.where(norms > 0, dots / np.where(norms > 0, norms, 1.0), self.part.norms(way))
        return float(self.strength @ grow) + self.l2 * float(w @ way)

    def urges(self, a: Slope, w: Slope) -> Vector:
        """The slope of J downhill in each group, as the number of each of its columns. Where there is none
        the number is negative: by how much the norm of derivatives could grow until there is."""
        norms = self.part.norms(w)
        steep = np.where(norms > 0, self.strength, 0.0) / np.where(norms > 0, norms, 1.0)
        left = self.part.norms(a + (steep[self.part.codes] + self.l2) * w)
        return np.asarray(np.where(norms > 0, left, left - self.strength)[self.part.codes])

    def within_reach(self, most: Slope) -> Any:
        """Whose derivatives, of this size at most, could move a group from zero."""
        return (self.part.norms(most) >= self.strength)[self.part.codes]

    def whole(self, chosen: Any) -> Any:
        """The groups of those chosen."""
        return (np.bincount(self.part.codes, chosen, len(self.strength)) > 0)[self.part.codes]

    def signs(self, w: Slope) -> Any:
        """Which groups are not zero."""
        return self.part.norms(w) > 0

    @cached_property
    def _layout(self) -> Any:
        from gapfit.compiled.groups import Groups

        edges = np.append(self.part.starts, len(self.part.codes))
        return Groups(self.part.order, edges, self.strength, self.l2)

    def sweep(self, columns: Any, chosen: Indices, model: Any, w: Slope, shift: float) -> tuple[float, float]:
        """See `compiled.groups.sweep_groups`."""
        from gapfit.compiled.groups import sweep_groups

        worst, shift = sweep_groups(columns, chosen, model, self._layout, w, shift)
        return float(worst), float(shift)

    def sweep_matrix(self, H: Matrix, w: Slope, a: Slope) -> float:
        """See `compiled.groups.sweep_group_matrix`."""
        from gapfit.compiled.groups import sweep_group_matrix

        return float(sweep_group_matrix(H, w, a, self._layout))

    def glide(self, form: Any, w: Slope, tolerance: float) -> bool:
        """Newton's method among the groups that are not zero; did the kink of one stop it?"""
        for _ in range(_STEPS):
            norms = self.part.norms(w)
            smooth = np.flatnonzero(norms[self.part.codes] > 0)
            if not len(smooth):
                return False
            here = GroupTerms(self.part.codes[smooth], self.strength, self.l2)
            codes, inside = here.part.codes, w[smooth]
            unit = inside / norms[self.part.codes[smooth]]
            derivatives = form.derivatives(smooth)
            gradient = derivatives + here.strength[codes] * unit + self.l2 * inside
            if float(here.part.norms(gradient).max(initial=0.0)) <= _FINER * tolerance:
                return False
            across = here.strength[codes] / norms[self.part.codes[smooth]]
            bend = GroupBend(self.l2, codes, across, unit)
            way = form.solve(smooth, bend, -gradient, tolerance, _never)
            if not np.isfinite(way).all():
                return False  # beyond single precision; sweeps are not
            image = form.image(smooth, way)
            straight = float(derivatives @ way), form.bend(smooth, way, image)
            length = here._lowest(inside, way, *straight)
            form.go(smooth, length * way, length * image)
            w[smooth] = inside + length * way
            if length < _SHORT:
                return True
        return True

    def _lowest(self, w: Slope, way: Slope, slope: float, bend: float) -> float:
        """How far along the way, at most all of it, a parabola of this slope falls with the penalty."""
        r, p, q = (self.part.sums(x) for x in (w * w, w * way, way * way))
        slope, bend = slope + self.l2 * float(p.sum()), bend + self.l2 * float(q.sum())

        def grows(t: float) -> float:
            norms = np.sqrt(np.maximum(r + t * (2 * p + t * q), 0.0))
            rates = (p + t * q) / np.where(norms > 0, norms, 1.0)
            return slope + t * bend + float(self.strength @ rates)

        first, low, high = abs(grows(0.0)), 0.0, 1.0
        if grows(1.0) <= _LEVEL * first:
            return 1.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            there = grows(middle)
            if abs(there) <= _LEVEL * first:
                return middle
            low, high = (low, middle) if there > 0 else (middle, high)
        return low


def _never(way: Slope) -> bool:
    return False
