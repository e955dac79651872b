"""Pragam: accelerated gradients under an excessive gap condition, O(1/sqrt(gap)) steps.

Smooth the risk by mu times a squared distance d(z) = |z - centre|^2 / 2 in the dual,

    J_mu(w) = alpha Omega(w) + max over z in Q of  <u(z), A w> - h(z) - mu d(z),    J_mu <= J <= J_mu + mu D2,

D2 the largest d in Q. Primal and dual points are moved such that J_mu(w) <= D(z), the excessive gap
condition, holds at all times. Then J(w) - D(z) <= mu D2, and mu falls like 1/k^2. With L the Lipschitz
constant of the gradient of D, step k is

    tau = 2 / (k + 3);   beta = (1 - tau) z + tau z_mu(w);   w <- (1 - tau) w + tau w(beta);
    z <- the proximal step of length 1 / L from beta;        mu <- (1 - tau) mu,

from w = w(centre), z = the proximal step from the centre, mu = 2 L. The gap is at most 4 L D2 / ((k+1)(k+2)).
The condition only asks for tau^2 L <= (1 - tau) mu and for a dual that bends no more than L from beta to z,
so L can be found on the way: it is lowered a little at each step, and doubled where the dual bends more.
"""

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from gapfit._types import Slope
from gapfit.problem import Problem
from gapfit.solution import Iterate
from gapfit.solvers.base import Steps, needs
from gapfit.solvers.dual_sets import dual_set
from gapfit.solvers.dual_sets.base import DualSet, Response

_EASE = 0.9  # L is tried this much lower at each step
_ROUNDING = 1e-9  # of the curvature


@needs("dual_projection", penalty="quadratic")
def pragam(problem: Problem, state: dict[str, Any] | None = None, *, L: float | None = None) -> Steps:
    """One step: two proximal steps in the dual, one product with X and two with its transpose.

    With an unpenalised intercept the proximal steps keep the dual points balanced (the papers' Pragam-b).

    Parameters
    ----------
    L : the Lipschitz constant of the dual's gradient, or an upper bound of it; `lipschitz` computes it.
        By default it is found on the way, and far smaller: only the bends that are met count.
    """
    Q = dual_set(problem)
    state = state or {}
    objective = (problem.alpha, problem.penalty)
    resumes = state.get("objective") == objective and state.get("given") == L
    at = _restored(Q, state) if resumes else _Pair(Q, state.get("w"), L)
    while True:
        smooth = at.smooth_response()
        if not resumes:
            risk, h = Q.values(at.scores, smooth.b, at.z)
            primal = problem.alpha * problem.penalty.value(at.w) + risk
            now = {**at.state(), "objective": objective, "given": L}
            yield Iterate(at.w, smooth.b, Q.minorant(at.a, at.z, h), primal, now.copy)
        resumes = False
        at.step(smooth.z)


def lipschitz(problem: Problem) -> float:
    """An upper bound of the dual gradient's Lipschitz constant, by Lanczos' method in some tens of products.

    For losses of one score a sample it is the largest eigenvalue of A' P A / alpha, P the samples' weights
    divided by their sum.
    """
    Q, d = dual_set(problem), problem.design.shape[1]

    def product(w: Slope) -> Slope:
        return problem.penalty.argmax(problem.design.adjoint(Q.weigh(problem.design.scores(w.ravel()))))

    if d <= 2:
        matrix = np.stack([product(unit) for unit in np.eye(d)], axis=1)
        return float(np.linalg.eigvals(matrix).real.max()) / problem.alpha
    start = np.random.default_rng(0).normal(size=d)
    operator = LinearOperator((d, d), matvec=product, dtype=np.float64)
    largest = eigsh(operator, k=1, v0=start, tol=1e-6, return_eigenvectors=False)
    return 1.0001 * float(largest[0]) / problem.alpha


class _Pair:
    """A primal point w with its scores and a dual point z with a = A'u(z), such that J_mu(w) <= D(z).

    The two proximal steps of a step have offsets of their own, and each search for one begins at the last.
    """

    def __init__(self, Q: DualSet, w: Slope | None, L: float | None) -> None:
        problem = Q.problem
        self.Q, self.given, self.k = Q, L, 0
        self.centre = Q.centre
        if w is not None:  # any dual point may be the centre: take one that answers to w
            scores = Q.scores(w)
            self.centre = Q.step(Q.centre, scores, 1.0 / Q.width(scores)).z
        slope = problem.design.adjoint(Q.slope(self.centre))
        self.w = problem.penalty.argmax(slope / -problem.alpha)
        self.scores = Q.scores(self.w)
        self.L = self._first_bend(slope) if L is None else L
        while True:
            self.z = Q.step(self.centre, self.scores, 1.0 / self.L).z
            self.a = problem.design.adjoint(Q.slope(self.z))
            if not self._bends_more(self.a - slope, self.z, self.centre):
                break
            self.L *= 2
        self.mu = self.L if L is None else 2 * self.L
        self.b = self.shift = Q.b

    def smooth_response(self) -> Response:
        """z_mu(w), and the offsets that belong to it."""
        self.Q.b = self.b
        response = self.Q.step(self.centre, self.scores, 1.0 / self.mu)
        self.b = response.b
        return response

    def step(self, response: Any) -> None:
        """Move both points."""
        Q, problem = self.Q, self.Q.problem
        slope = problem.design.adjoint(Q.slope(response))
        self.L *= _EASE if self.given is None else 1.0
        Q.b = self.shift
        while True:
            tau = self._tau()
            beta = _mix(self.z, response, tau)
            a = _mix(self.a, slope, tau)
            w = problem.penalty.argmax(a / -problem.alpha)
            scores = Q.scores(w)
            z = Q.step(beta, scores, 1.0 / self.L).z
            after = problem.design.adjoint(Q.slope(z))
            if not self._bends_more(after - a, z, beta):
                break
            self.L *= 2
        self.shift = Q.b
        self.w, self.scores = _mix(self.w, w, tau), _mix(self.scores, scores, tau)
        self.z, self.a, self.mu, self.k = z, after, (1 - tau) * self.mu, self.k + 1

    def state(self) -> dict[str, Any]:
        kept = ("w", "scores", "z", "a", "mu", "L", "k", "centre", "b", "shift")
        return {"pair": {name: getattr(self, name) for name in kept}}

    def _tau(self) -> float:
        """The papers' for a given L; else the largest that the condition allows."""
        if self.given is not None:
            return 2.0 / (self.k + 3)
        return 2.0 * self.mu / (self.mu + float(np.sqrt(self.mu**2 + 4.0 * self.L * self.mu)))

    def _bends_more(self, change: Slope, z: Any, before: Any) -> bool:
        """Does the dual bend more than L on the way? The values themselves would drown in rounding."""
        if self.given is not None:
            return False
        return self.Q.curvature(change, self.Q.distance(z, before)) > self.L * (1 + _ROUNDING)

    def _first_bend(self, slope: Slope) -> float:
        """A start for L: how the dual bends towards where its gradient points."""
        Q = self.Q
        far = Q.step(self.centre, self.scores, 1.0 / Q.width(self.scores)).z
        change = Q.problem.design.adjoint(Q.slope(far)) - slope
        return Q.curvature(change, Q.distance(far, self.centre)) or 1.0


def _mix(first: Any, second: Any, share: float) -> Any:
    mixed = second - first
    mixed *= share
    mixed += first
    return mixed


def _restored(Q: DualSet, state: dict[str, Any]) -> _Pair:
    pair: _Pair = object.__new__(_Pair)
    pair.Q, pair.given = Q, state["given"]
    for name, value in state["pair"].items():
        setattr(pair, name, value)
    return pair
