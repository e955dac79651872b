"""What becomes of the optimum while the target z of one sample, the last, runs through all numbers.

For losses of f - z the target is a known offset: R(A w - z e, b), with a target of zero in R itself. One
pair, a point (w, b) and a dual point u, then speaks of every z. Its gap is convex in z,

    gap(z) = gap(m) + R(A w - z e, b) - R(A w - m e, b) + u_last (z - m),

so what it is at both ends of a range it is at most in all of it: a ball of the larger radius contains the
optima of the whole range. Planes that lean in b (see `levels`) move as linearly. Between two fits w, b and u
are mixed in proportion; for the squared loss that is the optimum itself.

*Beyond all fits.* Where the loss of the last sample is certainly on its last line, the optimum stays the same
however far z moves away; with the squared loss it moves linearly for ever.
"""

from typing import NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.levels import Known, Level, lean
from gapfit.losses.base import Loss
from gapfit.losses.forms import Conjugate, Parabola
from gapfit.losses.piecewise import PiecewiseLoss
from gapfit.problem import Problem
from gapfit.rounding import EPS, SUM, gamma
from gapfit.solve import solve
from gapfit.statements import Ball
from gapfit.whereabouts import balls
from gapfit.whereabouts.answers import Answer, Hull, Nowhere
from gapfit.whereabouts.balls import Balls, Place

_TOL = 1e-10


def qualifies(problem: Problem) -> bool:
    """Is something known of this problem for all targets?"""
    return bool(balls.qualifies(problem) and problem.has(Conjugate)) and _of_residuals(problem.loss)


def _of_residuals(loss: Loss) -> bool:
    """Is the loss one of f - y, a parabola or with lines at its ends?"""
    if not isinstance(loss, PiecewiseLoss):
        return False
    atoms = loss.atoms(np.array([0.0, 1.0]))
    same = [part[0] == part[1] for part in (atoms.sign, atoms.kink, atoms.quad, atoms.lo, atoms.hi)]
    moves = bool((atoms.sign * atoms.lin == [0.0, 1.0]).all()) and not atoms.total
    ends = bool(np.isfinite([atoms.lo, atoms.hi]).all())
    parabola = bool(atoms.quad.all() and np.isinf([atoms.lo, atoms.hi]).all() and not atoms.kink.any())
    return moves and all(same) and (ends or parabola)


class Pair(NamedTuple):
    """A point and a dual point."""

    w: Slope
    b: Vector
    u: Vector


class Spot(NamedTuple):
    """Where the optima of a range of targets are, and what keeps them from being known better."""

    where: Answer
    gap: float  # of the pair, in the middle of the range
    more: float  # that it is larger at one of the ends


class Growth(NamedTuple):
    """By how much scores can change at most while z moves by one: those of all samples, and that of the last
    in the direction of z."""

    others: Vector
    own: float


class Candidates:
    """Fits of one problem for several targets of its last sample, and what they say of all targets."""

    def __init__(self, problem: Problem) -> None:
        """The target of the last sample is zero in `problem`."""
        self.problem, self.known = problem, dict[float, Pair]()
        self._unit = np.zeros(len(problem.y))
        self._unit[-1] = 1.0
        self._linear = problem.has(Parabola)  # then all scores are linear in z
        self._spots: dict[tuple[float, float], Spot] = {}

    def at(self, z: float) -> Problem:
        """The problem for this target."""
        return self.problem.tilted(-z * self._unit)

    def fit(self, z: float) -> bool:
        """Know the optimum for this target as well; False if it has no dual point."""
        start = self._mixed(z).w if self.known else None
        solution = solve(self.at(z), tol=_TOL, start=start, resumable=False)
        u = solution.minorant.u
        if u is None:
            return False
        b = np.atleast_1d(np.asarray(solution.intercept, float))[: self.problem.n_offsets]
        self.known[z] = Pair(solution.w.astype(np.float64), b, u)
        self._spots.clear()
        return True

    def between(self, low: float, high: float) -> Spot:
        """Where the optima are, for all targets from low to high."""
        if not self._linear or low == high:
            return self._spot(low, high)
        spots = [self._spot(z, z) for z in (low, high)]
        return Spot(Hull([spot.where for spot in spots]), max(spot.gap for spot in spots), 0.0)

    def _spot(self, low: float, high: float) -> Spot:
        if (low, high) not in self._spots:
            self._spots[low, high] = self._found(low, high)
        return self._spots[low, high]

    def _found(self, low: float, high: float) -> Spot:
        """By the pair in the middle."""
        middle = 0.5 * (low + high)
        w, b, u = self._mixed(middle)
        problem = self.at(middle)
        minorant = problem.minorant_at(u)
        if minorant.u is None:
            return Spot(Nowhere(), np.inf, 0.0)
        pair = Pair(w, b, minorant.u)
        more = max(self._more(problem, pair, z - middle) for z in (low, high))
        plain = Balls(problem, w, b, minorant)
        gap = plain.place(problem.alpha).gap
        place = (
            Balls(problem, w, b, minorant, more).place(problem.alpha) if more else plain.place(problem.alpha)
        )
        if not np.isfinite(place.radius + place.gap):
            return Spot(Nowhere(), gap, more)
        known = Known(minorant, place.gap, place.centre, problem.scores(place.centre), place.reach)
        return Spot(self._ball(problem, pair, place, known, (low, high)), gap, more)

    def _more(self, problem: Problem, pair: Pair, away: float) -> float:
        """How much larger the gap of a pair is for a target so far from that of the problem; rounding is
        counted."""
        if not away:
            return 0.0
        risk, scores = problem.risk, problem.scores(pair.w)
        slack = float(problem.design.slack(pair.w)[-1]) + 4 * EPS * (abs(scores[-1]) + abs(away))
        here, at, _ = risk.value_and_subgradient(scores, pair.b)
        there, then, _ = risk.value_and_subgradient(scores - away * self._unit, pair.b)
        change = there - here + float(pair.u[-1]) * away
        slopes = abs(at[-1]) + abs(then[-1]) + abs(pair.u[-1]) + problem.weight[-1] / problem.weight.sum()
        room = gamma(2 * SUM + len(scores)) * (abs(there) + abs(here)) + 4 * slack * slopes
        doubt = risk.dual_error(pair.u)
        room += abs(away) * (1e-13 * slopes + (0.0 if doubt is None else float(doubt[-1])))
        return max(float(change + room), 0.0)

    def _ball(
        self, problem: Problem, pair: Pair, place: Place, known: Known, ends: tuple[float, float]
    ) -> Ball:
        """The ball of the larger radius, and the intercept for all targets between the ends."""
        nothing = np.zeros_like(place.centre)
        ball = Ball(problem.penalty, place.centre, place.radius, nothing, 0.0, 0.0)
        if not problem.n_offsets:
            return ball
        planes = lean(problem, known, pair.b)
        half = 0.5 * (ends[1] - ends[0])
        moved = [
            abs(float(pair.u[-1] - plane.u[-1])) for plane in planes.planes if plane and plane.u is not None
        ]
        known = known._replace(gap=known.gap + max(moved, default=0.0) * half * (1 + 1e-12))
        asked = (
            [problem] if problem.risk.affine_offset() is None else [self.at(z) for z in dict.fromkeys(ends)]
        )
        levels = [planes.bounds(one, known) for one in asked]
        below, above = (list(level) for level in zip(*levels, strict=True))
        lowest, highest = min(below, key=_height), max(above, key=_height)
        return ball._replace(mean=lowest.mean, lo=lowest.value, hi=highest.value, mean_above=highest.mean)

    def beyond(self, near: float, far: float) -> Growth | None:
        """How scores change while z moves on from `far`, away from `near`, for ever; None if not known."""
        design, side = self.problem.design, 1.0 if far > near else -1.0
        lo, hi = self.between(far, far).where.score_bounds(design)
        offset = self.problem.offset - far * self._unit
        room = 8 * EPS * (np.abs(lo) + np.abs(hi) + np.abs(offset))
        least, most = lo + offset - room, hi + offset + room
        past = least[-1] > 0 if side < 0 else most[-1] < 0
        certain = self.problem.risk.certain(least, most)
        if past and certain.bound[-1]:
            return Growth(np.zeros(len(lo)), 0.0)
        if not self._linear:
            return None
        before = self.between(near, near).where.score_bounds(design)
        up, down = (hi - before[0]) / (far - near), (lo - before[1]) / (far - near)
        return Growth(np.maximum(np.abs(up), np.abs(down)) * (1 + 8 * EPS), float(max(up[-1], down[-1])))

    def _mixed(self, z: float) -> Pair:
        """The pair of the nearest fit; between two of them a mixture."""
        below = max((known for known in self.known if known <= z), default=None)
        above = min((known for known in self.known if known >= z), default=None)
        if below is None or above is None or below == above:
            return self.known[next(one for one in (below, above) if one is not None)]
        share = (z - below) / (above - below)
        pairs = zip(self.known[below], self.known[above], strict=True)
        return Pair(*((1 - share) * first + share * last for first, last in pairs))


def _height(level: Level) -> float:
    return level.value
