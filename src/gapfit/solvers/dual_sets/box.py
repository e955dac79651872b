"""Dual points of losses made of lines and parabolas: one number a sample, within bounds."""

from typing import Any

import numpy as np

from gapfit import threads
from gapfit._types import Vector
from gapfit.bracket import Bracket
from gapfit.elsewhere import looped, loops_of
from gapfit.losses.atoms import Atoms
from gapfit.losses.forms import Conjugate
from gapfit.problem import Problem
from gapfit.rounding import EPS
from gapfit.rowwise import SHORT, whole
from gapfit.solvers.dual_sets.base import DualSet, Line, Response

_BALANCED = 1e-10  # share of an excess that is not worth another pass
_SMALL = 3e-4  # share of an excess that the samples between their bounds can share: few others would follow
_NUDGES = 3  # shifts of the offset without another look, at most
_ROUGH = 1e-2  # share of an excess that is near enough to look further along a line
_NONE = 8 * EPS  # share of an excess that is rounding


class BoxSet(DualSet):
    """z = u, within bounds; h is made of lines and parabolas too."""

    def __init__(self, problem: Problem) -> None:
        from gapfit.compiled import dual_prox  # compiled code is loaded only when it is to run

        super().__init__(problem)
        self.compiled = dual_prox
        *atoms, self.total = problem.form(Atoms)
        sign, lin, _, _, lo, hi = atoms
        self.p, self.target = whole(problem.shares), sign * lin
        self.pieces = dual_prox.Pieces(*map(_once, (*atoms, self.p)))
        longest = max(self.pieces.quad, self.pieces.p, key=len)
        self.lengths, self.length = dual_prox.Lengths(np.empty_like(longest), np.empty_like(longest)), 0.0
        self.parts = threads.parts(len(self.p), 8 * len(self.p))
        self.centre = problem.form(Conjugate).project(np.zeros_like(self.p), balanced=problem.n_offsets > 0)
        lower, upper = np.where(sign > 0, -hi, lo), np.where(sign > 0, -lo, hi)
        self.range = upper - lower
        reach = np.maximum(np.abs(lower - self.centre), np.abs(upper - self.centre))
        self.spread = 0.5 * float((reach**2 / self.p).sum())

    def line(self, centre: Vector, scores: Vector, along: Vector, length: float) -> Line:
        return BoxLine(self, centre, scores, along, length)

    def slope(self, z: Vector) -> Vector:
        return z

    def blend(self, first: Vector, second: Vector, share: float) -> Vector:
        out: Vector = self.room()
        self.each(self.compiled.blend, first, second, share, out=(out,))
        return out

    def values(self, scores: Vector, b: Vector, z: Vector) -> tuple[float, float]:
        shift = float(b[0]) if b.size else 0.0
        loss, h = self.sums(self.compiled.values, self.pieces, scores, shift, z)
        return loss + self.total * shift, h

    def distance(self, z: Vector, other: Vector) -> float:
        return float(sum(self.each(self.compiled.distance, self.pieces.p, z, other)))

    def scale(self, length: float) -> None:
        """Prepare steps of such a length."""
        if self.length != length:
            looped(self.compiled.scales, self.p)(self.pieces, length, self.lengths)
            self.length = length

    def weigh(self, scores: Vector) -> Vector:
        return self.p * scores

    def width(self, scores: Vector) -> float:
        each = self.range / self.p
        range_ = float(self.p @ np.where(np.isfinite(each), each, 1.0))
        b = self.problem.tangent(scores).b
        off = float(self.p @ np.abs(scores + b.sum() - self.target))
        return off / range_ if off > 0 else 1.0


class BoxLine(Line):
    """The balanced steps have an offset that is a root of a non-decreasing piecewise linear function.

    Newton's method starts at the offset of the last step on this line, moved on by how it follows t.
    """

    def __init__(self, Q: BoxSet, centre: Vector, scores: Vector, along: Vector, length: float) -> None:
        super().__init__(Q, centre, scores, along, length)
        self.box, self.u, self.t = Q, Q.room(), 0.0
        self.b, self.follows = float(Q.b[0]) if Q.b.size else 0.0, 0.0

    def slope(self, t: float) -> float:
        start = self.b + self.follows * (t - self.t)
        self.t = t
        if not self.box.problem.n_offsets:
            return float(self._look(0.0)[3])
        excess, rate, _, work, cross = self._balance(start, _ROUGH)
        if rate <= 0:
            return work
        self.b, self.follows = self.b - excess / rate, -cross / rate
        return work + self.follows * excess  # as it will be once the sum is balanced

    def stop(self) -> Response:
        if self.box.problem.n_offsets:
            excess, rate, scale, _, _ = self.found
            if abs(excess) > _SMALL * scale:
                excess, rate, scale, _, _ = self._balance(self.b, _SMALL)
                self.b -= excess / rate if rate > 0 else 0.0
            for _ in range(_NUDGES):
                if abs(excess) <= _BALANCED * scale or rate <= 0:
                    break
                excess = self._nudge(-excess / rate)
            if abs(excess) > _BALANCED * scale:
                excess, _, scale, _, _ = self._balance(self.b, _BALANCED)
            if abs(excess) > _NONE * scale:
                looped(self.box.compiled.absorb, self.u)(self.box.pieces, excess, self.u)
            self.box.b = np.array([self.b])
        return Response(self.u, self.box.b)

    def _nudge(self, shift: float) -> float:
        """Follow a small shift of b without another look at the scores; returns the excess."""
        box = self.box
        box.scale(self.length)
        sums = box.each(box.compiled.nudge, box.pieces, box.lengths.gain, shift, out=(self.u,))
        return float(sum(sums)) + box.total

    def _balance(self, b: float, share: float) -> tuple[float, float, float, float, float]:
        """Write the step to u whose sum is too large by no more than a share of its terms, and find its b.

        Returns the excess, its derivative in b, the sum of its terms, <u, along>, and the derivative in t.
        """
        bracket = Bracket()
        while True:
            total, rate, size, work, cross = self._look(b)
            excess, scale = total + self.box.total, size + self.box.total
            self.b, self.found = b, (excess, rate, scale, work, cross)
            if abs(excess) <= share * scale:
                return self.found
            if (following := bracket.after(b, excess, rate)) is None:
                return self.found  # neighbouring floats: what is left is rounding
            b = following

    def _look(self, b: float) -> Any:
        box = self.box
        box.scale(self.length)
        line = box.compiled.Line(self.centre, self.scores, self.along)
        return box.sums(box.compiled.respond, box.pieces, box.lengths, line, self.t, b, out=(self.u,))


def _once(x: Vector) -> Vector:
    """An array of one number shortened to few entries, which stay in the cache."""
    if loops_of(x) is not None:
        return x
    return np.ascontiguousarray(x) if len(x) <= SHORT or (x != x[0]).any() else x[:SHORT].copy()
