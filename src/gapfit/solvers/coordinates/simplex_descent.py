"""The variables of dual coordinate descent over classes, and what is done with them. See `simplex_cd`."""

from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Vector
from gapfit.design.forms import WideRows
from gapfit.losses.multiclass import Simplices
from gapfit.losses.vector import one_hot
from gapfit.problem import Problem
from gapfit.records import Kept, storable

_REVISITS = 8  # visits to active samples in an epoch, at most, in units of n
_ENOUGH = 0.1  # of the gap that all samples had, left in the active ones, ends an epoch
_EASY = 16  # visits to each sample before anything but sweeps is tried
_BETWEEN = 400  # visits between attempts to go beyond sweeps: so many take as long as one
_NO_GAIN = 1e-13  # of alpha |W|^2 is too little to gain: rounding would show
_FAR = 100.0  # times a way is too far to go: the rounding in it would show
_PAUSE = 64  # sweeps, at most, without an attempt to go beyond them: it costs as much as a sweep of some rows
_START = 0.05  # of a share that softmax begins with: logarithms of zero are none
_GIVE = {False: 8.0, True: 32.0}  # offset for each unit of imbalance that the losses make up for; by entropic


class SimplexDescent(Kept):
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
        return {**self.state(), "u": self.u(), "b": self.h.copy()}

    def _refresh(self) -> None:
        """Weights and sums from the shares, afresh: rounding must not add up."""
        B = (self.truth_rows - self.A) * self.p[:, None]
        lanes = self.compiled.LANES
        self.W = np.zeros((self.narrow.shape[1], -(-self.K // lanes) * lanes))
        self.W[:, : self.K] = self.narrow.adjoint(B) / self.problem.alpha
        self.s = B.sum(axis=0) if self.problem.n_offsets else np.zeros(self.K)
        self.h = self.intercepts + self.rho * self.s - self.mean @ self.weights()

    def dual(self) -> float:
        """What the shares are worth, were they balanced."""
        worth = float((self.A * self.prices).sum()) - float(self.p @ self.entropy)
        return worth - 0.5 * self.problem.alpha * float((self.weights() ** 2).sum())

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
            self.h = target.bias - self.mean @ self.weights()
            self.compiled.readmit(self.field, self.A, self.compiled.Live(self.classes, self.live))
            here = target
        self.way = here.minus(self.before)
        self.before = here

    way: "Way"
    before: "Way"

    def _set_out(self) -> None:
        """From here the next sweep goes its way, over the samples that are active now and no others."""
        self.field = self.order
        self.way, self.before = Way.of(self), self._here()

    def _maximum_over(self, ways: list["Way"], here: "Way") -> "Way | None":
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
        there = Way(A, here.W + dW, here.s + ds, here.bias + rho * ds)
        step = self._centred(Way(dA, dW, ds, ds))
        gain = np.vdot(prices, dA) - alpha * np.vdot(step, now + 0.5 * step)
        gain -= ds @ (here.bias + 0.5 * rho * ds)
        return there if gain > _NO_GAIN * alpha * np.vdot(now, now) else None

    def _here(self) -> "Way":
        bias = self.h + self.mean @ self.weights()
        return Way(self.A[self.field], self.W.copy(), self.s.copy(), bias)

    def _centred(self, way: "Way") -> Any:
        W = way.W[:, : self.K]
        return W - np.outer(self.mean, way.s) / self.problem.alpha if self.problem.n_offsets else W.copy()

    def weights(self) -> Any:
        """W about the mean row."""
        return self.W[:, : self.K] - np.outer(self.mean, self.s) / self.problem.alpha

    def u(self) -> Vector:
        return np.asarray(((self.A - self.truth_rows) * self.p[:, None]).ravel())


@storable
class Way(NamedTuple):
    """A point, or a difference of two; the shares are those of the samples in the field."""

    A: Any
    W: Any
    s: Vector
    bias: Vector

    @classmethod
    def of(cls, descent: SimplexDescent) -> "Way":
        """None at all."""
        A = np.zeros((len(descent.field), descent.K))
        return cls(A, *(np.zeros_like(x) for x in (descent.W, descent.s, descent.h)))

    def minus(self, other: "Way") -> "Way":
        return Way(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))
