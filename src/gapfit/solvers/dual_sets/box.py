"""Dual points of losses made of lines and parabolas: one number a sample, within bounds."""

from typing import Any

import numpy as np

from gapfit import threads
from gapfit._types import Vector
from gapfit.problem import Problem
from gapfit.solvers.dual_sets.base import DualSet, Response

_BALANCED = 1e-12  # share of an excess that need not be searched away
_ROUNDING = 8 * float(np.finfo(float).eps)  # share of an excess that is none


class BoxSet(DualSet):
    """z = u, within bounds; h is made of lines and parabolas too."""

    def __init__(self, problem: Problem) -> None:
        from gapfit.kernels import dual_prox  # compiled code is loaded only when it is to run

        super().__init__(problem)
        self.kernels = dual_prox
        sign, lin, kink, quad, lo, hi, self.total = problem.risk.dual_atoms()
        p = problem.weight / problem.weight.sum()
        lower, upper = np.where(sign > 0, -hi, lo), np.where(sign > 0, -lo, hi)
        # zeros that nobody has written take no memory, and no time to read
        kink, quad = (x if x.any() else np.zeros_like(x) for x in (kink, quad))
        self.pieces = (sign * lin, kink, quad, lower, upper, p)
        self.parts = threads.parts(len(p), 8 * len(p))
        self.centre = problem.risk.project_dual(np.zeros_like(p), balanced=problem.n_offsets > 0)
        reach = np.maximum(np.abs(lower - self.centre), np.abs(upper - self.centre))
        self.spread = 0.5 * float((reach**2 / p).sum())

    def step(self, centre: Vector, scores: Vector, length: float) -> Response:
        u = np.empty_like(scores)
        if not self.problem.n_offsets:
            self._respond(centre, scores, length, 0.0, u)
            return Response(u, self.b)
        b, up, down = self._root(centre, scores, length, u)
        if up != 1.0 or down != 1.0:
            scale, lower = self.kernels.scale_sides, self.pieces[3]
            threads.each(lambda rows: scale(lower, up, down, rows.start, rows.stop, u), self.parts)
        self.b = np.array([b])
        return Response(u, self.b)

    def slope(self, z: Vector) -> Vector:
        return z

    def values(self, scores: Vector, b: Vector, z: Vector) -> tuple[float, float]:
        shift = float(b.sum())
        arrays = (self.pieces, scores, shift, z)
        sums = threads.each(lambda rows: self.kernels.values(*arrays, rows.start, rows.stop), self.parts)
        loss, h = np.sum(sums, axis=0)
        return float(loss) + self.total * shift, float(h)

    def distance(self, z: Vector, other: Vector) -> float:
        arrays = (self.pieces[-1], z, other)
        sums = threads.each(lambda rows: self.kernels.distance(*arrays, rows.start, rows.stop), self.parts)
        return float(sum(sums))

    def weigh(self, scores: Vector) -> Vector:
        return np.asarray(self.pieces[-1] * scores)

    def width(self, scores: Vector) -> float:
        target, _, _, lower, upper, p = self.pieces
        range_ = (upper - lower) / p
        range_ = float(p @ np.where(np.isfinite(range_), range_, 1.0))
        b = self.problem.tangent(scores)[3]
        off = float(p @ np.abs(scores + b.sum() - target))
        return off / range_ if off > 0 else 1.0

    def _root(self, centre: Vector, scores: Vector, length: float, u: Vector) -> tuple[float, float, float]:
        """Write the balanced proximal step to u. Returns its b, a root of a non-decreasing piecewise linear
        function, and factors next to one for the positive and negative parts, to balance what b leaves.

        Newton's method within a bracket, which is halved where a step has not halved the excess.
        """
        b, left, right, before, out = float(self.b[0]), -np.inf, np.inf, np.inf, 1.0
        while True:
            total, slope, size = self._respond(centre, scores, length, b, u)
            excess = total + self.total
            left, right = (left, b) if excess > 0 else (b, right)
            slow, before = abs(excess) > 0.5 * before, abs(excess)
            new = b - excess / slope if slope > 0 else np.nan
            if right - left < np.inf and (slow or not left < new < right):
                new = 0.5 * (left + right)
            elif not left < new < right:
                new, out = b - np.copysign(out, excess), 2 * out
            exact = abs(excess) <= _BALANCED * (size + self.total)
            if exact or not left < new < right:  # neighbouring floats: what is left is rounding
                break
            b = new
        if abs(excess) <= _ROUNDING * (size + self.total):
            return b, 1.0, 1.0
        if excess > 0 and self.total == 0:
            return b, 1.0 - 2 * excess / (size + total), 1.0
        return b, 1.0, 1.0 + 2 * excess / (size - total)

    def _respond(self, centre: Vector, scores: Vector, length: float, b: float, u: Vector) -> Any:
        arrays = (self.pieces, centre, scores, length, b)
        sums = threads.each(lambda rows: self.kernels.respond(*arrays, rows.start, rows.stop, u), self.parts)
        return np.sum(sums, axis=0)
