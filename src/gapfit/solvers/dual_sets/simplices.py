"""Dual points of the multiclass margin loss: shares of the classes, a simplex for each sample."""

from typing import Any

import numpy as np

from gapfit import threads
from gapfit._types import Matrix, Vector
from gapfit.losses.multiclass import SimplexRisk, transport
from gapfit.losses.vector import one_hot
from gapfit.problem import Problem
from gapfit.solvers.dual_sets.base import DualSet, Response

_EPS = float(np.finfo(float).eps)
_NEWTON, _SEARCH = 60, 60
_WORK = 8  # multiplications that a share is worth


class SimplexSet(DualSet):
    """z = the shares a_i of the classes; u_i = p_i (a_i - e_y), h = -sum_i p_i <a_i, cost_i>."""

    def __init__(self, problem: Problem) -> None:
        from gapfit.kernels import simplex_prox  # compiled code is loaded only when it is to run

        super().__init__(problem)
        self.kernels = simplex_prox
        assert isinstance(problem.risk, SimplexRisk)
        self.p, self.truth, self.costs, self.row, _ = problem.risk.dual_simplices()
        n, self.K = len(self.p), problem.risk.outputs
        self.exact = one_hot(self.truth, self.K)
        self.wanted = self.p @ self.exact
        self.parts = threads.parts(n, _WORK * n * self.K)
        self.centre = np.full((n, self.K), 1.0 / self.K)
        if problem.n_offsets:
            self.centre = np.tile(self.wanted, (n, 1))  # balanced
        self.spread = float(self.p @ (0.5 * (self.centre**2).sum(axis=1) + 0.5 - self.centre.min(axis=1)))

    def step(self, centre: Matrix, scores: Vector, length: float) -> Response:
        F = scores.reshape(-1, self.K)
        if not self.problem.n_offsets:
            return Response(self._respond(centre, F, length, np.zeros(self.K)), self.b)
        A, self.b = self._balanced(centre, F, length)
        return Response(A, self.b)

    def slope(self, z: Matrix) -> Vector:
        return np.asarray(((z - self.exact) * self.p[:, None]).ravel())

    def values(self, scores: Vector, b: Vector, z: Matrix) -> tuple[float, float]:
        F, b = scores.reshape(-1, self.K), b if b.size else np.zeros(self.K)
        arrays = (self.p, self.truth, self.costs, self.row, F, b, z)
        sums = threads.each(lambda rows: self.kernels.values(*arrays, rows.start, rows.stop), self.parts)
        loss, h = np.sum(sums, axis=0)
        return float(loss), float(h)

    def distance(self, z: Matrix, other: Matrix) -> float:
        arrays = (self.p, z, other)
        sums = threads.each(lambda rows: self.kernels.distance(*arrays, rows.start, rows.stop), self.parts)
        return float(sum(sums))

    def weigh(self, scores: Vector) -> Vector:
        return np.asarray((self.p[:, None] * scores.reshape(-1, self.K)).ravel())

    def width(self, scores: Vector) -> float:
        del scores
        return float(self.costs.max()) or 1.0

    def _respond(self, centre: Matrix, F: Matrix, length: float, b: Vector) -> Matrix:
        A = np.empty_like(F)
        arrays = (self.costs, self.row, centre, F, length, b)
        threads.each(lambda rows: self.kernels.respond(*arrays, rows.start, rows.stop, A), self.parts)
        return A

    def _balanced(self, centre: Matrix, F: Matrix, length: float) -> tuple[Matrix, Vector]:
        """The step in which every class has the weight of its samples, and the offsets that make it so.

        They minimise a convex function made of parabolas, whose gradient is what the classes have too much:
        Newton's method, with steps to where that gradient has halved along them.
        """
        b, eye = self.b, np.eye(self.K)
        A, excess, slopes = self._look(centre, F, length, b)
        for _ in range(_NEWTON):
            worst = float(np.abs(excess).max())
            if worst <= 4 * _EPS:
                break
            # samples at a corner do not follow the offsets: where most are, the matrix says too little
            move = -np.linalg.solve(slopes + length * (1e-12 + 1e-2 * worst) * eye, excess)
            move -= move.mean()  # a common shift changes nothing
            falls = abs(float(excess @ move))
            short, long, size = 0.0, np.inf, 1.0
            for _ in range(_SEARCH):
                A, after, slopes = self._look(centre, F, length, b + size * move)
                slope = float(after @ move)
                if abs(slope) <= 0.5 * falls:
                    break
                short, long = (short, size) if slope > 0 else (size, long)
                size = 0.5 * (short + long) if long < np.inf else 4 * size
            b, excess = b + size * move, after
        return A @ transport(self.p @ A, self.wanted), b

    def _look(self, centre: Matrix, F: Matrix, length: float, b: Vector) -> tuple[Matrix, Vector, Matrix]:
        """The step at these offsets, what the classes have too much, and how that follows the offsets."""
        A = self._respond(centre, F, length, b)
        sums: Any = threads.each(
            lambda rows: self.kernels.masses(self.p, A, length, rows.start, rows.stop), self.parts
        )
        mass, slopes = (sum(part) for part in zip(*sums, strict=True))
        return A, mass - self.wanted, slopes
