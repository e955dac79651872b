"""What follows from a certificate, of the exact optimum that nobody has computed.

Where the penalty is strongly convex, the gap confines every optimal w to a ball, and with it every optimal
score: `Ball.score_bounds` says how far the scores of the exact optimum can be from ours.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Data, Slope, Vector
from gapfit.design.base import Design
from gapfit.design.memory import MemoryDesign
from gapfit.offset import offset_bounds, threshold_bounds
from gapfit.penalties import Penalty
from gapfit.problem import Problem
from gapfit.solution import Solution

_EPS = float(np.finfo(float).eps)
SUPPORT = np.array(["undecided", "support", "zero", "bound"])  # what may be proved of a sample
UNDECIDED, PROVED, ZERO = (np.int8(code) for code in range(3))


class Ball(NamedTuple):
    """Where the optima are: norm(w* - centre) <= radius, and lo <= b* + <w*, mean> <= hi."""

    penalty: Penalty  # owns the norm
    centre: Slope
    radius: float
    mean: Slope  # of the training rows if there is a free offset, else zero
    lo: float
    hi: float

    def score_bounds(self, X: Data | Design) -> tuple[Vector, Vector]:
        """Bounds on X w* + b* that hold for every optimal (w*, b*)."""
        design = X if isinstance(X, Design) else MemoryDesign(X)
        scores = design.scores(self.centre) - design.inner(self.mean, self.centre)
        return self.around(scores, design.distances(self.penalty, self.mean))

    def around(self, scores: Vector, distances: Vector) -> tuple[Vector, Vector]:
        """The bounds, by what the rows less their mean score at the centre, and their distances from it."""
        reach = self.radius * distances
        reach += 16 * _EPS * (np.abs(scores) + reach + max(abs(self.lo), abs(self.hi)))
        return scores - reach + self.lo, scores + reach + self.hi


def optimal_ball(problem: Problem, solution: Solution) -> Ball | None:
    """The ball that the gap proves; None where the penalty has no modulus of strong convexity.

    With m the modulus and v the minimiser of alpha * Omega + minorant,
    gap >= alpha m / 2 (norm(w - w*)^2 + norm(v - w*)^2); in an inner product space that is a ball around the
    middle of w and v, in any other norm one around w. The offset is a decreasing function of all scores, so
    its extremes are those at the extreme scores.
    """
    penalty, modulus = problem.penalty, problem.alpha * problem.penalty.modulus
    if modulus == 0:
        return None
    w, gap = solution.w.astype(np.float64), solution.certificate.gap
    centre, squared_radius = w, 2 * gap / modulus
    if penalty.inner_product:
        v = problem.minimiser(solution.minorant)
        centre = 0.5 * (w + v)
        squared_radius = gap / modulus - 0.25 * penalty.norm(w - v) ** 2
    radius = float(np.sqrt(max(squared_radius, 0.0)))
    ball = Ball(penalty, centre, radius, np.zeros_like(w), 0.0, 0.0)
    if problem.n_offsets == 0:
        return ball
    ball = ball._replace(mean=problem.mean)
    if problem.n_offsets > 1 or not problem.risk.separable:  # how offsets follow the scores is not known here
        return ball._replace(lo=-np.inf, hi=np.inf)
    lo, hi = _training_bounds(problem, ball)
    about = float(solution.intercept) + problem.design.inner(problem.mean, w)
    b_lo, b_hi = offset_bounds(problem.risk, _shifted(problem, lo), _shifted(problem, hi), about)
    return ball._replace(lo=b_lo, hi=b_hi)


def optimal_balls(problem: Problem, solution: Solution) -> list[Ball | None]:
    """The ball of each column of scores: X w + b, or X w - b_k for every threshold b_k."""
    ball = optimal_ball(problem, solution)
    parts = None if problem.risk.outputs > 1 else problem.risk.offset_parts()
    if ball is None or problem.n_offsets == 0 or parts is None:
        return [ball]
    lo, hi = _training_bounds(problem, ball._replace(lo=0.0, hi=0.0))
    below, above = threshold_bounds(problem.risk, _shifted(problem, lo), _shifted(problem, hi))
    return [ball._replace(lo=-high, hi=-low) for low, high in np.stack([below, above], axis=1).tolist()]


def _training_bounds(problem: Problem, ball: Ball) -> tuple[Vector, Vector]:
    return ball.around(problem.centred_scores(ball.centre), problem.distances)


def _shifted(problem: Problem, scores: Vector) -> Vector:
    return scores + problem.offset if problem.shifted else scores


def support_status(problem: Problem, ball: Ball | None) -> NDArray[np.int8]:
    """For each training row, what is proved of its dual coefficient at the optimum, as an index of `SUPPORT`.

    "zero": it is no support vector; "bound": it is one, at the bound of its dual coefficient;
    "support": it is one; "undecided": the gap is too large to tell, or the samples interact in the risk.
    """
    if ball is None or not problem.risk.separable:
        return np.full(len(problem.weight), UNDECIDED)
    if "dual_entropy" in problem.risk.capabilities:  # its derivatives never vanish, nor reach their bounds
        return np.full(len(problem.weight), PROVED)
    lo, hi = _training_bounds(problem, ball)
    with np.errstate(invalid="ignore"):  # a bound may be infinite; its value is not used
        at_lo, at_hi = (
            problem.risk.value_and_subgradient(_shifted(problem, scores), np.zeros(1))[1]
            for scores in (lo, hi)
        )
    support, same = (at_lo > 0) | (at_hi < 0), at_lo == at_hi  # it is constant only at zero and its extremes
    return np.asarray(support + np.int8(2) * same, dtype=np.int8)
