"""Smoothing that gives way: L-BFGS on a rounded risk, again and again about a better centre.

Round the risk off near a guess of the dual solution,

    R_mu(f) = max over z in Q of  <u(z), f> - h(z) - mu |z - centre|^2 / 2.

That has a gradient, A'u(z) for the maximiser z, and J_mu = alpha Omega + R_mu is strongly convex: L-BFGS is
quick on it. z is a dual point, so that every gradient is a lower bound as well. Once J_mu is minimised well
enough in view of the gap, its maximiser becomes the next centre and mu is halved. As the centre approaches
the solution the rounding costs ever less, so mu need not become small (with a centre that stays, it must).

Scores are linear in w. A line search therefore costs proximal steps, O(n) each, and no pass over X; offsets
are eliminated exactly by the proximal step.
"""

from typing import Any

import numpy as np

from gapfit._types import Slope
from gapfit.design.forms import Plain
from gapfit.losses.forms import Parabola, Smooth
from gapfit.penalties.forms import Euclidean, Quadratic
from gapfit.problem import Problem
from gapfit.records import Kept
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.choice.work import work_of
from gapfit.solvers.dual_sets import PROJECTABLE, dual_set
from gapfit.solvers.dual_sets.base import DualSet
from gapfit.solvers.dual_sets.quasi_newton import Memory

_SOLVED = 0.3  # J_mu is minimised well enough when its own gap is such a share of the whole
_SHARPEN = 0.5  # times mu, if the last centre was easy
_EASY = 40  # steps about one centre: after more, mu stays
_PATIENCE = 200  # steps about one centre, at most
_MANY = 600.0  # steps have been enough so far, however hard the problem was
_MEMORY = 40  # pairs that L-BFGS remembers
_FLAT = 0.4  # of the first slope: there a line search ends
_LEAST = 1e-200  # mu: then a maximiser does not depend on its centre any more
_SEARCH = 30  # looks at the slope in a line search, at most


def _effort(problem: Problem) -> Effort | None:
    """Two products a step; L-BFGS keeps pairs of vectors. Kinks are rounded less and less: steps are more.

    Its intercepts are not the best ones at its points: other methods do as well under quadratic forms.
    """
    if problem.n_offsets and not problem.penalty.has(Euclidean):
        return None
    n, d, product, _, hard, short, _ = work_of(problem)
    steps = min(2.7 * problem.risk.outputs * (hard * short) ** 0.3, _MANY)
    if problem.has(Smooth):
        steps = 4.0 * hard**0.12 * (1.0 if problem.has(Parabola) else short**0.45)
    step = 1e6 + 2.5 * product + 100.0 * n + 170.0 * d
    return Effort(3e6 + 5 * product + 1e3 * n, step, steps, 8.0 * 2 * _MEMORY * d)


@needs(PROJECTABLE, Quadratic, Plain, effort=_effort)
def smoothing(problem: Problem, state: dict[str, Any] | None = None) -> Steps:
    """One step: an L-BFGS step on the rounded risk, with one product with X and one with its transpose."""
    path = _Path(dual_set(problem))
    state = state or {}
    if state.get("same"):
        path.restore(state["path"])
        path.memory.restore(state["memory"])
        path.move()
    else:
        path.start(state.get("w", problem.start()))
    while True:
        path.look()
        yield Iterate(path.w, path.b, path.bound, path.primal, path.snapshot)
        if not path.move():
            return  # what is left to gain is rounding


class _Path(Kept):
    """A point w with its scores, and the rounding it is near: a centre, mu, and the maximiser z there."""

    KEPT = ("w", "scores", "centre", "mu", "z", "b", "a", "pull", "gradient", "steps", "gap")

    def __init__(self, Q: DualSet) -> None:
        self.Q, self.problem = Q, Q.problem
        self.memory = Memory(_MEMORY, Q.problem.penalty)
        self.steps = 0  # about this centre

    def start(self, w: Slope) -> None:
        """Begin at w with a rounding that reaches most samples."""
        self.w, self.scores = w, self.Q.scores(w)
        self.centre, self.mu = self.Q.centre, self.Q.width(self.scores)
        self._respond()

    def snapshot(self) -> dict[str, Any]:
        return {"path": self.state(), "memory": self.memory.state()}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.Q.b = self.b

    def look(self) -> None:
        """Evaluate both bounds."""
        risk, h = self.Q.values(self.scores, self.b, self.z)
        self.bound = self.Q.minorant(self.a, self.z, h)
        self.primal = self.problem.alpha * self.problem.penalty.value(self.w) + risk
        self.gap = self.primal - self.problem.dual(self.bound)

    def move(self) -> bool:
        """An L-BFGS step, about a new centre if that is due; False if nothing moves any more."""
        if self._solved() or self.steps >= _PATIENCE:
            if self.centre is not self.Q.centre:
                self.Q.recycle(self.centre)
            self.centre, self.mu = self.z, self.mu * (_SHARPEN if self.steps <= _EASY else 1.0)
            self.steps = 0
            self._respond()
        self.steps += 1
        gradient = self.gradient
        direction = self.memory.direction(gradient, 1.0 / self.problem.alpha)
        fall = float(gradient @ direction)
        if not fall < 0:
            return self._forget()
        step = self._search(fall, direction)
        if step is None:
            return self._forget()
        self.memory.add(step, self.gradient - gradient)
        return True

    def _forget(self) -> bool:
        """What is remembered misleads: the next step goes down the gradient. If this one did, w is where it
        should be, but for rounding: about another centre the dual point may still move on. False if not."""
        misled = bool(self.memory.used)
        self.memory.clear()
        return misled or (self._solved() and self.mu > _LEAST)

    def _respond(self) -> None:
        self.z, self.b = self.Q.step(self.centre, self.scores, 1.0 / self.mu)
        self._arrive()

    def _arrive(self) -> None:
        """At a point whose maximiser is known."""
        (self.a,) = self.problem.design.adjoints(self.Q.slope(self.z))
        self.pull = self.problem.alpha * self.problem.penalty.subgradient(self.w)
        self.gradient = self.pull + self.a

    def _solved(self) -> bool:
        """Is J_mu(w) near its minimum, in view of the whole gap?"""
        left = self.problem.inner(self.gradient, self.gradient) / (2 * self.problem.alpha)
        return bool(left <= _SOLVED * self.gap)

    def _search(self, initial: float, direction: Slope) -> Slope | None:
        """Go along the direction to where the slope of J_mu nearly vanishes; it rises all the way."""
        problem = self.problem
        along = problem.design.scores(direction)
        constant = float(self.pull @ direction)
        linear = problem.alpha * float(problem.penalty.subgradient(direction) @ direction)
        line = self.Q.line(self.centre, self.scores, along, 1.0 / self.mu)
        low, high, low_slope, high_slope = 0.0, np.inf, initial, np.inf
        # without a memory the length means nothing; that to the end of the rounding is a guess
        t = 1.0 if self.memory.used else self.mu / max(float(np.abs(along).max()), 1e-300)
        for _ in range(_SEARCH):
            reached = t
            slope = constant + t * linear + line.slope(t)
            if abs(slope) <= _FLAT * abs(initial):
                break
            if slope > 0:  # the other end counts half from now on, or it would stay for ever
                high, high_slope, low_slope = t, slope, 0.5 * low_slope
                t = _between(low, high, low_slope, high_slope)
            elif high < np.inf:
                low, low_slope, high_slope = t, slope, 0.5 * high_slope
                t = _between(low, high, low_slope, high_slope)
            else:
                further = (t - low) * slope / (low_slope - slope) if slope > low_slope else np.inf
                low, low_slope, t = t, slope, t + min(max(further, 0.2 * t), 3.0 * t)
        else:
            if low == 0.0:
                return None
        if self.z is not self.centre:
            self.Q.recycle(self.z)
        self.z, self.b = line.stop()
        along *= reached
        self.scores += along
        step = reached * direction
        self.w = self.w + step
        self._arrive()
        return step


def _between(low: float, high: float, low_slope: float, high_slope: float) -> float:
    """Where the slope would vanish if it were linear, well inside."""
    share = low_slope / (low_slope - high_slope)
    return low + min(max(share, 0.01), 0.99) * (high - low)
