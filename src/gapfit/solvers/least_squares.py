"""The squared loss by its moments: X'X and X'y are all that its minimum depends on.

With rows and targets about their means where there is an intercept, and weights p,

    J(w) = alpha Omega(w) + w'Gw / 2 - <c, w> + constant,     G = X'diag(p)X,   c = X'diag(p)y,

so the minimum takes no more of X once G and c are there: by one factorisation under a quadratic penalty, by
sweeps and steps on the matrix under L1, the elastic net or the group lasso. They do not depend on alpha, and
problems of all alphas share them: then a fit is little more than its proof, which reads X twice.

Moments are sums of products, and lose half of the digits where columns are nearly dependent. So no bound is
made of them: should the proof not do, the next step corrects w by derivatives that were computed from X.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Matrix, Slope, Vector
from gapfit.design.forms import RowSums
from gapfit.elsewhere import fetched
from gapfit.losses.forms import Parabola
from gapfit.penalties.forms import Grouped, Net, Quadratic
from gapfit.problem import Problem
from gapfit.rounding import EPS
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.choice.work import work_of
from gapfit.solvers.columns.by_matrix import ByMatrix
from gapfit.solvers.columns.kinds import terms_of
from gapfit.solvers.columns.model import ROUNDS, Model
from gapfit.solvers.point import at_best_offsets
from gapfit.solvers.second_order.definite import factorised, with_penalty

_BLOCK = 128  # rows and columns of a matrix
_LEFT = 0.5  # of the tolerance, in units of alpha: what sweeps along many alphas leave of a derivative
_SWEEPS = 500  # at one of them, at most: what they leave is for another method
_FINE = 1e-9  # of the largest derivative at the start: sweeps go on until none changes by more


def _effort(problem: Problem) -> Effort:
    """A Gram matrix, and a factorisation or what sweeps over it take; a step is its proof."""
    n, d, product, gram, *_ = work_of(problem)
    setup = gram + 70.0 * d**2 + 0.06 * d**3
    return Effort(setup, 7e6 + 15 * product + 700.0 * n, 1, 8.0 * 4 * d**2)


@needs(Parabola, (Quadratic, Net, Grouped), RowSums, squares=4, effort=_effort)
def least_squares(problem: Problem, state: dict[str, Any] | None = None) -> Steps:
    """One step: the minimum of the model by its moments. The first is all, but for rounding."""
    state = state or {}
    moments = Moments.of(problem)
    model = (_ByFactor if problem.has(Quadratic) else _BySweeps)(problem, moments)
    lowest = np.inf
    if state.get("same"):
        w, lowest = state["point"], state["lowest"]
    else:
        w = problem.start()
        w = model.minimiser(w, fetched(moments.gram @ w) - moments.cross)
        yield moments.iterate(w, lowest)._replace(way=[(moments.at_zero, np.inf)])
    while True:
        point = at_best_offsets(problem, w, problem.scores(w))
        if lowest - 4 * EPS * abs(point.J) <= point.J:
            return  # what is left to gain is rounding
        w, lowest = model.minimiser(w, problem.design.adjoint(point.u)), point.J
        yield moments.iterate(w, lowest)


class Moments(NamedTuple):
    """Of the rows and the targets, about their means if there is an intercept."""

    gram: Matrix
    cross: Slope
    centre: Slope
    level: float  # the mean target
    offsets: int
    at_zero: float  # J, where no weight is

    @classmethod
    def of(cls, problem: Problem) -> "Moments":
        """Those of the problem's data, computed when they are first asked for, at whatever alpha."""
        if cls not in problem.shared:
            problem.shared[cls] = cls._computed(problem)
        found: Moments = problem.shared[cls]
        return found

    @classmethod
    def _computed(cls, problem: Problem) -> "Moments":
        design, (target, weight) = problem.form(RowSums).matrix, problem.form(Parabola)
        target = target - problem.offset if problem.shifted else target
        centre, level = np.zeros(design.shape[1]), 0.0
        if problem.n_offsets:
            centre, level = problem.mean, float(weight @ target) / float(weight.sum())
        gram = design.gram_for_steps(weight, centre)
        if isinstance(gram, np.ndarray):  # elsewhere it is whole
            gram = _symmetric(gram)
        around = weight * (target - level)
        cross = design.adjoint(around) - float(around.sum()) * centre
        at_zero = 0.5 * float(around @ (target - level))
        return cls(gram, cross, centre, level, problem.n_offsets, at_zero)

    def iterate(self, w: Slope, lowest: float) -> Iterate:
        """To be looked at in any case: what it leaves is rounding. A start would only cost a look."""
        b = np.full(self.offsets, self.level - float(self.centre @ w))
        now = {"point": w, "lowest": lowest, "alone": True}
        return Iterate(w, b, snapshot=now.copy, estimate=0.0, tangent=True)


def along_alphas(problem: Problem, alphas: Vector, tol: float | Vector) -> Matrix:
    """Under L1, a row for each of the falling alphas: w, so near the minimum that its gap may be such a share
    of J, one for each or for all."""
    from gapfit.compiled.lasso_path import descend_alphas  # compiled code is loaded only when it is to run

    moments = Moments.of(problem)
    d, fines = len(moments.cross), np.clip(np.broadcast_to(_LEFT * tol, alphas.shape), 1e-12, 0.1)
    W, H = np.zeros((len(alphas), d)), np.empty((d, d))
    inside, active, room = np.zeros(d), np.zeros(d, np.int64), np.zeros((8, d))
    descend_alphas(moments.gram, moments.cross, alphas, fines, _SWEEPS, inside, active, room, H, W)
    return W


def _symmetric(lower: Matrix) -> Matrix:
    """The matrix whose lower triangle this is, in its place; by blocks, which stay in the cache."""
    for first in range(0, len(lower), _BLOCK):
        last = first + _BLOCK
        corner = lower[first:last, first:last]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
        lower[first:last, last:] = lower[last:, first:last].T
    return lower


class _ByFactor:
    """Under a quadratic penalty."""

    def __init__(self, problem: Problem, moments: Moments) -> None:
        self.problem, self.moments = problem, moments
        self.factor: Any = None

    def minimiser(self, w: Slope, a: Slope) -> Slope:
        """Of J, if `a` are the derivatives of the risk at w."""
        alpha, penalty = self.problem.alpha, self.problem.penalty
        if self.factor is None:
            self.factor = factorised(self.problem.design, with_penalty(self.problem, self.moments.gram))
        return np.asarray(w - self.factor.solve(a + alpha * penalty.subgradient(w)))


class _BySweeps:
    """Under L1, L2 or the elastic net, in a box or not, or under the group lasso."""

    def __init__(self, problem: Problem, moments: Moments) -> None:
        self.terms, self.gram = terms_of(problem), fetched(moments.gram)
        self.rounding = 16 * EPS * self.gram.diagonal()

    def minimiser(self, w: Slope, a: Slope) -> Slope:
        """Of J, if `a` are the derivatives of the risk at w."""
        w = np.clip(w, self.terms.lower, self.terms.upper)
        model = Model(ByMatrix(self.gram, a, self.rounding), self.terms, w, settled=True, rounds=ROUNDS)
        return model.minimise(_FINE * float(np.abs(a).max(initial=0.0)))
