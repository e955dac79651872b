"""Several offsets by cutting planes: for every convex risk, from its subgradients alone.

Every tangent of R at (f, b) is a minorant in b, too. The level method asks for the point nearest to the best
b known at which all tangents are below a level between the bounds. That is a least distance problem, and one
of non-negative least squares solves it. If there is no such point, its multipliers prove it: they mix the
tangents to one that is above the level and whose slope in b vanishes, or can only lift it within the cone.
This mixture is the lower bound and the balanced subgradient.

Ordered offsets are worked on as b_1 and the steps from each to the next, which must not be negative.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Matrix, Vector
from gapfit.errors import UnboundedProblem
from gapfit.losses.base import Rest, Risk
from gapfit.losses.forms import Smooth
from gapfit.offset.non_negative import non_negative
from gapfit.offset.single import resolution_of
from gapfit.rounding import EPS, additions, gamma

_FAR = 1e18  # in units of the scores: offsets beyond this count as infinite
_LOOKS = 1000
_LOW, _HIGH = 0.3, 0.95  # where the level is between the bounds: after a look at R, and after a proof
_PROVED = 1e-6  # squared distance of multipliers from a proof, above which there is a point
_BALANCED = 16 * EPS  # slopes below this are rounding, in units of what was added up to them


class Mixture(NamedTuple):
    """Shares of the tangents, and the least height of their mixture in the cone."""

    shares: Vector
    height: float


class Tangents:
    """Tangents of R(f, .) at several b, in the coordinates of the cone."""

    def __init__(self, risk: Risk, scores: Vector) -> None:
        self.risk, self.scores, self.cone = risk, scores, risk.offsets
        self.u: list[Vector] = []
        size = self.cone.size
        self.points: Matrix = np.zeros((0, size))
        self.slopes: Matrix = np.zeros((0, size))
        self.values: Vector = np.zeros(0)
        self.sizes: Vector = np.zeros(0)  # of what was added up to the slopes
        if np.isfinite(risk.infimum):
            self._append(np.zeros(size), risk.infimum, np.zeros_like(scores), np.zeros(size))

    def add(self, point: Vector) -> float:
        """Take the tangent at the point, and return the value there."""
        value, u, e = self.risk.value_and_subgradient(self.scores, self.cone.offsets(point))
        if np.isfinite(value):
            self._append(point, value, u, self.cone.slopes(e))
        return value

    def _append(self, point: Vector, value: float, u: Vector, slope: Vector) -> None:
        size = float(np.abs(u).sum())
        slope = np.where(np.abs(slope) <= 4 * EPS * size, 0.0, slope)  # zero up to rounding is zero
        self.u.append(u)
        self.points = np.vstack([self.points, point])
        self.slopes = np.vstack([self.slopes, slope])
        self.values = np.append(self.values, value)
        self.sizes = np.append(self.sizes, size + float(np.abs(slope).max()))

    def heights(self, point: Vector) -> Vector:
        """Of all tangents at the point."""
        return np.asarray(self.values + np.einsum("jk,jk->j", self.slopes, point - self.points))

    def rounding(self, shares: Vector, point: Vector, height: float) -> float:
        """What rounding may have added to the height of a mixture at the point. Tangents can be so far away
        that their own heights are much larger; what is of its size is counted by whoever uses it."""
        more = np.maximum(np.abs(self.values) - abs(height), 0.0)
        away = np.abs(self.points - point).sum(axis=1) * self.sizes
        roundings = additions(self.scores) + self.risk.roundings(self.scores)
        return gamma(roundings) * float(shares @ (more + away))

    def subgradient(self, shares: Vector) -> Vector:
        """Of the mixture, in the scores."""
        total = np.zeros_like(self.scores)
        for share, u in zip(shares, self.u, strict=True):
            if share > 0:
                total += share * u
        return total


def minimise_by_cuts(risk: Risk, scores: Vector, guess: Vector) -> tuple[float, Vector, float, Vector, Rest]:
    """The minimum, a balanced subgradient u, the height of its tangent, the minimiser b, and what is left of
    the slopes in b."""
    cone, tangents = risk.offsets, Tangents(risk, scores)
    point = cone.coordinates(guess)
    upper = tangents.add(point)
    if not np.isfinite(upper):
        none = np.zeros(cone.size)
        return upper, np.zeros_like(scores), upper, cone.offsets(point), Rest(none, none)
    known = len(tangents.u) > 1  # the plane of the infimum is level
    best = Mixture(np.array([1.0, 0.0]), risk.infimum) if known else None
    # where slopes change by about the distance, as they do for means, so much is to be gained near by
    fall = max(float(np.square(tangents.slopes).max()), resolution_of(scores, 0.0))
    far = _FAR * (1.0 + float(np.abs(scores).max(initial=0.0) + np.abs(guess).max()))
    share = _LOW
    for _ in range(_LOOKS):
        if best is not None and upper - best.height <= 2 * EPS * abs(upper):
            break
        level = upper - fall
        if best is not None:
            level = max(level, best.height + share * (upper - best.height))
        if not level < upper:
            break
        answer = _nearest_below(tangents, point, level, upper)
        if isinstance(answer, Mixture):
            if best is not None and answer.height <= best.height:
                break  # what is left is rounding
            best, share = answer, _HIGH
            continue
        if answer is None:
            break
        if not np.abs(answer).max() <= far:
            if best is not None and not risk.has(Smooth):
                break  # made of planes and bounded, it has a minimum: too far out to be computed
            raise UnboundedProblem(f"{risk.loss!r} keeps falling as its offsets go to infinity on these data")
        settled = np.abs(answer - point).max() <= resolution_of(scores, float(np.abs(point).max()))
        value = tangents.add(answer)
        if value < upper:
            point, upper = answer, value
        if settled:
            break
        share, fall = _LOW, 4 * fall
    if best is None:
        raise UnboundedProblem(f"{risk.loss!r} keeps falling as its offsets go to infinity on these data")
    shares = np.append(best.shares, np.zeros(len(tangents.u) - len(best.shares)))
    u = tangents.subgradient(shares)
    return upper, u, best.height, cone.offsets(point), risk.imbalance(u)


def _nearest_below(tangents: Tangents, point: Vector, level: float, upper: float) -> Vector | Mixture | None:
    """The point of the cone nearest to this one where all tangents are below the level, or a proof that
    there is none."""
    floor, heights, slopes = tangents.cone.floor, tangents.heights(point), tangents.slopes
    bounded = np.flatnonzero(np.isfinite(floor))
    # every side in units of its own slope, lengths in units of the way down to the level
    sizes = np.abs(slopes).max(axis=1)
    steepness = sizes.min(initial=np.inf, where=sizes > 0) if sizes.any() else 1.0
    sizes = np.where(sizes > 0, sizes, steepness)
    unit = (upper - level) / steepness
    sides = np.vstack([-slopes / sizes[:, None], np.eye(len(floor))[bounded]])
    least = np.append((heights - level) / sizes, (floor - point)[bounded]) / unit
    system = np.vstack([sides.T, least])
    target = np.append(np.zeros(len(floor)), 1.0)
    multipliers = non_negative(system, target)
    if multipliers is None:
        return None
    rest = system @ multipliers - target
    if rest @ rest < _PROVED:
        shares, walls = multipliers[: len(sizes)] / sizes, multipliers[len(sizes) :]
        free = np.ones(len(floor), bool)
        free[bounded[walls > 0]] = False
        mixture = _mixture(tangents, point, heights, shares, free)
        if mixture is not None:
            return mixture
    if not rest[-1] < -EPS:
        return None
    return np.asarray(np.maximum(point - rest[:-1] / rest[-1] * unit, floor))


def _mixture(
    tangents: Tangents, point: Vector, heights: Vector, shares: Vector, free: NDArray[np.bool_]
) -> Mixture | None:
    """The mixture with about these shares in which the slopes of `free` coordinates vanish, and no others are
    negative; None if there is none."""
    used = np.flatnonzero(shares)
    slopes = tangents.slopes[used]
    system = np.vstack([slopes[:, free].T, np.ones(len(used))])
    target = np.append(np.zeros(int(free.sum())), 1.0)
    chosen = shares[used] / max(float(shares.sum()), 1e-300)
    chosen = np.maximum(chosen + np.linalg.lstsq(system, target - system @ chosen)[0], 0.0)
    chosen /= max(float(chosen.sum()), 1e-300)
    slope, rounding = chosen @ slopes, _BALANCED * float(chosen @ tangents.sizes[used])
    if len(used) == 0 or np.abs(slope[free]).max(initial=0.0) > rounding or slope.min() < -rounding:
        return None
    steps = np.where(free, 0.0, point - tangents.cone.floor)  # down to the walls
    exact = np.zeros(len(shares))
    exact[used] = chosen
    height = float(chosen @ heights[used] - slope @ steps)
    return Mixture(exact, height - tangents.rounding(exact, point, height))
