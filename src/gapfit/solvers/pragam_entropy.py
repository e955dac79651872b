"""Pragam for losses of a contingency table: its dual points are distributions over all labellings.

The squared distance of `pragam` becomes an entropy, and proximal steps become Gibbs distributions, of which
only two means are kept: that of Delta and that of the slope v = A'u. With D2 = log(number of labellings) and
G(c, x) the distribution with weights exp(c Delta + <r, x>), r the slope of a labelling, step k is

    tau = 2 / (k + 3);   z1 = G(1/mu, w/mu);   beta = (1 - tau) z + tau z1;   w' = w(beta);
    g = tau / ((1 - tau) mu);   z <- (1 - tau) z + tau G(1/mu + g, w/mu + g w');
    w <- (1 - tau) w + tau w';   mu <- (1 - tau) mu.

For a given L >= max over labellings of |r|^2 / alpha, mu = 2 L at the start keeps J_mu(w) <= D(z), and the
gap is at most 4 L D2 / ((k+1)(k+2)). That L is pessimistic by far. By default L is found on the way: J_mu at
the new w is known when the next step begins, so that the condition itself can be tested, and a step that
breaks it is made again with twice the L.

An unpenalised intercept confines the distributions to those whose mean slope in b is zero. The entropy's
centre is then the flattest of them, each G has an offset more in its exponent that makes it so, and D2 is the
logarithm of the sum that normalises the centre.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.design.forms import Plain
from gapfit.losses.contingency import Countable
from gapfit.losses.smoothed import Gibbs, Labellings
from gapfit.minorant import Minorant
from gapfit.penalties.forms import Euclidean
from gapfit.problem import Problem
from gapfit.records import storable
from gapfit.rounding import Estimate, gamma
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.choice.work import work_of

_EASE = 0.7  # L is tried this much lower at each step
_NO_EXCESS = 1e-12  # of J_mu and D: if the one exceeds the other by no more, it does by rounding
_DOUBLINGS = 60  # of L in one step, at most


def _effort(problem: Problem) -> Effort:
    """Five products a step, and sums over tables of n^2 numbers."""
    n, _, product, *_ = work_of(problem)
    return Effort(0.0, 4e7 + 5.0 * product + 400.0 * n**2, 500, 8.0 * 2 * n**2)


@needs(Countable, Euclidean, Plain, effort=_effort)
def pragam_entropy(problem: Problem, state: dict[str, Any] | None = None, *, L: float | None = None) -> Steps:
    """Two sums over all labellings a step, O(n^2) each. For contingency losses.

    Parameters
    ----------
    L : an upper bound of |r|^2 / alpha over all labellings; `lipschitz` gives one.
        By default it is found on the way.
    """
    state = state or {}
    family, resumes = _Family(problem), state.get("same") and state["given"] == L
    at = state["pair"] if resumes else family.start(L)
    while True:
        if not resumes:
            there = problem.tangent(at.scores, at.b)
            primal = problem.alpha * problem.penalty.value(at.w) + there.value
            now: dict[str, Any] = {"given": L, "pair": at}
            yield Iterate(at.w, there.b, family.minorant(at.z), primal, now.copy)
        resumes = False
        at = family.step(at, L)


def lipschitz(problem: Problem) -> float:
    """An upper bound of |r|^2 / alpha over all labellings: (sum_i s_i |x_i|)^2 / alpha, s_i the largest slope
    of the risk in the score of sample i."""
    distances = problem.design.distances(problem.penalty, np.zeros(problem.design.shape[1]))
    return float(problem.form(Countable).risk.step @ distances) ** 2 / problem.alpha


@storable
class _Point(NamedTuple):
    """The means over a distribution of labellings."""

    u: Vector
    v: Slope  # A'u
    delta: float


@storable
class _Pair(NamedTuple):
    """w, its scores, the smoothed response there and its offset; z with J_mu(w) <= D(z)."""

    w: Slope
    scores: Vector
    response: Gibbs
    b: Vector
    z: _Point
    mu: float
    L: float
    k: int


class _Family:
    """What Pragam needs of a problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.labellings = problem, Labellings(problem.form(Countable).risk)
        self.largest = float(np.abs(self.labellings.loss).max())
        # labellings that differ in all samples, were they all as far out as the farthest
        self.farthest = float(self.labellings.risk.step.sum() * problem.design.row_sizes.max())
        self.log_centre = self.gibbs(0.0, np.zeros(problem.design.shape[0]))[0].log_z

    def gibbs(self, sharpness: float, exponent: Vector, shift: float = 0.0) -> tuple[Gibbs, float]:
        """G, and the shift of its exponent that an intercept asks for, sought from the one given."""
        if self.problem.n_offsets:
            return self.labellings.balanced(sharpness, exponent, shift)
        return self.labellings.gibbs(sharpness, exponent), 0.0

    def point(self, gibbs: Gibbs) -> _Point:
        return _Point(gibbs.u, self.problem.design.adjoint(gibbs.u), gibbs.delta)

    def minorant(self, z: _Point) -> Minorant:
        """A mean over labellings, all of them cuts; its sums run over the samples."""
        lost = gamma(64 * len(z.u) + 256)
        return self.problem.accumulated(z.u, Estimate(z.delta, lost * self.largest), lost * self.farthest)

    def answer(self, z: _Point) -> Slope:
        """w(z), the minimiser of the penalty plus the minorant."""
        return z.v / -self.problem.alpha

    def pair(self, w: Slope, scores: Vector, b: Vector, z: _Point, mu: float, L: float, k: int) -> _Pair:
        response, shift = self.gibbs(1.0 / mu, scores / mu, float(b.sum()) / mu)
        return _Pair(w, scores, response, np.full_like(b, mu * shift), z, mu, L, k)

    def start(self, L: float | None) -> _Pair:
        """From the flattest distribution, the centre of the entropy."""
        centre = self.point(self.gibbs(0.0, np.zeros(self.problem.design.shape[0]))[0])
        w, b = self.answer(centre), np.zeros(self.problem.n_offsets)
        scores = self.problem.scores(w)
        if L is not None:
            z = self.point(self.gibbs(1.0 / L, scores / L)[0])
            return self.pair(w, scores, b, z, 2.0 * L, L, 0)
        trial = max(float(centre.v @ centre.v) / self.problem.alpha, 1e-3)
        for _ in range(_DOUBLINGS):
            z = self.point(self.gibbs(1.0 / trial, scores / trial)[0])
            pair = self.pair(w, scores, b, z, trial, trial, 0)
            if self.holds(pair):
                break
            trial *= 2
        return pair

    def step(self, at: _Pair, L: float | None) -> _Pair:
        if L is not None:
            return self.move(at, L, 2.0 / (at.k + 3))
        first = self.point(at.response)
        trial = _EASE * at.L
        for _ in range(_DOUBLINGS):
            tau = 2 * at.mu / (at.mu + np.sqrt(at.mu**2 + 4 * trial * at.mu))
            pair = self.move(at, trial, float(tau), first)
            if self.holds(pair):
                break
            trial *= 2
        return pair

    def move(self, at: _Pair, L: float, tau: float, first: _Point | None = None) -> _Pair:
        first = self.point(at.response) if first is None else first
        between = _mix(at.z, first, tau)
        w = self.answer(between)
        scores = self.problem.scores(w)
        g = tau / ((1 - tau) * at.mu)
        shift = float(at.b.sum()) / at.mu
        second, _ = self.gibbs(1.0 / at.mu + g, at.scores / at.mu + g * scores, shift)
        z = _mix(at.z, self.point(second), tau)
        w, scores = (1 - tau) * at.w + tau * w, (1 - tau) * at.scores + tau * scores
        return self.pair(w, scores, at.b, z, (1 - tau) * at.mu, L, at.k + 1)

    def smoothed(self, at: _Pair) -> float:
        """J_mu(w)."""
        risk = at.mu * (at.response.log_z - self.log_centre)
        return self.problem.alpha * self.problem.penalty.value(at.w) + risk

    def holds(self, at: _Pair) -> bool:
        """Is J_mu(w) <= D(z), up to rounding?"""
        smoothed, dual = self.smoothed(at), self.problem.dual(self.minorant(at.z))
        return smoothed <= dual + _NO_EXCESS * (abs(smoothed) + abs(dual))


def _mix(first: _Point, second: _Point, share: float) -> _Point:
    keep = 1 - share
    u, v = keep * first.u + share * second.u, keep * first.v + share * second.v
    return _Point(u, v, float(keep * first.delta + share * second.delta))
