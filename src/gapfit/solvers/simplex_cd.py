"""Dual coordinate descent for losses over classes, a sample at a time: Crammer-Singer and softmax with L2.

With shares a_i of the classes, points of a simplex, and b_i = p_i (e_y - a_i), the dual is

    maximise over a:  sum_i p_i (<a_i, cost_i> - h(a_i)) - alpha |W|^2 / 2,   W = (1 / alpha) sum_i x_i b_i'
    subject to, with intercepts,  s := sum_i b_i = 0.

All shares of one sample at a time: that is a projection onto the simplex for Crammer-Singer (h = 0) and a few
Newton steps for softmax (h(a) = sum a log a). It costs one visit to one row, since W is kept up to date.

The intercepts are the multipliers of s = 0, which no single sample can move along. An augmented Lagrangian
relaxes it: h = intercepts + rho s is added to the scores, and rho s to the intercepts after every sweep. The
origin is moved to the mean row, which changes nothing where s = 0 and takes the direction of the intercepts
out of |W|^2; the formulas do that, never the data.

Acceleration: sweeps alone converge like a gradient method. For Crammer-Singer the dual is quadratic, and its
maximum over the plane through the last sweep's way and that of the step before costs a few sums. That makes
sweeps the preconditioner of a conjugate gradient method. Where the plane leaves the simplices, shares are
projected back; a step that does not gain is not taken, and the next attempt waits. Only the samples that the
last sweeps have visited count: the ways begin anew where these are half as many, or all of them again.

Shrinking: a sample of a margin loss soon has few classes to choose from, since most are far behind; these are
left out of its steps, and with one class left it rests. Sweeps over what remains are followed by one over all
samples and classes, in which none is lost.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from gapfit import limits
from gapfit._types import Slope, Vector
from gapfit.design.forms import WideRows
from gapfit.losses.multiclass import Simplices
from gapfit.losses.vector import one_hot
from gapfit.minorant import Minorant
from gapfit.penalties.forms import Euclidean
from gapfit.problem import Problem
from gapfit.records import Kept, storable
from gapfit.solution import Iterate
from gapfit.solvers.base import Steps, needs

_REVISITS = 8  # visits to active samples in an epoch, at most, in units of n
_ENOUGH = 0.1  # of the gap that all samples had, left in the active ones, ends an epoch
_NEWS = 0.7  # of the gap last told: one so small is told after two visits to each sample
_GREAT_NEWS = 0.3  # of the gap last told: one so small is told at once
_SILENCE = 8  # visits to each sample, after which the driver is told anyway
_EASY = 16  # visits to each sample before anything but sweeps is tried
_HARDLY = 0.9  # of a gap, left after as many visits as had gone before: that is no progress
_LOOKS = 40  # iterates that tell their gap
_BETWEEN = 400  # visits between attempts to go beyond sweeps: so many take as long as one
_NO_GAIN = 1e-13  # of alpha |W|^2 is too little to gain: rounding would show
_FAR = 100.0  # times a way is too far to go: the rounding in it would show
_PAUSE = 64  # sweeps, at most, without an attempt to go beyond them: it costs as much as a sweep of some rows
_START = 0.05  # of a share that softmax begins with: logarithms of zero are none
_GIVE = {False: 8.0, True: 32.0}  # offset for each unit of imbalance that the losses make up for; by entropic


@needs(Simplices, Euclidean, WideRows)
def simplex_cd(
    problem: Problem, state: dict[str, Any] | None = None, *, seed: int = 0, patience: float | None = None
) -> Steps:
    """Coordinate descent on the dual, all classes of a sample at once, in random order with shrinking.

    One step, one sweep or more.

    Parameters
    ----------
    seed : of the order in which samples are visited.
    patience : give up after so many visits to each sample, if in the second half of them the gap has hardly
        fallen. By default never.
    """
    descent = _Descent(problem, state or {}, seed)
    trial = descent.trial
    if patience is not None and trial is None:
        trial = descent.trial = _Trial(patience * descent.n)
    while True:
        limits.look()
        descent.sweep()
        if trial is not None and trial.failed(descent.made, descent.gap):
            return
        descent.step_beyond()
        if descent.has_news():
            yield descent.iterate()


class _Trial:
    """Whether the gap falls in the second half of some visits, after which there is no more to say."""

    def __init__(self, visits: float, half_way: float = np.inf) -> None:
        self.visits, self.half_way = visits, half_way

    def failed(self, made: int, gap: float) -> bool:
        """After so many visits and with this gap, is it time to give up?"""
        if made < 0.5 * self.visits:
            return False
        if self.half_way == np.inf:
            self.half_way = gap
        over, self.visits = made >= self.visits, np.inf if made >= self.visits else self.visits
        return over and gap > _HARDLY * self.half_way


class _Descent(Kept):
    """The variables of the descent, and what is done with them."""

    def __init__(self, problem: Problem, state: dict[str, Any], seed: int) -> None:
        from gapfit.compiled import multiclass  # compiled code is loaded only when it is to run
        from gapfit.compiled.rows import as_rows, squared_norms

        self.compiled, self.problem = multiclass, problem
        self.simplices = problem.form(Simplices)
        self.p, self.truth = self.simplices.p, self.simplices.truth
        self.narrow, self.K = problem.form(WideRows)
        self.n = self.narrow.shape[0]
        self.rows = as_rows(*self.narrow.rows())
        squares = squared_norms(self.rows)
        self.mean, self.along, self.rho = np.zeros(self.narrow.shape[1]), np.zeros(self.n), 0.0
        if problem.n_offsets:
            self.mean = self.narrow.adjoint(self.p)
            self.along = self.narrow.scores(self.mean)
            # |x - mean|^2, expanded; where that cancels, rounding is all there is to know of it
            squares = np.maximum(squares - 2 * self.along + self.mean @ self.mean, 1e-15 * squares)
            cost = float(np.max(self.simplices.costs, initial=0.0)) or 1.0
            spread = float(self.p @ squares) / problem.alpha
            self.rho = 0.01 * spread + cost * _GIVE[self.simplices.entropic]
        self.q = self.p * (squares / problem.alpha + self.rho)
        self.table = np.empty(self.n, multiclass.SAMPLE)
        self.table["p"], self.table["curvature"], self.table["along"] = self.p, self.q, self.along
        self.known = problem.offset.reshape(self.n, -1) if problem.offset.any() else np.zeros((1, self.K))
        self.rng = np.random.default_rng(seed)
        self.truth_rows = one_hot(self.truth, self.K)
        self.prices = (self.simplices.costs[self.simplices.row] + self.known) * self.p[:, None]
        self.A, self.intercepts = self._start(state)
        self.entropy = np.zeros(self.n)
        if self.simplices.entropic:
            self.entropy = (self.A * np.log(self.A)).sum(axis=1)
        self.classes, self.live = np.empty((self.n, self.K), np.uint16), np.empty(self.n, np.uint16)
        self._look_at_all()
        self.gap, self.full_gap, self.threshold = 0.0, np.inf, np.inf
        self.told, self.untold, self.looks, self.made, self.tried = np.inf, 0, 0, 0, 0
        self._refresh()
        self._set_out()
        self.trial: _Trial | None = None
        self.wait, self.pause = 1, 1  # sweeps until the next attempt to go beyond them
        if state.get("same"):
            self.restore(state)

    def _start(self, state: dict[str, Any]) -> tuple[Any, Vector]:
        """The shares and intercepts to begin with."""
        u, b = state.get("u", np.empty(0)), state.get("b", np.zeros(self.K))
        A = self.truth_rows.copy()
        if u.shape == (self.n * self.K,):
            A = self.simplices.shares(u)
        floor = _START / self.K if u.size == 0 else 1e-12
        if self.simplices.entropic:
            A = (1 - self.K * floor) * A + floor
        return A, np.array(b if len(b) == self.K else np.zeros(self.K))

    # -- state ----------------------------------------------------------------------------------------------

    KEPT = (
        "A", "entropy", "W", "s", "h", "intercepts", "order", "field", "classes", "live", "gap", "full_gap",
        "threshold", "told", "visits", "untold", "looks", "made", "tried", "wait", "pause", "way", "before",
        "rng",
    )  # fmt: skip

    def snapshot(self) -> dict[str, Any]:
        """For another alpha, shares u and intercepts b are a start."""
        trial = None if self.trial is None else (self.trial.visits, self.trial.half_way)
        return {**self.state(), "u": self._u(), "b": self.h.copy(), "trial": trial}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        if state["trial"] is not None:
            self.trial = _Trial(*state["trial"])

    def _refresh(self) -> None:
        """Weights and sums from the shares, afresh: rounding must not add up."""
        B = (self.truth_rows - self.A) * self.p[:, None]
        lanes = self.compiled.LANES
        self.W = np.zeros((self.narrow.shape[1], -(-self.K // lanes) * lanes))
        self.W[:, : self.K] = self.narrow.adjoint(B) / self.problem.alpha
        self.s = B.sum(axis=0) if self.problem.n_offsets else np.zeros(self.K)
        self.h = self.intercepts + self.rho * self.s - self.mean @ self._weights()

    # -- steps ----------------------------------------------------------------------------------------------

    def _look_at_all(self) -> None:
        """An epoch begins: all samples, and all classes of each."""
        self.order, self.full_gap, self.visits = np.arange(self.n), np.inf, 0
        self.classes[:] = np.arange(self.K)
        self.live[:] = self.K

    def sweep(self) -> None:
        """One sweep over the active samples; over all of them when an epoch begins."""
        if self.gap <= _ENOUGH * self.full_gap or len(self.order) == 0 or self.visits >= _REVISITS * self.n:
            self._look_at_all()
            if self.wait <= 0:
                self._set_out()
        order = self.rng.permutation(self.order)
        simplices, kernels = self.simplices, self.compiled
        losses = kernels.Losses(simplices.costs, simplices.row, self.known, simplices.entropic)
        point = kernels.Point(self.A, self.entropy, self.W, self.s, self.h)
        terms = kernels.Terms(1 / self.problem.alpha, self.rho, float(self.mean @ self.mean))
        live = kernels.Live(self.classes, self.live)
        self.gap, pulls = kernels.sweep(
            self.rows, losses, self.table, point, terms, live, order, self.threshold
        )
        self.h += self.rho * self.s
        if self.full_gap == np.inf:
            self.full_gap = self.gap
        self.threshold = pulls / max(len(order), 1)
        self.visits += len(order)
        self.made += len(order)
        self.untold += len(order)
        self.order = order[self.live[order] > 1]

    def step_beyond(self) -> None:
        """To the maximum over the plane of the last sweep's way and the last step's, near the simplices."""
        if self.simplices.entropic or self.made < _EASY * self.n:
            return
        if self.wait <= 0 and self.made < self.tried + _BETWEEN:
            return
        self.tried = self.made
        self.wait -= 1
        if self.wait > 0:
            return
        if self.wait == 0 or 2 * len(self.order) < len(self.field):
            self._set_out()
            return
        here = self._here()
        ways = [way for way in (here.minus(self.before), self.way) if way.s.any() or way.W.any()]
        target = self._maximum_over(ways, here) if ways else None
        if target is None:
            self.pause = min(2 * self.pause, _PAUSE)
            self.wait = self.pause
        else:
            self.pause = 1
            self.A[self.field], self.W, self.s = target.A, target.W.copy(), target.s.copy()
            self.h = target.bias - self.mean @ self._weights()
            self.compiled.readmit(self.field, self.A, self.compiled.Live(self.classes, self.live))
            here = target
        self.way = here.minus(self.before)
        self.before = here

    way: "_Way"
    before: "_Way"

    def _set_out(self) -> None:
        """From here the next sweep goes its way, over the samples that are active now and no others."""
        self.field = self.order
        self.way, self.before = _Way.of(self), self._here()

    def _maximum_over(self, ways: list["_Way"], here: "_Way") -> "_Way | None":
        """Where the quadratic dual is largest in these directions, its shares projected onto the simplices;
        None if it is not larger there after all."""
        from gapfit.compiled.simplices import project_rows

        alpha, rho, now = self.problem.alpha, self.rho, self._centred(here)
        prices = self.prices[self.field]
        centred = [self._centred(way) for way in ways]
        pairs = list(zip(ways, centred, strict=True))
        slope = [np.vdot(prices, way.A) - alpha * np.vdot(W, now) - way.s @ here.bias for way, W in pairs]
        curve = [[alpha * np.vdot(V, W) + rho * (one.s @ way.s) for way, W in pairs] for one, V in pairs]
        t = np.linalg.lstsq(np.array(curve), np.array(slope), rcond=1e-12)[0]
        if np.abs(t).max() > _FAR:
            return None
        # what changes, and what that gains, apart from what is there: else rounding would decide near the end
        dA, dW, ds = (sum(step * way[j] for step, way in zip(t, ways, strict=True)) for j in range(3))
        A = here.A + dA
        out = np.unique(np.flatnonzero(A.ravel() < 0) // self.K)
        inside = A[out]
        project_rows(inside, 0, len(out))
        samples = self.field[out]
        steps = (A[out] - inside) * self.p[samples, None]
        A[out], dA[out] = inside, inside - here.A[out]
        self.compiled.add_rows(self.rows, samples, steps / alpha, dW)
        if self.problem.n_offsets:
            ds += steps.sum(axis=0)
        there = _Way(A, here.W + dW, here.s + ds, here.bias + rho * ds)
        step = self._centred(_Way(dA, dW, ds, ds))
        gain = np.vdot(prices, dA) - alpha * np.vdot(step, now + 0.5 * step)
        gain -= ds @ (here.bias + 0.5 * rho * ds)
        return there if gain > _NO_GAIN * alpha * np.vdot(now, now) else None

    def _here(self) -> "_Way":
        bias = self.h + self.mean @ self._weights()
        return _Way(self.A[self.field], self.W.copy(), self.s.copy(), bias)

    def _centred(self, way: "_Way") -> Any:
        W = way.W[:, : self.K]
        return W - np.outer(self.mean, way.s) / self.problem.alpha if self.problem.n_offsets else W.copy()

    def _weights(self) -> Any:
        """W about the mean row."""
        return self.W[:, : self.K] - np.outer(self.mean, self.s) / self.problem.alpha

    def _u(self) -> Vector:
        return np.asarray(((self.A - self.truth_rows) * self.p[:, None]).ravel())

    # -- the driver -----------------------------------------------------------------------------------------

    def has_news(self) -> bool:
        """The gap has fallen by as much as is worth telling, or much work was done."""
        share = _NEWS if self.untold >= 2 * self.n else _GREAT_NEWS
        return self.gap <= share * self.told or self.untold >= _SILENCE * self.n + 1000

    def iterate(self) -> Iterate:
        """The point, and what is known of it."""
        self.told, self.untold = min(self.told, self.gap), 0

        def point() -> Slope:
            return np.asarray(self._weights().ravel())

        def minorant() -> Minorant:
            return self.problem.minorant_at(self._u())

        b = self.h.copy() if self.problem.n_offsets else np.zeros(0)
        self.looks += 1
        # where so many were not enough, the driver had better see for itself how things are
        gap = self._exact_gap() if self.looks <= _LOOKS else None
        return Iterate(point, b, minorant, None, self.snapshot, gap, None)

    def _exact_gap(self) -> float:
        """Of this point, with a guess of what balancing costs. Sweeps meet the samples' parts one by one."""
        G = self.narrow.scores(self._weights()) + (
            self.h + self.known + self.simplices.costs[self.simplices.row]
        )
        most = logsumexp(G, axis=1) + self.entropy if self.simplices.entropic else G.max(axis=1)
        gap = float(self.p @ (most - (self.A * G).sum(axis=1)))
        gap += 0.5 * float(np.abs(self.s).sum() * np.ptp(self.h))  # shares that must change their class
        return max(gap, 1e-15 * float(self.p @ np.abs(most)))  # rounding is no gap below zero


@storable
class _Way(NamedTuple):
    """A point, or a difference of two; the shares are those of the samples in the field."""

    A: Any
    W: Any
    s: Vector
    bias: Vector

    @classmethod
    def of(cls, descent: _Descent) -> "_Way":
        """None at all."""
        A = np.zeros((len(descent.field), descent.K))
        return cls(A, *(np.zeros_like(x) for x in (descent.W, descent.s, descent.h)))

    def minus(self, other: "_Way") -> "_Way":
        return _Way(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))
