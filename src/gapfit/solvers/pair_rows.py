"""Pairs as rows: where a ranking has few of them, it is a hinge problem on differences of rows of X.

A mean over pairs,

    R(X w) = sum over pairs of  weight max(0, 1 - <x_above - x_below, w>),

is looked at by sorting scores, whatever the number of pairs, which tells one plane at a time. With hardly
more pairs than samples that is slow: the methods for the hinge know a dual variable v for each pair, and need
fewer and cheaper steps. So `auto` solves the hinge problem that the differences pose. Newton's method needs
no rows of them, but products with X and sums over pairs; coordinate descent, for wide X, has them made.

Differences of rows are rounded, and so is all that follows from them; nothing of it is proof. What is handed
on is a point w, and v as planes of the risk itself: a pair whose hinge has the share v of its slope adds -v
to the slope in the score above, v to that below, and v to the height.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gapfit._types import Vector
from gapfit.design.base import Design
from gapfit.design.differences import DifferenceDesign
from gapfit.design.forms import Rows
from gapfit.design.memory import MemoryDesign
from gapfit.design.rows import row_differences
from gapfit.losses.forms import Pairs
from gapfit.losses.margin import Hinge
from gapfit.minorant import Minorant
from gapfit.penalties.forms import Euclidean, Grouped, Net
from gapfit.problem import Problem
from gapfit.room import ask_for
from gapfit.rounding import Estimate, gamma, plain_sum
from gapfit.solution import Certificate, Iterate
from gapfit.solvers.auto import auto
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.choice.shapes import is_small_shape

_NARROW = 500  # features, up to which Newton's method takes the pairs without their rows
_NUMBERS = 24  # for each pair, beside its row: what the methods for the hinge hold
_STEPS = 30


def _as_rows(problem: Problem, pairs: int) -> bool:
    """Are the differences to be made? Small data are copied anyway, and coordinate descent, for wide data and
    other penalties, reads rows."""
    d = problem.design.shape[1]
    return d > _NARROW or not problem.has(Euclidean) or is_small_shape(pairs, d)


def _effort(problem: Problem) -> Effort:
    """Two passes over X or over the differences a step, some numbers for each pair, and a Gram matrix where
    features are few."""
    (n, d), size = problem.design.shape, float(problem.design.size)
    pairs = problem.form(Pairs).number()
    rows = min(2 * size / n, d) * pairs if _as_rows(problem, pairs) else 0.0
    gram = n * d**2 / 2 + d**3 / 3 if d <= _NARROW else 0.0
    step = 2 * (rows or size) + _NUMBERS * pairs + gram
    return Effort(rows + _NUMBERS * pairs, step, _STEPS, 8.0 * (2 * rows + _NUMBERS * pairs))


@needs(Pairs, (Euclidean, Net, Grouped), Rows, effort=_effort)
def pair_rows(problem: Problem, state: dict[str, Any] | None = None, *, seed: int = 0) -> Steps:
    """One step: one of the solver that `auto` takes for the differences. For rankings of few pairs.

    Parameters
    ----------
    seed : for the solvers that draw at random.
    """
    state, hinges = state or {}, _Hinges(problem)
    if not hinges.total > 0:
        return  # all weights have underflowed
    inner: dict[str, Any] = {**state.get("inner", {}), "same": state.get("same", False)}
    inner.update((name, state[name]) for name in ("w",) if name in state and not inner["same"])
    if "certificate" in state:
        inner["certificate"] = hinges.told(state["certificate"])
    steps, certificate = auto(hinges.problem, inner, seed=seed), None
    while True:
        try:
            iterate = next(steps) if certificate is None else steps.send(hinges.told(certificate))
        except StopIteration:
            return
        certificate = yield hinges.iterate(iterate)


class _Hinges:
    """The hinge problem that the pairs pose, and its answers in terms of the samples. Its J is J / total."""

    def __init__(self, problem: Problem) -> None:
        self.outer, pairs = problem, problem.form(Pairs)
        what = f"solver pair_rows with {pairs.number()} pairs of samples"
        ask_for(_effort(problem).memory, what, "solver='bundle' takes the problem without making pairs")
        self.above, self.below, self.weight = pairs.made()
        self.total = float(self.weight.sum())
        if not self.total > 0:
            return
        offset = None
        if problem.shifted:
            offset = problem.offset[self.above] - problem.offset[self.below]
        self.problem = Problem(
            self._differences(), np.ones(len(self.weight)), Hinge(), problem.penalty,
            problem.alpha / self.total, self.weight, False, offset,
        )  # fmt: skip

    def _differences(self) -> Design:
        """As rows where these are read one by one; else products with X will do, however many pairs."""
        matrix = self.outer.form(Rows).matrix
        if _as_rows(self.outer, len(self.weight)):
            return MemoryDesign(row_differences(matrix.X, self.above, self.below))
        return DifferenceDesign(matrix, self.above, self.below)

    def told(self, certificate: Certificate) -> Certificate:
        """What is known of J, as the solver of the hinge problem is to hear it."""
        primal, dual, gap, evidence = certificate
        return Certificate(primal / self.total, dual / self.total, gap / self.total, evidence)

    def iterate(self, inner: Iterate) -> Iterate:
        """An iterate of the hinge problem, as one of the ranking."""
        total = self.total
        claim = inner.objective if inner.primal is None else inner.primal
        bound = None if inner.minorant is None else partial(self._bound, inner.minorant)
        way = [(total * J, total * gap) for J, gap in inner.way]
        return Iterate(
            inner.w, np.zeros(0), bound, None, partial(_snapshot, inner.snapshot),
            None if inner.estimate is None else total * inner.estimate,
            partial(_scaled, total, claim) if callable(claim) else None if claim is None else total * claim,
            way=way,
        )  # fmt: skip

    def _bound(self, minorant: Minorant | Callable[[], Minorant]) -> Minorant:
        """The planes of all pairs, by their shares at the dual point that the minorant was made of."""
        problem, u = self.outer, (minorant() if callable(minorant) else minorant).u
        if u is None:
            return problem.nothing()
        n = problem.design.shape[0]
        v: Vector = np.clip(-self.total * u, 0.0, self.weight)
        pulled, pushed = (np.bincount(which, v, n).astype(float) for which in (self.below, self.above))
        # by sums over the pairs of a sample, and by the weights, as far as the risk rounds them
        lost = gamma(problem.risk.roundings(pulled))
        height = plain_sum(v)
        c = Estimate(height.value, height.error + lost * height.value)
        return problem.accumulated(pulled - pushed, c, problem.design.reach(lost * (pulled + pushed)))


def _scaled(total: float, claim: Callable[[], float]) -> float:
    return total * claim()


def _snapshot(inner: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The solver's own state, apart, so that nobody takes it for one of the ranking; whether it has ended."""
    if not (state := inner()):
        return {}
    return {"inner": state, "ended": bool(state.get("ended"))}
