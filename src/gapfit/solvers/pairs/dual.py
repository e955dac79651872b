"""The dual of a kernel machine as pairwise solvers see it.

    minimise  1/2 v'Kv + 1/2 sum quad v^2 - <target, v> + sum kink |v|,   lower <= v <= upper,  sum v = total

where v are the coefficients of the function itself, w = v. Without an intercept there is no sum to keep; then
a phantom variable with an empty row of K takes up whatever the others leave, and all else stays the same.
"""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gapfit._types import Indices, Matrix, Vector
from gapfit.design.gram import Over
from gapfit.design.kept import KeptColumns
from gapfit.design.kernel import Gram
from gapfit.losses.atoms import Atoms
from gapfit.losses.forms import Conjugate
from gapfit.minorant import Minorant
from gapfit.offset import best_offsets, offset_interval
from gapfit.problem import Problem
from gapfit.projections import filled, project_box_hyperplane
from gapfit.records import Kept
from gapfit.rounding import EPS
from gapfit.solution import Iterate
from gapfit.solvers.coordinates.kinds import coordinates

OUTSIDE = 1e-6  # of the largest variable: so far beyond its bound, one is projected right on to it
_AT_BOUND = 1e-13  # of the largest variable: as far as rounding may move one from its bound


class Slopes(NamedTuple):
    """What it gains to raise and to lower each variable: its slope on either side, infinite at a bound."""

    up: Vector  # least at those that should rise
    down: Vector  # largest at those that should fall
    highest: float  # of the slopes of variables that can fall
    lowest: float  # of those that can rise

    @property
    def violation(self) -> float:
        """By how much the optimality conditions fail; b is between the two."""
        return self.highest - self.lowest

    @property
    def middle(self) -> float:
        return 0.5 * (self.highest + self.lowest)


class Dual(Kept):
    """v, the scores f = Kv, and the bounds they prove."""

    KEPT: ClassVar[tuple[str, ...]] = ("v", "f", "sharp", "fixed", "scale", "sums")

    def __init__(self, problem: Problem, start: Vector | None) -> None:
        table = coordinates(problem)
        names = ("target", "kink", "quad", "lower", "upper")
        # one after the other in memory, for which there is compiled code
        self.target, self.kink, quad, self.least, self.most = (table[name].copy() for name in names)
        alpha = problem.alpha
        self.quad, self.lower, self.upper = alpha * quad, self.least / alpha, self.most / alpha
        self.sums = int(problem.n_offsets > 0)  # how many are kept
        total = problem.form(Atoms).total / alpha
        v = np.clip(np.zeros_like(self.target) if start is None else start, self.lower, self.upper)
        if self.sums and start is None and total > 0:
            v = filled(self.lower, self.upper, total)
        if self.sums and abs(v.sum() - total) > 1e-9 * (np.abs(v).sum() + abs(total)):
            v = project_box_hyperplane(v, self.lower, self.upper, np.ones_like(v), total)
        self._begin(problem, v)

    def _begin(self, problem: Problem, v: Vector) -> None:
        """From these v, which are feasible."""
        self.problem, self.design, self.gram, self.v = problem, problem.design, problem.form(Gram), v
        self.f = self.design.scores(v).copy()
        self.sharp = True  # are the scores those of v in double precision?
        self.fixed = np.zeros(len(v), dtype=bool)  # v is proved to be what it is, at every optimum
        self.scale = float(np.mean(np.abs(self.target))) or float(np.sqrt(np.mean(self.f**2))) or 1.0

    @property
    def gradient(self) -> Vector:
        return self.gradient_at(slice(None))

    def gradient_at(self, some: Any) -> Vector:
        """Of some variables."""
        return np.asarray(self.f[some] + self.quad[some] * self.v[some] - self.target[some])

    @property
    def free(self) -> Any:
        """Which variables can move both ways along one parabola."""
        from gapfit.compiled.slopes import free  # compiled code is loaded only when it is to run

        out = np.empty(len(self.v), dtype=bool)
        free(self.v, self.lower, self.upper, self.kink, self.sums == 2, out)
        return out

    def regroup(self, slopes: Slopes, columns: KeptColumns | None) -> bool:
        """Keep other sums, if these slopes ask for it; whether it did. Here there is no choice."""
        return False

    @cached_property
    def _room(self) -> Matrix:
        """For slopes: new memory costs more than they do."""
        return np.empty((2, len(self.v)))

    def slopes(self) -> Slopes:
        """Until they are asked for again."""
        from gapfit.compiled.slopes import slopes

        up, down = self._room
        highest, lowest = slopes(
            self.v, self.f, self.quad, self.target, self.kink, self.lower, self.upper, self.fixed, up, down
        )
        if self.sums == 0:
            highest, lowest = max(highest, 0.0), min(lowest, 0.0)
        return Slopes(up, down, highest, lowest)

    def move(self, variables: Indices, values: Vector, columns: KeptColumns) -> None:
        """Set some variables, and the scores that follow, in single precision."""
        change = values - self.v[variables]
        moved = np.flatnonzero(change)
        self.v[variables] = values
        self.f += columns.sums(variables[moved], change[moved])
        self.sharp = False

    def sharpen(self, variables: Indices, K: Matrix) -> None:
        """Make the scores of some samples exact, whose kernel matrix is K."""
        if self.sharp:
            return
        others = self.v.copy()
        others[variables] = 0.0
        rest = np.flatnonzero(others)
        self.f[variables] = K @ self.v[variables]
        self.f[variables] += self.gram.tiles.sums(rest, others[rest], np.float64, Over(rows=variables))

    def settle(self) -> Minorant:
        """Make v feasible to the last bit, its scores exact, and prove a bound with it."""
        minorant = self.minorant(self.v)
        v = self.problem.minimiser(minorant)
        self.f, self.sharp = self.design.scores(v).copy(), True
        self.v = self._on_bounds(v)
        return minorant

    def _on_bounds(self, v: Vector) -> Vector:
        """v with all that is at zero or at a bound up to rounding exactly there, or was there before.

        Projection moves such variables by a unit in the last place, and they would count as free. One that
        makes up for the sum of all is moved farther, and as a free one it would spoil the middle of slopes.
        """
        size = np.abs(v).max(initial=0.0)
        for end in (np.zeros_like(v), self.lower, self.upper):
            near = np.where(self.v == end, OUTSIDE, _AT_BOUND) * size
            v = np.where(np.abs(v - end) <= near, end, v)
        return v

    def minorant(self, v: Vector) -> Minorant:
        """The bound that v proves. From outside of its bounds, a variable is projected right on to them."""
        u = -self.problem.alpha * v
        beyond = OUTSIDE * np.abs(u).max(initial=0.0)
        u = np.where(v >= self.upper, -self.most - beyond, u)
        u = np.where(v <= self.lower, -self.least + beyond, u)
        return self.problem.minorant_at(u)

    def bounds(self, middle: float) -> tuple[float, float, Vector]:
        """J at the best offset, its lower bound, both as good as the scores are, and that offset."""
        problem, scores = self.problem, self.f + self.problem.offset
        square = 0.5 * problem.alpha * float(self.v @ self.f)
        if problem.n_offsets:
            risk, b = best_offsets(problem.risk, scores, np.array([-middle]))
        else:
            b = np.zeros(0)
            risk = problem.risk.value_and_subgradient(scores, b)[0]
        u = -problem.alpha * self.v
        return square + risk, float(u @ problem.offset) - problem.form(Conjugate).value(u) - square, b

    def screen(self, gap: float) -> None:
        """Fix the variables that the gap proves to be at a bound, or zero, at every optimum.

        Every optimal function is within sqrt(gap / alpha) of this one, so its scores are near these, and the
        offset is monotone in all scores. The loss that has one slope in all that range fixes the variable.
        """
        problem, risk = self.problem, self.problem.risk
        if not (risk.separable and np.isfinite(gap)):
            return
        reach = np.sqrt(max(gap, 0.0) / problem.alpha) * self._lengths
        scores = self.f + problem.offset
        reach += 64 * EPS * (np.abs(scores) + reach)
        lo, hi = scores - reach, scores + reach
        if self.sums:
            lo, hi = lo + offset_interval(risk, hi, 0.0)[0], hi + offset_interval(risk, lo, 0.0)[1]
        with np.errstate(invalid="ignore"):
            at_lo, at_hi = (risk.value_and_subgradient(ends, np.zeros(1))[1] for ends in (lo, hi))
        decided = (at_lo == at_hi) & np.isfinite(lo) & np.isfinite(hi)
        there = np.where(
            self.v == self.upper, -self.most, np.where(self.v == self.lower, -self.least, -self.v)
        )
        self.fixed = decided & (at_lo == there)

    @cached_property
    def _lengths(self) -> Vector:
        return np.sqrt(np.maximum(self.gram.tiles.diagonal, 0.0))

    def iterate(
        self,
        b: Vector,
        claim: float | None,
        estimate: float | None,
        objective: float | None,
        known: Minorant | None,
        exact: Callable[[], dict[str, Any]],
        ended: bool = False,
    ) -> Iterate:
        """What the driver sees; without a known bound, it is made when asked for. `exact` is all that a run
        needs to go on with the same bytes."""
        v = self.v.copy()

        def snapshot() -> dict[str, Any]:
            return {"v": v, "ended": ended, "to_the_bit": {**exact(), "dual": self.state()}}

        if known is not None:
            return Iterate(v, b, known, claim, snapshot, estimate, objective)
        # not the point that belongs to the bound: balancing makes a support vector of some sample
        return Iterate(v, b, partial(self.minorant, v), claim, snapshot, estimate, objective)
