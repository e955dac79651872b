"""Pairs as rows: where a ranking has few of them, it is a hinge problem on differences of rows of X.

A mean over pairs,

    R(X w) = sum over pairs of  weight max(0, 1 - <x_above - x_below, w>),

is looked at by sorting scores, whatever the number of pairs, which tells one plane at a time. With hardly
more pairs than samples that is slow: the methods for the hinge know a dual variable v for each pair, and need
fewer and cheaper steps. So `auto` solves the hinge problem that the differences pose. Newton's method needs
no rows of them, but products with X and sums over pairs; coordinate descent, for wide X, has them made.

What is handed on is a point w, and v as planes of the risk itself (`choice.other_rows`): a pair whose hinge
has the share v of its slope adds -v to the slope in the score above, v to that below, and v to the height.
"""

from functools import partial
from typing import Any

import numpy as np

from gapfit._types import Slope, Vector
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
from gapfit.solvers.auto import auto
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.bundle import effort_of_cuts
from gapfit.solvers.choice.other_rows import OtherRows
from gapfit.solvers.choice.shapes import is_small_shape

_NARROW = 500  # features, up to which Newton's method takes the pairs without their rows
_NUMBERS = 24  # for each pair, beside its row: what the methods for the hinge hold
_WORTH = 15  # pairs for each sample are as much work as cuts
_WORTH_OF_WIDE = 50  # the same, where features are more than samples: cuts are very many then
_A_FEW = 20_000  # beside: calls of NumPy are all of the time then


def _as_rows(problem: Problem, pairs: int) -> bool:
    """Are the differences to be made? Small data are copied anyway, and coordinate descent, for wide data and
    other penalties, reads rows."""
    d = problem.design.shape[1]
    return d > _NARROW or not problem.has(Euclidean) or is_small_shape(pairs, d)


def _effort(problem: Problem) -> Effort:
    """As far as is known, what cuts take, times the pairs by those that a sort is worth; rows are made."""
    (n, d), size, cuts = problem.design.shape, float(problem.design.size), effort_of_cuts(problem)
    pairs = problem.form(Pairs).number()
    rows = min(2 * size / n, d) * pairs if _as_rows(problem, pairs) else 0.0
    share = pairs / (_A_FEW + (_WORTH_OF_WIDE if d > n else _WORTH) * n)
    return cuts._replace(steps=share * cuts.steps, memory=8.0 * (2 * rows + _NUMBERS * pairs))


@needs(Pairs, (Euclidean, Net, Grouped), Rows, effort=_effort)
def pair_rows(problem: Problem, state: dict[str, Any] | None = None, *, seed: int = 0) -> Steps:
    """One step: one of the solver that `auto` takes for the differences. For rankings of few pairs.

    Parameters
    ----------
    seed : for the solvers that draw at random.
    """
    hinges = _Hinges(problem)
    if hinges.total > 0:  # else all weights have underflowed
        yield from hinges.steps(state or {}, partial(auto, seed=seed))


class _Hinges(OtherRows):
    """The hinge problem that the pairs pose."""

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

    def inside(self, w: Slope) -> Slope:
        return w

    def outside(self, w: Slope) -> tuple[Slope, Vector]:
        return w, np.zeros(0)

    def plane(self, u: Vector) -> Minorant:
        """The planes of all pairs, by their shares."""
        problem, n = self.outer, self.outer.design.shape[0]
        v: Vector = np.clip(-u, 0.0, self.weight)
        pulled, pushed = (np.bincount(which, v, n).astype(float) for which in (self.below, self.above))
        # by sums over the pairs of a sample, and by the weights, as far as the risk rounds them
        lost = gamma(problem.risk.roundings(pulled))
        height = plain_sum(v)
        c = Estimate(height.value, height.error + lost * height.value)
        return problem.accumulated(pulled - pushed, c, problem.design.reach(lost * (pulled + pushed)))
