"""Dual points of the multiclass margin loss: shares of the classes, a simplex for each sample."""

from typing import Any

import numpy as np

from gapfit import threads
from gapfit._types import Matrix, Vector
from gapfit.losses.multiclass import MarginSimplices, transport
from gapfit.losses.vector import one_hot
from gapfit.problem import Problem
from gapfit.rounding import EPS
from gapfit.solvers.dual_sets.base import DualSet, Line, Response

_NEWTON = 60  # steps to balance the classes, at most
_SEARCH = 60  # looks along one of them, at most
_ROUGH = 1e-2  # an excess that is near enough to look further along a line
_SMALL = 3e-4  # an excess that the shares that are not zero can take: few others would follow
_NUDGES = 8  # shifts of the offsets without another look, at most
_BALANCED = 1e-10  # an excess that is not worth another pass
_WORK = 8  # multiplications that a share is worth


class SimplexSet(DualSet):
    """z = the shares a_i of the classes; u_i = p_i (a_i - e_y), h = -sum_i p_i <a_i, cost_i>."""

    def __init__(self, problem: Problem) -> None:
        from gapfit.compiled import simplex_prox  # compiled code is loaded only when it is to run

        super().__init__(problem)
        self.compiled = simplex_prox
        self.given = problem.form(MarginSimplices)
        self.p, self.truth, self.costs = self.given[:3]
        n, self.K = len(self.p), self.costs.shape[1]
        self.exact, self.eye = one_hot(self.truth, self.K), np.eye(self.K)
        self.wanted = self.p @ self.exact
        self.parts = threads.parts(n, _WORK * n * self.K)
        self.centre = np.full((n, self.K), 1.0 / self.K)
        if problem.n_offsets:
            self.centre = np.tile(self.wanted, (n, 1))  # balanced
        self.spread = float(self.p @ (0.5 * (self.centre**2).sum(axis=1) + 0.5 - self.centre.min(axis=1)))

    def line(self, centre: Matrix, scores: Vector, along: Vector, length: float) -> Line:
        return SimplexLine(self, centre, scores, along, length)

    def slope(self, z: Matrix) -> Vector:
        u = np.empty(z.size)
        self.each(self.compiled.slope, self.p, self.truth, z, out=(u,))
        return u

    def values(self, scores: Vector, b: Vector, z: Matrix) -> tuple[float, float]:
        F, b = scores.reshape(-1, self.K), b if b.size else np.zeros(self.K)
        loss, h = self.sums(self.compiled.values, self.given, F, b, z)
        return float(loss), float(h)

    def distance(self, z: Matrix, other: Matrix) -> float:
        return float(sum(self.each(self.compiled.distance, self.p, z, other)))

    def weigh(self, scores: Vector) -> Vector:
        return np.asarray((self.p[:, None] * scores.reshape(-1, self.K)).ravel())

    def width(self, scores: Vector) -> float:
        del scores
        return float(self.costs.max()) or 1.0


class SimplexLine(Line):
    """In balanced steps every class has the weight of its samples, and offsets make it so.

    They minimise a convex function made of parabolas, whose gradient is what the classes have too much.
    Newton's method starts at the offsets of the last step on this line, moved on by how they follow t.
    """

    def __init__(self, Q: SimplexSet, centre: Matrix, scores: Vector, along: Vector, length: float) -> None:
        super().__init__(Q, centre, scores.reshape(-1, Q.K), along.reshape(-1, Q.K), length)
        self.simplices, self.A, self.t = Q, Q.room(), 0.0
        self.b, self.follows = Q.b if Q.b.size else np.zeros(Q.K), np.zeros(Q.K)

    def slope(self, t: float) -> float:
        start = self.b + self.follows * (t - self.t)
        self.t = t
        if not self.simplices.problem.n_offsets:
            return float(self._look(start)[3])
        excess, slopes, cross, work = self._balance(start, _ROUGH)
        self.divide = self._divide(slopes, excess)
        self.b, self.follows = self.b + self.divide @ excess, self.divide @ cross
        return float(work + self.follows @ excess)  # as it will be once the classes are balanced

    def stop(self) -> Response:
        Q = self.simplices
        if not Q.problem.n_offsets:
            return Response(self.A, Q.b)
        excess = self.found[0]
        if np.abs(excess).max() > _SMALL:
            excess, slopes, _, _ = self._balance(self.b, _SMALL)
            self.divide = self._divide(slopes, excess)
            self.b = self.b + self.divide @ excess
        for _ in range(_NUDGES):
            if np.abs(excess).max() <= _BALANCED:
                break
            excess = excess + self._nudge(self.length * (self.divide @ excess))
        if np.abs(excess).max() > _BALANCED:
            excess = self._balance(self.b, 4 * EPS)[0]
        Q.b = self.b
        return Response(self.A @ transport(excess, excess + Q.wanted), self.b)

    def _balance(self, b: Vector, share: float) -> Any:
        """Write a step that leaves no class with more than such a share too much, and find its offsets.

        Newton's method, with steps to where the excess has halved along them. Returns what `_look` does.
        """
        found = self._look(b)
        for _ in range(_NEWTON):
            excess, slopes = found[:2]
            if np.abs(excess).max() <= share:
                break
            move = self._divide(slopes, excess) @ excess
            falls = abs(float(excess @ move))
            short, long, size = 0.0, np.inf, 1.0
            for _ in range(_SEARCH):
                found = self._look(b + size * move)
                slope = float(found[0] @ move)
                if abs(slope) <= 0.5 * falls:
                    break
                short, long = (short, size) if slope > 0 else (size, long)
                size = 0.5 * (short + long) if long < np.inf else 4 * size
            b = b + size * move
        self.b, self.found = b, found
        return found

    def _divide(self, slopes: Matrix, excess: Vector) -> Matrix:
        """Minus the inverse of the derivatives of the excess."""
        # samples at a corner do not follow the offsets: where most are, the matrix says too little
        little = self.length * (1e-12 + 1e-2 * float(np.abs(excess).max()))
        inverse = np.linalg.inv(slopes + little * self.simplices.eye)
        return np.asarray(inverse.mean(axis=0) - inverse)  # a common shift changes nothing

    def _look(self, b: Vector) -> tuple[Vector, Matrix, Vector, float]:
        """At these offsets, what the classes have too much, how that follows the offsets and t, and the slope
        of the risk."""
        Q = self.simplices
        line = Q.compiled.Line(self.centre, self.scores, self.along)
        given = (Q.given, line, self.t, self.length, b)
        mass, slopes, cross, work = Q.sums(Q.compiled.look, *given, out=(self.A,))
        return mass - Q.wanted, slopes, cross, work

    def _nudge(self, shift: Vector) -> Vector:
        """Follow a small shift of the offsets without another look; returns how the excess changes."""
        Q = self.simplices
        return np.asarray(sum(Q.each(Q.compiled.nudge, Q.p, self.A, shift)))
