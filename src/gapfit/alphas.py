"""One problem of least squares under L1 at many alphas, and bounds of all its optima at once:

    J(w, b) = alpha |w|_1 + 1/2 sum of p_i (x_i'w + b - t_i)^2.

Each is a `Problem`, and what is proved of it is what `Problem` would prove, by the same arithmetic: `proofs`.
But X is read once for all of them, by products with a matrix of weights; and what rounding has done to the
residuals e counts in their length alone, the root of sum of p e^2: that takes no loop over the samples.

With residuals e, u = p e is a dual point, and so is any part of it:

    R >= <s A'u, w> - s^2 / 2 sum of p e^2 - s <u, t>,     bounded below on all w where s |A'u| <= alpha.
"""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Matrix, Slope, Vector
from gapfit.certify import judged
from gapfit.design.forms import Rows
from gapfit.losses.forms import Parabola
from gapfit.minorant import Minorant
from gapfit.penalties import L1
from gapfit.problem import Problem
from gapfit.proofs import attained, bounded, taken_away
from gapfit.rounding import SUM, TINY, UNIT, Estimate, gamma
from gapfit.solution import Certificate

_AT_ONCE = 2**21  # scores of which all are held at the same time
_KEPT = 2**15  # samples up to which a minorant keeps its dual point


class Proved(NamedTuple):
    """A point at one alpha, and what is proved of it."""

    w: Vector
    b: Vector
    certificate: Certificate
    minorant: Minorant


def shares_a_matrix(problem: Problem) -> bool:
    """Is it least squares under L1, on rows in memory and in double precision?"""
    plain = type(problem.penalty) is L1 and problem.dtype == np.float64 and not problem.shifted
    return plain and problem.has(Rows) and problem.has(Parabola)


class Alphas:
    """The problem at these alphas; w is a row for each."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.design = problem, problem.form(Rows).matrix
        self.target, self.weight = problem.form(Parabola)
        n = len(self.weight)
        self.once = gamma(n + SUM + 16)  # of sums over the samples, in whatever order
        more = 1 + self.once
        # lengths of vectors with a number a sample: of the rows' sizes, of the targets, of one
        self.rows, self.targets, self.ones = (
            sqrt(float(self.weight @ np.square(each))) * more
            for each in (self.design.row_sizes, self.target, np.ones(n))
        )

    def pulls(self) -> Slope:
        """The derivatives where no weight is, at the best offset."""
        level = float(self.weight @ self.target) / float(self.weight.sum()) if self.problem.n_offsets else 0.0
        return self.design.adjoint(self.weight * (self.target - level))

    def proved(self, alphas: Vector, W: Matrix, scores: Any = None) -> list[Proved]:
        """What is proved of these points, each at its alpha; some at a time, where samples are many. `scores`
        makes them of some rows of W, by default from all columns."""
        some = max(_AT_ONCE // len(self.weight), 1)
        parts = [slice(first, first + some) for first in range(0, len(alphas), some)]
        make = scores or (lambda part: self.design.scores(np.ascontiguousarray(W[part].T)))
        return [one for part in parts for one in self._proved(alphas[part], W[part], make(part))]

    def _proved(self, alphas: Vector, W: Matrix, e: Matrix) -> list[Proved]:
        problem, design, once = self.problem, self.design, self.once
        b = np.zeros(len(alphas))
        if problem.n_offsets:
            b = (self.weight @ self.target - self.weight @ e) / self.weight.sum()
        e += b
        e -= self.target[:, None]
        u = self.weight[:, None] * e
        square, along = np.einsum("ik,ik->k", u, e), self.target @ u
        a = design.adjoint(u).T
        far = np.sqrt(square) * (1 + once)
        lengths = np.sqrt(np.einsum("kj,kj->k", W, W)) * (1 + gamma(W.shape[1] + 16))
        # by how much the residuals are off, in length
        off = gamma(design.depth[0] + 16) * lengths * self.rows + 8 * UNIT * (
            abs(b) * self.ones + self.targets
        )
        off += W.shape[1] * TINY * self.ones
        risk = Estimate(0.5 * square, off * (far + 0.5 * off) + once * square)
        omega = np.abs(W).sum(axis=1)
        upper = attained(alphas, Estimate(omega, gamma(W.shape[1] + SUM) * omega), risk)
        spread = (once + gamma(design.depth[1] + 16)) * far * self.rows + W.shape[1] * TINY
        size = np.sqrt(np.einsum("kj,kj->k", a, a)) * (1 + gamma(W.shape[1] + 16))
        spread += 4 * UNIT * size  # it will be scaled
        heights, noise = -0.5 * square - along, once * (square + far * self.targets) + len(u) * TINY
        if problem.n_offsets:
            rest = np.abs(u.sum(axis=0)) + once * far * self.ones
            reserve = problem.reserve
            lost = taken_away(
                rest * reserve.price[0], heights, reserve.height, size, problem.reach_of_reserve
            )
            noise, spread = noise + lost[0] + rest * abs(reserve.b[0]), spread + lost[1]
        share = np.minimum(alphas / ((np.abs(a).max(axis=1) + spread) * (1 + 16 * UNIT)), 1.0)
        heights = -share * (0.5 * share * square + along)
        noise += 16 * UNIT * (square + np.abs(along))
        lower = bounded(alphas, Estimate(heights, noise), Estimate(0.0, 0.0))
        a *= share[:, None]
        points = u.T * share[:, None] if len(u) <= _KEPT else [None] * len(alphas)
        uppers, lowers = _each(upper), _each(lower)
        told = zip(heights.tolist(), noise.tolist(), spread.tolist(), size.tolist(), strict=True)
        return [
            Proved(
                W[k],
                np.full(problem.n_offsets, b[k]),
                judged(uppers[k], lowers[k], "conjugate", problem.loss),
                problem.level(a[k], c, "conjugate", more, spread=off_by, size=long, u=points[k]),
            )
            for k, (c, more, off_by, long) in enumerate(told)
        ]


def _each(many: Any) -> list[Estimate]:
    """One after the other."""
    return [Estimate(*one) for one in zip(many.value.tolist(), many.error.tolist(), strict=True)]
