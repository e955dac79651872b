"""The masters of all kinds of penalty.

A quadratic conjugate is a QP on the Gram matrix of the cuts; any other differentiable conjugate a sequence of
such QPs; a polyhedral penalty a linear program; another norm such a sequence about a centre.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import linprog

from gapfit import limits
from gapfit._types import Matrix, Slope, Vector
from gapfit.penalties import Penalty
from gapfit.problem import Problem
from gapfit.solvers.cuts.master import Master
from gapfit.solvers.cuts.quadratic_master import REFINEMENTS, QuadraticMaster
from gapfit.solvers.cuts.simplex_qp import Face, maximise_on_simplex

_SMALL = 1e-9  # promise of a cut above the mixture
_RIGHT = 0.1  # of what a model promised: J has come down by that, if it was right
_FARTHEST = 1e10  # from the weight of the penalty that of a centre may be
_SECONDS = 2e-6  # for each entry of a linear program, at least


class SmoothMaster(Master):
    """A differentiable conjugate: Newton's method on the simplex, a QP and an exact line search a step."""

    def _solve(self) -> Slope | None:
        A = np.column_stack([cut.a for cut in self.cuts])
        return self._maximise(A, self.constants, self.problem.alpha, self.problem.penalty)

    def _maximise(self, A: Matrix, c: Vector, alpha: float, penalty: Penalty) -> Slope:
        """The shares for cuts of these slopes and heights under this penalty, and the minimiser w."""
        x = self.shares

        def gradient(x: Vector) -> Vector:
            return np.asarray(c + A.T @ penalty.argmax(A @ x / -alpha))

        # D is flat at its maximum, so the optimality of the shares (and with it the accuracy of w) is judged
        # by the gradient: no cut may promise more than the mixture has
        best, least = x, np.inf
        for _ in range(60):
            limits.look()
            g = gradient(x)
            residual = float((g - g @ x).max())
            worse = residual >= least
            best, least = (best, least) if worse else (x, residual)
            exact = residual <= 4e-16 * float(np.abs(c).max() + np.abs(g).max())
            if exact or (worse and least < _SMALL):  # what is left is rounding
                break
            H = penalty.curvature(A @ x / -alpha, A) / alpha
            step = maximise_on_simplex(H, g + H @ x, x) - x
            x = x + _line_maximum(partial(_slope_along, gradient, x, step)) * step
        self.shares = np.maximum(best, 0.0) / np.maximum(best, 0.0).sum()
        return self._refined(A, c, alpha, penalty)

    def _refined(self, A: Matrix, c: Vector, alpha: float, penalty: Penalty) -> Slope:
        """The minimiser, more exactly than shares near one can express it: heights differ on the face by what
        is to be changed, and the mixture moves by the mixture of that change."""
        members = np.flatnonzero(self.shares)
        x, used, tops = self.shares[members], A[:, members], c[members]
        mixture = used @ x
        w = penalty.argmax(mixture / -alpha)
        uneven = float(np.ptp(tops + used.T @ w))
        for _ in range(REFINEMENTS):
            H = penalty.curvature(mixture / -alpha, used) / alpha
            heights = tops + used.T @ w
            change = Face(H, np.arange(len(x)), float(H.diagonal() @ x)).to_maximum(heights - heights @ x)
            moved = mixture + used @ change
            there = penalty.argmax(moved / -alpha)
            still = float(np.ptp(tops + used.T @ there))
            if not still < uneven:
                break
            mixture, w, uneven = moved, there, still
        return np.asarray(w)


class HeldMaster(SmoothMaster):
    """A norm that is no polyhedron: its conjugate is zero or infinite, so that the model is to stay near the
    best point c. With eps / 2 |w - c|^2 beside the penalty that is a strongly convex penalty, and a slope of
    -eps c in each cut. Eps falls when the model was right, and rises when it was not. As the points come to
    rest, so does what the term adds to the slopes of the mixture."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.centre, self.best, self.eps = np.zeros(problem.design.shape[1]), np.inf, problem.alpha
        self.range = problem.alpha / _FARTHEST, problem.alpha * _FARTHEST

    def stay_near(self, w: Slope, J: float) -> None:
        if self.best < np.inf:
            right = self.best - _RIGHT * abs(self.promised) > J
            self.eps = float(np.clip(self.eps * (0.3 if right else 1.3), *self.range))
        self.centre, self.best = w, J

    def state(self) -> dict[str, Any]:
        return {**super().state(), "held": (self.centre, self.best, self.eps, self.promised)}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        if state.get("same") and "held" in state:
            self.centre, self.best, self.eps, self.promised = state["held"]

    def _solve(self) -> Slope:
        alpha, eps, centre = self.within * self.problem.alpha, self.eps, self.centre
        A = np.column_stack([cut.a for cut in self.cuts])
        held = self.problem.penalty.held(alpha / (alpha + eps))
        shift = eps * centre
        w = self._maximise(A - shift[:, None], self.constants, alpha + eps, held)
        there = alpha * self.problem.penalty.value(w) + float((self.constants + A.T @ w).max())
        self.promised = self.best - there  # by how much J falls, if the model is right
        return w


def _slope_along(gradient: Callable[[Vector], Vector], x: Vector, step: Vector, s: float) -> float:
    with np.errstate(over="ignore", invalid="ignore"):  # where an exponential overflows, D is -inf
        slope = float(gradient(x + s * step) @ step)
    return slope if np.isfinite(slope) else -np.inf


def _line_maximum(slope: Callable[[float], float]) -> float:
    """Where the decreasing function `slope` vanishes on [0, 1]; 1 if it does not, up to rounding."""
    at_zero, at_one = slope(0.0), slope(1.0)
    if not at_zero > 0 or at_one >= -1e-2 * at_zero:
        return 1.0  # all there is to gain, or nothing but rounding
    lo, hi, slope_lo, slope_hi = 0.0, 1.0, at_zero, at_one
    for k in range(60):
        s = lo + (hi - lo) * (slope_lo / (slope_lo - slope_hi) if np.isfinite(slope_hi) and k % 2 else 0.5)
        value = slope(s)
        if abs(value) <= 1e-3 * at_zero:
            return s
        lo, slope_lo, hi, slope_hi = (s, value, hi, slope_hi) if value > 0 else (lo, slope_lo, s, value)
    return lo


class LinearMaster(Master):
    """A polyhedral penalty (l1, possibly in a box): a linear program in w = p - q and the model's height."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.reach = 1e3

    def state(self) -> dict[str, Any]:
        return {**super().state(), "reach": self.reach}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.reach = state.get("reach", self.reach)

    def _solve(self) -> Slope:
        d = self.problem.design.shape[1]
        lo, hi = self.problem.penalty.bounds(d)
        if all(cut.a.any() for cut in self.cuts):
            # without the zero plane the first programs may be unbounded: w stays within reach, which grows
            lo, hi = np.maximum(lo, np.minimum(-self.reach, hi)), np.minimum(hi, np.maximum(self.reach, lo))
        positive = np.column_stack([np.maximum(lo, 0.0), np.maximum(hi, 0.0)])
        negative = np.column_stack([np.maximum(-hi, 0.0), np.maximum(-lo, 0.0)])
        # divided by alpha, so that the program's tolerances are relative to the penalty
        A = np.array([cut.a for cut in self.cuts]) / self.problem.alpha
        limits.look(_SECONDS * A.size)  # setting up the program knows no limit
        answer = linprog(
            np.append(np.full(2 * d, self.within), 1.0),
            A_ub=np.column_stack([A, -A, -np.ones(len(A))]),
            b_ub=-self.constants / self.problem.alpha,
            bounds=np.vstack([positive, negative, [[-np.inf, np.inf]]]),
            method="highs-ds",
            options={
                "primal_feasibility_tolerance": 1e-10,
                "dual_feasibility_tolerance": 1e-10,
                **({"time_limit": limits.left()} if limits.left() < np.inf else {}),
            },
        )
        limits.look()
        if answer.x is None:
            return self.problem.start()  # keep the shares: still a valid bound
        shares = np.maximum(-answer.ineqlin.marginals, 0.0)
        self.shares = shares / shares.sum()
        w = np.clip(answer.x[:d] - answer.x[d : 2 * d], lo, hi)
        if (np.abs(w) >= self.reach).any():
            self.reach *= 10
        return np.asarray(w)


def master_for(problem: Problem) -> Master:
    """The master that fits the penalty."""
    if problem.penalty.quadratic:
        return QuadraticMaster(problem)
    if problem.penalty.polyhedral:
        return LinearMaster(problem)
    return HeldMaster(problem) if problem.penalty.conic else SmoothMaster(problem)
