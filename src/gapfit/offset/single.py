"""Eliminating one unpenalised offset: an exact minimum over b, and a minorant that does not depend on b.

At fixed scores f, R(f, b) is convex in b. Tangents to the left of the minimum (slope e < 0) and to the right
of it (slope e > 0) are minorants of R in (f, b) jointly, and so is the mixture of the two in which e cancels.
That mixture is the balanced subgradient; a 0/1 choice at the kink would not be a subgradient of min_b R.
Nothing but `value_and_subgradient` is needed, so every convex risk has a free intercept; `best_offset` or
Newton's method, where there are second derivatives, only supply a better place to start.
"""

from itertools import cycle
from math import isfinite, isinf
from typing import NamedTuple

import numpy as np

from gapfit._types import Vector
from gapfit.errors import UnboundedProblem
from gapfit.losses.base import Risk
from gapfit.losses.forms import Curvature
from gapfit.rounding import EPS, absolute_sum, additions, gamma

_FAR = 1e18  # in units of the scores: an offset beyond this counts as infinite
_DOUBLINGS = 110  # of the resolution, until that is so
_NEWTON_STEPS = 12


class Tangent(NamedTuple):
    """R(f', b') >= value + <u, f' - f> + e (b' - b) for all f' and b'."""

    value: float
    u: Vector
    b: float
    e: float


def tangent(risk: Risk, scores: Vector, b: float) -> Tangent:
    """The tangent at (scores, b); a slope that is zero up to rounding is zero."""
    value, u, e = risk.value_and_subgradient(scores, np.array([b]))
    slope = float(e[0])
    return Tangent(value, u, b, 0.0 if abs(slope) <= 4 * EPS * absolute_sum(u) < np.inf else slope)


def minimise_offset(risk: Risk, scores: Vector, guess: float) -> tuple[float, Tangent]:
    """The minimum over b, and a tangent with e = 0 there whose `b` attains it, up to rounding."""
    known = risk.best_offset(scores)
    if known is None and (curvature := risk.form(Curvature)) is not None:
        start, step = _by_newton(risk, curvature, scores, guess)
    else:
        start = tangent(risk, scores, guess if known is None else _finite_middle(*known))
        step = 0.0 if known is not None else abs(start.e)
    if start.e == 0 or not np.isfinite(start.value):
        return start.value, start
    resolution = resolution_of(scores, start.b)
    step = max(step, resolution)
    outward = _walk(risk, scores, start, step)
    left, right = (start, outward) if start.e < 0 else (outward, start)
    for choose in cycle((_secant, _crossing, _secant, _middle)):
        flat = left if left.e == 0 else right if right.e == 0 else None
        if flat is not None:
            return flat.value, flat
        lowest = left if left.value <= right.value else right
        floor = _balance(left, right, lowest.b).value
        overflow = not np.isfinite(left.value + right.value)
        b = (_middle if overflow else choose)(left, right)
        if not left.b < b < right.b:  # one side is so steep that the other seems to be the minimum
            b = _middle(left, right)
        # between values of very different size the floor is rounding
        alike = max(left.value, right.value) - lowest.value <= abs(lowest.value)
        settled = alike and lowest.value - floor <= 2 * EPS * abs(lowest.value)
        if settled or right.b - left.b <= 2 * resolution or not left.b < b < right.b:
            return lowest.value, _counted(
                _balance(left, right, lowest.b), left, right, risk.roundings(scores)
            )
        probe = tangent(risk, scores, b)
        left, right = (probe, right) if probe.e <= 0 else (left, probe)
    raise AssertionError("unreachable: the loop above is endless")


def minimum(risk: Risk, scores: Vector, guess: float) -> tuple[float, float]:
    """The minimum over b and where it is, up to rounding: `minimise_offset`, less its tangent."""
    b = _by_formula(risk, scores)
    if b is None:
        value, at = minimise_offset(risk, scores, guess)
        return value, at.b
    return risk.value_and_subgradient(scores, np.array([b]))[0], b


def minimiser(risk: Risk, scores: Vector, guess: float) -> float:
    """Where the minimum over b is, up to rounding."""
    b = _by_formula(risk, scores)
    return minimise_offset(risk, scores, guess)[1].b if b is None else b


def _by_formula(risk: Risk, scores: Vector) -> float | None:
    known = risk.best_offset(scores)
    return None if known is None or (isinf(known[0]) and isinf(known[1])) else _finite_middle(*known)


def offset_interval(risk: Risk, scores: Vector, guess: float) -> tuple[float, float]:
    """An interval that contains every minimiser over b: by a formula, or tight up to a factor of two."""
    known = risk.best_offset(scores)
    if known is not None:
        room = resolution_of(scores, max((abs(end) for end in known if np.isfinite(end)), default=0.0))
        lo, hi = known
        return lo if np.isinf(lo) else lo - room, hi if np.isinf(hi) else hi + room
    b = minimise_offset(risk, scores, guess)[1].b
    resolution = resolution_of(scores, b)
    ends = []
    for direction in (-1.0, 1.0):
        offsets = (b + direction * resolution * 2.0**k for k in range(_DOUBLINGS))
        beyond = (x for x in offsets if direction * tangent(risk, scores, x).e > 0)
        ends.append(next(beyond, direction * np.inf))
    return ends[0], ends[1]


def _by_newton(risk: Risk, curvature: Curvature, scores: Vector, b: float) -> tuple[Tangent, float]:
    """A tangent where the slope is least, or zero, and how far from there it should turn; from b on."""
    at = tangent(risk, scores, b)
    step = abs(at.e)
    # where the risk hardly bends, Newton would step so far that the numbers there swallow all others
    longest = 1.0 + abs(at.b) + float(np.abs(scores).max(initial=0.0)) + risk.farthest
    for _ in range(_NEWTON_STEPS):
        if at.e == 0 or not np.isfinite(at.value):
            break
        bend = float(curvature.at(scores, np.array([at.b])).sum())
        if not bend > 0:
            break
        step = min(abs(at.e) / bend, longest)
        there = tangent(risk, scores, at.b - np.sign(at.e) * step)
        if not abs(there.e) < 0.5 * abs(at.e):
            break
        at = there
    return at, step


def _walk(risk: Risk, scores: Vector, start: Tangent, step: float) -> Tangent:
    """From `start` in the direction of descent, with growing steps, until the slope has turned.

    Where it never does, but was once so small that rounding may have chosen its sign, it is zero there: a
    maximum over labellings may be taken at a wrong one that is as high, but for rounding.
    """
    direction, level = -np.sign(start.e), None
    rounding = gamma(risk.roundings(scores)) * abs(start.e)
    size = 1.0 + abs(start.b) + float(np.abs(scores).max(initial=0.0)) + risk.farthest
    far = max(_FAR * size, 1e3 * step)
    while step <= far:
        probe = tangent(risk, scores, start.b + direction * step)
        if probe.e * direction >= 0:
            return probe
        if level is None and abs(probe.e) <= rounding:
            level = probe._replace(e=0.0)
        step *= 4
    if level is not None:
        return level
    raise UnboundedProblem(f"{risk.loss!r} keeps falling as the intercept goes to infinity on these data")


def resolution_of(scores: Vector, b: float) -> float:
    """Offsets closer than this cannot be told apart in floating point."""
    largest = max(float(scores.max(initial=0.0)), -float(scores.min(initial=0.0)))
    return 4 * EPS * (1.0 + abs(b) + largest)


def _finite_middle(lo: float, hi: float) -> float:
    if isfinite(lo) and isfinite(hi):
        return 0.5 * (lo + hi)
    return lo if isfinite(lo) else hi if isfinite(hi) else 0.0


def _secant(left: Tangent, right: Tangent) -> float:
    """Where the slope would vanish if it were linear: right for smooth risks."""
    return left.b - left.e * (right.b - left.b) / (right.e - left.e)


def _crossing(left: Tangent, right: Tangent) -> float:
    """Where the two tangents meet: right for polyhedral risks."""
    height = right.value - right.e * right.b - (left.value - left.e * left.b)
    return min(max(-height / (right.e - left.e), left.b), right.b)


def _middle(left: Tangent, right: Tangent) -> float:
    """Half way, so that the bracket shrinks whatever the risk looks like."""
    return 0.5 * (left.b + right.b)


def _balance(left: Tangent, right: Tangent, b: float) -> Tangent:
    """The mixture of the two tangents in which the slope in b cancels: its height is the same at every b."""
    share = left.e / (left.e - right.e)
    height = (1 - share) * (left.value + left.e * (b - left.b)) + share * (
        right.value + right.e * (b - right.b)
    )
    return Tangent(height, (1 - share) * left.u + share * right.u, b, 0.0)


def _counted(mixture: Tangent, left: Tangent, right: Tangent, roundings: int) -> Tangent:
    """The mixture, lower by what rounding may have added to it: the two tangents can be so far apart that
    their heights are much larger than its own. What is of its own size is counted by whoever uses it."""
    share = left.e / (left.e - right.e)
    excess = 0.0
    for part, side in ((1 - share, left), (share, right)):
        away = abs(side.b - mixture.b)
        more = max(abs(side.value) - abs(mixture.value), 0.0)
        excess += part * (more + away * (abs(side.e) + float(np.abs(side.u).sum())))
    return mixture._replace(value=mixture.value - gamma(additions(mixture.u) + roundings) * excess)
