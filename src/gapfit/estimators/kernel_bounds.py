"""Bounds on the scores of the exact optimum that need the support vectors only.

Every optimal f* is within a radius of the function f that was found, and b* + <f*, m> is in an interval, for
any point m of the space. With m a mean of support vectors, all that scores of other samples need is in f.
Where K is large, m would take as long as the fit itself; then m = 0, and bounds are a little wider.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.design.kernel import KernelDesign
from gapfit.offset import offset_interval
from gapfit.persistence.container import need
from gapfit.persistence.values import Kind, Shelf, read_plain, write_plain
from gapfit.problem import Problem
from gapfit.rounding import EPS
from gapfit.solution import Solution
from gapfit.statements import Ball


class SupportBall(NamedTuple):
    """|f* - f| <= radius, and lo <= b* + <f*, m> <= hi, where m is `mean_of` the coefficients of f."""

    radius: float
    lo: float
    hi: float
    level: float  # <f, m>
    square: float  # |m|^2

    def score_bounds(
        self, scores: Vector, near: Vector, diagonal: Vector, slack: tuple[Vector, Vector]
    ) -> tuple[Vector, Vector]:
        """Of samples with f(x), <k(x, .), m> and k(x, x); the first two known up to the slack."""
        squares = diagonal - 2 * near + self.square
        rounded = 2 * slack[1] + 64 * EPS * (np.abs(diagonal) + 2 * np.abs(near) + self.square)
        reach = self.radius * np.sqrt(np.maximum(squares, 0.0) + rounded) + slack[0]
        reach += 16 * EPS * (np.abs(scores) + abs(self.level) + reach)
        lo, hi = scores - self.level - reach + self.lo, scores - self.level + reach + self.hi
        return lo - 8 * EPS * np.abs(lo), hi + 8 * EPS * np.abs(hi)

    def point(self, coefficients: Slope) -> Slope:
        """m, in terms of the support vectors whose coefficients in f these are."""
        return mean_of(coefficients) if self.square else np.zeros_like(coefficients)


def mean_of(coefficients: Slope) -> Slope:
    """Shares of the support vectors in m: as large as their coefficients."""
    size = np.abs(coefficients)
    return np.asarray(size / (size.sum() or 1.0))


def support_ball(problem: Problem, solution: Solution, ball: Ball) -> SupportBall:
    """The ball around the solution itself, whose expansion has no other terms than its support vectors."""
    design, penalty, w = problem.design, problem.penalty, solution.w
    radius = ball.radius + penalty.length(ball.centre - w)
    assert isinstance(design, KernelDesign)
    m = mean_of(w) if design.kept else np.zeros_like(w)
    level, square = design.inner(m, w), max(design.inner(m, m) + design.inner_error(m, m), 0.0)
    doubt = design.inner_error(m, w)
    around = SupportBall(radius, 0.0, 0.0, level, square)
    if not problem.n_offsets:  # then b is known: <f*, m> alone has bounds
        far = radius * float(np.sqrt(square)) + 2 * doubt
        return around._replace(lo=level - far, hi=level + far)
    reach = radius * design.distances(penalty, m) + design.slack(w) + doubt
    scores = design.scores(w) - level + problem.offset
    reach += 16 * EPS * (np.abs(scores) + abs(level) + reach)
    b_lo, _ = offset_interval(problem.risk, scores + reach, 0.0)
    _, b_hi = offset_interval(problem.risk, scores - reach, 0.0)
    return around._replace(lo=b_lo - doubt, hi=b_hi + doubt)


# -- in a file ----------------------------------------------------------------------------------------


def _write_balls(balls: list[SupportBall | None], shelf: Shelf) -> Any:
    """A single problem has one; the pairs of many classes have none."""
    return None if balls[0] is None else [write_plain(number) for number in balls[0]]


def _read_balls(value: Any, shelf: Shelf) -> list[SupportBall] | None:
    if value is None:
        return None
    need(isinstance(value, list) and len(value) == len(SupportBall._fields), "not a ball")
    numbers = [read_plain(part) for part in value]
    need(all(type(number) is float for number in numbers), "not a ball")
    radius, lo, hi, level, square = numbers
    need(radius >= 0 and lo <= hi and np.isfinite(level) and 0 <= square < np.inf, "not a ball")
    return [SupportBall(radius, lo, hi, level, square)]


SUPPORT_BALLS = Kind(_write_balls, _read_balls)
