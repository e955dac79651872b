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
from gapfit.elsewhere import fetched
from gapfit.levels import Known, levels
from gapfit.minorant import Minorant
from gapfit.offset import threshold_bounds
from gapfit.penalties import Penalty
from gapfit.problem import Problem
from gapfit.rounding import EPS
from gapfit.solution import Solution

SUPPORT = np.array(["undecided", "support", "zero", "bound"])  # what may be proved of a sample
_DIGITS = 1.5  # times the gap, that of a minorant computed as usual is so much larger that digits are missing
UNDECIDED, PROVED, ZERO, BOUND = (np.int8(code) for code in range(4))


class Ball(NamedTuple):
    """Where the optima are: norm(w* - centre) <= radius, and lo <= b* + <w*, mean> <= hi."""

    penalty: Penalty  # owns the norm
    centre: Slope
    radius: float
    mean: Slope  # zero if there is no free offset
    lo: float
    hi: float
    mean_above: Slope | None = None  # what hi speaks of, if it is another point than the mean

    def score_bounds(self, X: Data | Design) -> tuple[Vector, Vector]:
        """Bounds on X w* + b* that hold for every optimal (w*, b*)."""
        design = X if isinstance(X, Design) else MemoryDesign(X)
        return self.around(design, design.scores(self.centre))

    def around(self, design: Design, scores: Vector) -> tuple[Vector, Vector]:
        """The bounds for the rows of a design, by what these score at the centre."""
        slack = design.slack(self.centre)
        near, far = self._reach(design, scores, slack, self.mean)
        lo = _moved(near - far, self.lo, -1.0)
        if self.mean_above is not None:
            near, far = self._reach(design, scores, slack, self.mean_above)
        return lo, _moved(near + far, self.hi, 1.0)

    def _reach(self, design: Design, scores: Vector, slack: Vector, mean: Slope) -> tuple[Vector, Vector]:
        """What the rows less a mean score at the centre, and how much more or less that can be at w*."""
        distances = design.distances(self.penalty, mean)
        with np.errstate(invalid="ignore"):  # a row at the mean itself has no reach, whatever the radius is
            reach = np.where(distances > 0, self.radius * distances, 0.0)
        level = 0.0
        if mean.any():
            level = design.inner(mean, self.centre)
            reach = reach + design.inner_error(mean, self.centre)
        room = np.abs(scores)
        room += abs(level)
        room += reach
        room *= 8 * EPS
        room += reach
        room += slack
        return (scores - level if level else scores), room


def _moved(x: Vector, by: float, side: float) -> Vector:
    """x + by, and its rounding to that side."""
    x += by
    room = np.abs(x)
    room *= side * 8 * EPS
    x += room
    return x


def optimal_ball(problem: Problem, solution: Solution) -> Ball | None:
    """The ball that the gap proves; None where the penalty has no modulus of strong convexity.

    With m the modulus and v the minimiser of alpha * Omega + minorant,
    gap >= alpha m / 2 (norm(w - w*)^2 + norm(v - w*)^2); in an inner product space that is a ball around the
    middle of w and v, in any other norm one around w. One free offset is where `levels` says.
    """
    if problem.penalty.modulus == 0:
        return None
    gap, minorant = proof(problem, solution)
    centre, radius = _weights(problem, solution.w.astype(np.float64, copy=False), minorant, gap)
    ball = Ball(problem.penalty, centre, radius, np.zeros_like(centre), 0.0, 0.0)
    if problem.n_offsets == 0:
        return ball
    if problem.n_offsets > 1:  # how several offsets follow the scores is not known here
        return ball._replace(lo=-np.inf, hi=np.inf)
    reach = problem.design.length(centre) + problem.penalty.stretch * radius
    scores = problem.known_scores(centre)
    known = Known(minorant, gap, centre, scores + problem.offset if problem.shifted else scores, reach)
    below, above = levels(problem, known, np.atleast_1d(solution.intercept))
    other = None if above.mean is below.mean else above.mean
    return ball._replace(mean=below.mean, lo=below.value, hi=above.value, mean_above=other)


def proof(problem: Problem, solution: Solution) -> tuple[float, Minorant]:
    """A minorant and the gap that it proves by itself; with twice the digits if the certificate took them."""
    primal, dual, gap, _ = solution.certificate
    if not np.isfinite(gap):
        return np.inf, solution.minorant
    above = dual + gap  # of J at the solution
    if dual < primal and solution.minorant.made:  # then that is the bound of this minorant
        return gap + 8 * EPS * abs(above), solution.minorant
    if dual >= primal:  # within the rounding of J
        w = solution.w.astype(np.float64, copy=False)
        above = problem.most(w, np.atleast_1d(solution.intercept)).above
    minorant = solution.minorant if solution.minorant.made else problem.again(solution.minorant)
    own = above - problem.least(minorant).below
    if own > _DIGITS * gap and minorant.u is not None:
        minorant = problem.again(minorant, exact=True)
        own = above - problem.least(minorant, exact=True).below
    return max(own, 0.0) + 8 * EPS * abs(above), minorant


def _weights(problem: Problem, w: Slope, minorant: Minorant, gap: float) -> tuple[Slope, float]:
    """The centre and radius of a ball that contains all optimal weights."""
    penalty, alpha = problem.penalty, problem.alpha
    stray = penalty.astray(w)  # what is known of w is known of a point of the domain
    square = gap / (alpha * penalty.modulus) * (1 + 8 * EPS)
    if penalty.inner_product:
        mu = minorant.a / -alpha
        v, doubt = penalty.argmax(mu), penalty.argmax_error(mu, minorant.spread / alpha)
        apart = max(penalty.norm_below(w - v) - doubt, 0.0)
        if np.isfinite(apart) and np.isfinite(square):
            rest = max(square - 0.25 * apart * apart, 0.0) + 8 * EPS * square
            v += w
            v *= 0.5
            return v, (float(np.sqrt(rest)) + 0.5 * doubt + stray) * (1 + 8 * EPS)
    return w, (float(np.sqrt(2 * square)) + stray) * (1 + 8 * EPS)


def optimal_balls(problem: Problem, solution: Solution) -> list[Ball | None]:
    """The ball of each column of scores: X w + b, or X w - b_k for every threshold b_k."""
    ball = optimal_ball(problem, solution)
    parts = None if problem.risk.outputs > 1 else problem.risk.offset_parts()
    if ball is None or problem.n_offsets == 0 or parts is None:
        return [ball]
    ball = ball._replace(mean=problem.mean, lo=0.0, hi=0.0)
    below, above = threshold_bounds(problem.risk, *_training_bounds(problem, ball))
    return [ball._replace(lo=-high, hi=-low) for low, high in np.stack([below, above], axis=1).tolist()]


def _training_bounds(problem: Problem, ball: Ball) -> tuple[Vector, Vector]:
    """Of all scores, the known parts of them included."""
    lo, hi = ball.around(problem.design, problem.known_scores(ball.centre))
    if not problem.shifted:
        return lo, hi
    lo, hi = lo + problem.offset, hi + problem.offset
    room = 4 * EPS * np.abs(problem.offset)
    return lo - room - 4 * EPS * np.abs(lo), hi + room + 4 * EPS * np.abs(hi)


def support_status(problem: Problem, ball: Ball | None) -> NDArray[np.int8]:
    """For each training row, what is proved of its dual coefficient at the optimum, as an index of `SUPPORT`.

    "zero": it is no support vector; "bound": it is one, at the bound of its dual coefficient;
    "support": it is one; "undecided": the gap is too large to tell, or the samples interact in the risk.
    """
    status = np.full(len(problem.weight), UNDECIDED)
    if ball is None or not problem.risk.separable:
        return status
    if problem.risk.never_flat:  # then no bounds are needed
        return np.full(len(problem.weight), PROVED)
    certain = problem.risk.certain(*_training_bounds(problem, ball))
    for code, there in ((PROVED, certain.support), (ZERO, certain.zero), (BOUND, certain.bound)):
        status[fetched(there)] = code
    return status
