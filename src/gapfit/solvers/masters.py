"""Master problems of the bundle: minimise alpha * Omega(w) + the maximum of the cuts collected so far.

All are solved in the dual: cut i has a share x_i, the shares lie on the simplex, and

    D(x) = sum_i x_i c_i - alpha * Omega*(-sum_i x_i a_i / alpha)

is to be maximised. The mixture of cuts with *any* shares is a minorant, so an inexact answer costs tightness
and never validity. Three kinds of penalty need three methods: a quadratic conjugate is a QP on the Gram
matrix of the cuts; any other differentiable conjugate a sequence of such QPs; a polyhedral penalty a linear
program.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import linprog

from gapfit._types import Indices, Matrix, Slope, Vector
from gapfit.minorant import Minorant, combine
from gapfit.problem import Problem
from gapfit.solvers.simplex_qp import maximise_on_simplex

_KEEP_IDLE = 25  # drop a cut that had no share for this many steps


class Master(ABC):
    """The cuts, their shares, and how to find the best ones."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.cuts: list[Minorant] = []
        self.shares = np.zeros(0)
        self.idle = np.zeros(0, dtype=int)

    def add(self, cut: Minorant) -> None:
        """Take in a cut, unless it is one we have."""
        if any(cut.c == old.c and np.array_equal(cut.a, old.a) for old in self.cuts):
            return
        self.cuts.append(cut)
        self.shares = np.append(self.shares, 1.0 if len(self.cuts) == 1 else 0.0)
        self.idle = np.append(self.idle, 0)
        self._grow(cut)

    def minimise(self) -> tuple[Minorant, Slope]:
        """The best mixture of the cuts found, and the minimiser of the model."""
        w = self._solve()
        # the zero plane stays: it keeps every linear program bounded, for smaller alphas too
        in_use = (self.shares > 0) | np.array([not cut.a.any() for cut in self.cuts])
        self.idle = np.where(in_use, 0, self.idle + 1)
        if (self.idle > _KEEP_IDLE).any():
            self._keep(np.flatnonzero(self.idle <= _KEEP_IDLE))
        model = combine(self.cuts, self.shares)
        return model, self.problem.minimiser(model) if w is None else w

    def state(self) -> dict[str, Any]:
        """What `restore` needs to go on from here."""
        return {"cuts": list(self.cuts), "shares": self.shares, "idle": self.idle}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over the cuts of an earlier run (they hold for every alpha), and its shares if it has them."""
        for cut in state.get("cuts", ()):
            self.add(cut)
        if "shares" in state and len(state["shares"]) == len(self.cuts):
            self.shares, self.idle = state["shares"].copy(), state["idle"].copy()

    @property
    def constants(self) -> Vector:
        return np.array([cut.c for cut in self.cuts])

    @abstractmethod
    def _solve(self) -> Slope | None:
        """Improve the shares; return the minimiser where the shares do not determine it."""

    def _grow(self, cut: Minorant) -> None:
        """Prepare for a new cut."""

    def _keep(self, kept: Indices) -> None:
        self.cuts = [self.cuts[i] for i in kept]
        self.shares, self.idle = self.shares[kept], self.idle[kept]


class QuadraticMaster(Master):
    """Omega*(mu) = <mu, mu> / 2 in some inner product: one QP on the Gram matrix of the cuts."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.gram: Matrix = np.zeros((0, 0))

    def _grow(self, cut: Minorant) -> None:
        row = np.array([self.problem.inner(old.a, cut.a) for old in self.cuts])
        t = len(self.cuts)
        gram = np.empty((t, t))
        gram[:-1, :-1] = self.gram
        gram[-1, :] = gram[:, -1] = row
        self.gram = gram

    def _solve(self) -> None:
        self.shares = maximise_on_simplex(self.gram / self.problem.alpha, self.constants, self.shares)

    def near(self, centre: Slope, rho: float) -> tuple[Slope, float]:
        """The minimiser of model + rho/2 |w - centre|^2 (in Omega's metric), and the model there."""
        problem = self.problem
        total = problem.alpha + rho
        pull = rho / total
        heights = np.array([cut.c + pull * float(cut.a @ centre) for cut in self.cuts])
        shares = maximise_on_simplex(self.gram / total, heights, self.shares)
        w = problem.penalty.argmax(combine(self.cuts, shares).a / -total) + pull * centre
        return w, problem.alpha * problem.penalty.value(w) + max(
            cut.c + float(cut.a @ w) for cut in self.cuts
        )

    def _keep(self, kept: Indices) -> None:
        super()._keep(kept)
        self.gram = self.gram[np.ix_(kept, kept)]


class SmoothMaster(Master):
    """A differentiable conjugate: Newton's method on the simplex, a QP and an exact line search a step."""

    def _solve(self) -> None:
        A, c, x = np.column_stack([cut.a for cut in self.cuts]), self.constants, self.shares
        alpha, penalty = self.problem.alpha, self.problem.penalty

        def gradient(x: Vector) -> Vector:
            return np.asarray(c + A.T @ penalty.argmax(A @ x / -alpha))

        # D is flat at its maximum, so the optimality of the shares (and with it the accuracy of w) is judged
        # by the gradient: no cut may promise more than the mixture has
        residual = np.inf
        for _ in range(60):
            g = gradient(x)
            previous, residual = residual, float((g - g @ x).max())
            exact = residual <= 4e-16 * float(np.abs(c).max() + np.abs(g).max())
            if exact or previous <= residual < 1e-9:
                break
            H = penalty.curvature(A @ x / -alpha, A) / alpha
            step = maximise_on_simplex(H, g + H @ x, x) - x
            x = x + _line_maximum(partial(_slope_along, gradient, x, step)) * step
        self.shares = np.maximum(x, 0.0) / np.maximum(x, 0.0).sum()


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
        answer = linprog(
            np.ones(2 * d + 1),
            A_ub=np.column_stack([A, -A, -np.ones(len(A))]),
            b_ub=-self.constants / self.problem.alpha,
            bounds=np.vstack([positive, negative, [[-np.inf, np.inf]]]),
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
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
    return LinearMaster(problem) if problem.penalty.polyhedral else SmoothMaster(problem)
