"""A ball at every alpha, from one point (w, b) and one minorant (a, c), whatever alphas they were found at.

With t = 1 / alpha and Omega half the square of a norm, every optimal w at alpha is in the ball about
m(t) = (w - t a) / 2 with the squared radius |m|^2 + t (R(w, b) - c) = A t^2 + B t + C,

    A = |a|^2 / 4,    B = R - c - <w, a> / 2,    C = |w|^2 / 4.

The radius is convex in t if 4 A C >= B^2; else C is raised until it is. The gap |w|^2 / 2t + R - c +
t |a|^2 / 2 is convex as well, and with it the bounds of the intercept (see `levels`) by planes that are kept.
So bounds of scores from above are convex in t, those from below concave: *what holds at both ends of a range
of alphas, by the same planes, holds in all of it.*
"""

from typing import NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.levels import Known, Lean, lean
from gapfit.minorant import Minorant
from gapfit.penalties.forms import Quadratic
from gapfit.problem import Problem
from gapfit.proofs import WEIGHTS
from gapfit.rounding import EPS, gamma
from gapfit.statements import Ball
from gapfit.whereabouts.answers import Answer, Hull, Nowhere

_UP = 1 + 16 * EPS


def qualifies(problem: Problem) -> bool:
    """Is the penalty half the square of a norm, and are there not several offsets?"""
    return bool(problem.has(Quadratic) and problem.penalty.inner_product and problem.n_offsets <= 1)


class Place(NamedTuple):
    """What is known at one alpha."""

    alpha: float
    centre: Slope
    radius: float
    gap: float
    reach: float  # a bound on the length of w*


class Balls:
    """What a point and a plane say of the optima at all alphas."""

    def __init__(self, problem: Problem, w: Slope, b: Vector, minorant: Minorant, more: float = 0.0) -> None:
        """R - c is taken to be larger by `more`."""
        penalty, design = problem.penalty, problem.design
        self.problem, self.w, self.b = problem, w.astype(np.float64, copy=False), np.asarray(b, float)
        self.minorant = minorant if minorant.made else problem.again(minorant)
        a, spread = self.minorant.a, self.minorant.spread
        scores = problem.scores(self.w)
        risk = problem.risk_above(self.w, self.b, scores, exact=False)
        sizes = abs(risk.value) + abs(self.minorant.c)
        self.rise = risk.above - self.minorant.c + self.minorant.noise + (gamma(WEIGHTS) + 8 * EPS) * sizes
        self.rise += more
        self.square = 2 * penalty.value_above(self.w).above * _UP
        self.slope = 2 * penalty.conjugate_above(a, spread).above * _UP
        cross = design.inner(self.w, a) - design.inner_error(self.w, a) - spread * design.length(self.w)
        B = self.rise - 0.5 * cross + 8 * EPS * (abs(self.rise) + abs(cross))
        A, C = 0.25 * self.slope, 0.25 * self.square
        if 4 * A * C < B * B:  # by rounding, or because the pair is a poor one
            C = 0.25 * B * B / A * _UP if A > 0 else np.inf if B else C
        self.radius = A, B, C

    def place(self, alpha: float) -> Place:
        """The ball at this alpha, and the gap of the pair there."""
        alpha = float(alpha)  # a number in single precision would round 1 / alpha
        t, (A, B, C), penalty, design = 1 / alpha, self.radius, self.problem.penalty, self.problem.design
        mu = self.minorant.a * -t
        centre = 0.5 * (self.w + penalty.argmax(mu))
        terms = A * t * t + abs(B) * t + C
        square = max(A * t * t + B * t + C, 0.0) + 8 * EPS * terms
        radius = (float(np.sqrt(square)) + 0.5 * penalty.argmax_error(mu, self.minorant.spread * t)) * _UP
        gap = 0.5 * (self.square * alpha + self.slope * t) + self.rise
        gap = max(gap, 0.0) + 8 * EPS * (self.square * alpha + self.slope * t + abs(self.rise))
        return Place(alpha, centre, radius, gap, design.length(centre) + penalty.stretch * radius)

    def between(self, least: float, most: float) -> Answer:
        """Where the optima are, at all alphas from least to most."""
        places = [self.place(alpha) for alpha in dict.fromkeys((least, most))]
        if not all(np.isfinite(place.radius + place.gap) for place in places):
            return Nowhere()
        planes = self._planes(least, most)
        return Hull([self._ball(place, planes) for place in places])

    def _planes(self, least: float, most: float) -> Lean | None:
        """Planes that bound the intercept, chosen for the middle."""
        if not self.problem.n_offsets:
            return None
        place = self.place(float(np.sqrt(least * most)))
        return lean(self.problem, self._known(place, self.problem.scores(place.centre)), self.b)

    def _known(self, place: Place, scores: Vector) -> Known:
        return Known(self.minorant, place.gap, place.centre, scores, place.reach)

    def _ball(self, place: Place, planes: Lean | None) -> Ball:
        nothing = np.zeros_like(place.centre)
        ball = Ball(self.problem.penalty, place.centre, place.radius, nothing, 0.0, 0.0)
        if planes is None:
            return ball
        below, above = planes.bounds(self.problem.at(place.alpha), self._known(place, planes.scores))
        return ball._replace(mean=below.mean, lo=below.value, hi=above.value, mean_above=above.mean)
