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
from gapfit.penalties.forms import Euclidean, Quadratic
from gapfit.problem import Problem
from gapfit.records import Kept
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.choice.work import work_of
from gapfit.solvers.dual_sets import PROJECTABLE, dual_set
from gapfit.solvers.dual_sets.base import DualSet

_EASE = 0.97  # L is tried this much lower at each step
_NO_BEND = 1e-9  # of L: a curvature that is larger by no more is that by rounding


def _effort(problem: Problem) -> Effort | None:
    """Three products a step, and more where L is found on the way. Its intercepts are not the best ones at
    its points: other methods do as well under quadratic forms."""
    if problem.n_offsets and not problem.penalty.has(Euclidean):
        return None
    n, d, product, _, hard, *_ = work_of(problem)
    step = 1.2e6 + 3 * product + 100.0 * n + 240.0 * d
    return Effort(5e6 + 5 * product + 1300.0 * n, step, 13.0 * hard**0.4, 64.0 * (n + d))


@needs(PROJECTABLE, Quadratic, effort=_effort)
def pragam(problem: Problem, state: dict[str, Any] | None = None, *, L: float | None = None) -> Steps:
    """One step: two proximal steps in the dual, one pass over X, and one that makes two products with X'.

    With an unpenalised intercept the proximal steps keep the dual points balanced (the papers' Pragam-b).

    Parameters
    ----------
    L : the Lipschitz constant of the dual's gradient, or an upper bound of it; `lipschitz` computes it.
        By default it is found on the way, and far smaller: only the bends that are met count.
    """
    Q = dual_set(problem)
    state = state or {}
    at = _Pair(Q, L)

    def snapshot() -> dict[str, Any]:
        return {"given": L, "pair": at.state()}

    if state.get("same") and state["given"] == L:
        at.restore(state["pair"])
        at.step()
    else:
        at.start(state.get("w"))
    while True:
        risk, h = Q.values(at.scores, at.response.b, at.z)
        primal = problem.alpha * problem.penalty.value(at.w) + risk
        yield Iterate(at.w, at.response.b, Q.minorant(at.a, at.z, h), primal, snapshot)
        at.step()


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


class _Pair(Kept):
    """A primal point w with its scores and a dual point z with a = A'u(z), such that J_mu(w) <= D(z).

    And z_mu(w), the response, with its own slope. The two proximal steps of a step have offsets of their own;
    each search for one begins where the last two lead.
    """

    KEPT = (
        "w", "scores", "z", "a", "response", "slope", "mu", "L", "k", "centre", "shift", "last_b",
        "last_shift",
    )  # fmt: skip

    def __init__(self, Q: DualSet, L: float | None) -> None:
        self.Q, self.given, self.k = Q, L, 0

    def start(self, w: Slope | None) -> None:
        """Begin at the centre of the dual set, or near what w tells."""
        Q, L, problem = self.Q, self.given, self.Q.problem
        self.centre = Q.centre
        if w is not None:  # any dual point may be the centre: take one that answers to w
            scores = Q.scores(w)
            self.centre = Q.step(Q.centre, scores, 1.0 / Q.width(scores)).z
        slope = problem.design.adjoint(Q.slope(self.centre))
        self.w = problem.penalty.argmax(slope / -problem.alpha)
        self.scores = Q.scores(self.w).copy()  # they are recycled, and might belong to the design
        self.L = self._first_bend(slope) if L is None else L
        while True:
            self.z = Q.step(self.centre, self.scores, 1.0 / self.L).z
            self.a = problem.design.adjoint(Q.slope(self.z))
            if not self._bends_more(self.a - slope, self.z, self.centre):
                break
            self.L *= 2
        self.mu = self.L if L is None else 2 * self.L
        self.shift = self.last_shift = Q.b
        self.response = Q.step(self.centre, self.scores, 1.0 / self.mu)
        self.slope = problem.design.adjoint(Q.slope(self.response.z))
        self.last_b = self.response.b

    def step(self) -> None:
        """Move both points."""
        Q, problem = self.Q, self.Q.problem
        self.L *= _EASE if self.given is None else 1.0
        while True:
            tau = self._tau()
            beta = Q.blend(self.z, self.response.z, tau)
            a = self.a + tau * (self.slope - self.a)
            w = problem.penalty.argmax(a / -problem.alpha)
            scores = Q.scores(w)
            Q.b = 2 * self.shift - self.last_shift
            z, shift = Q.step(beta, scores, 1.0 / self.L)
            # the next response is known as well, and one pass makes the products of both
            mixed = Q.blend(self.scores, scores, tau)
            Q.b = 2 * self.response.b - self.last_b
            response = Q.step(self.centre, mixed, 1.0 / ((1 - tau) * self.mu))
            after, slope = problem.design.adjoints(Q.slope(z), Q.slope(response.z))
            if not self._bends_more(after - a, z, beta):
                break
            self.L *= 2
            Q.recycle(beta, z, mixed, response.z)
        Q.recycle(beta, self.z, self.scores, self.response.z)
        self.last_b, self.last_shift, self.shift = self.response.b, self.shift, shift
        self.w, self.scores = self.w + tau * (w - self.w), mixed
        self.z, self.a, self.response, self.slope = z, after, response, slope
        self.mu, self.k = (1 - tau) * self.mu, self.k + 1

    def _tau(self) -> float:
        """The papers' for a given L; else the largest that the condition allows."""
        if self.given is not None:
            return 2.0 / (self.k + 3)
        return 2.0 * self.mu / (self.mu + float(np.sqrt(self.mu**2 + 4.0 * self.L * self.mu)))

    def _bends_more(self, change: Slope, z: Any, before: Any) -> bool:
        """Does the dual bend more than L on the way? The values themselves would drown in rounding."""
        if self.given is not None:
            return False
        return self.Q.curvature(change, self.Q.distance(z, before)) > self.L * (1 + _NO_BEND)

    def _first_bend(self, slope: Slope) -> float:
        """A start for L: how the dual bends towards where its gradient points."""
        Q = self.Q
        far = Q.step(self.centre, self.scores, 1.0 / Q.width(self.scores)).z
        change = Q.problem.design.adjoint(Q.slope(far)) - slope
        return Q.curvature(change, Q.distance(far, self.centre)) or 1.0
