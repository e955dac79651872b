"""What it costs to balance a dual point exactly, when rounding has left a little of its slopes in b.

A minorant whose slope e in b is not zero falls without bound as b goes to infinity: it proves nothing,
however small e is. But there are minorants with large slopes in b of either sign, the tangents far to the
left and right of the best b. A share of them, in proportion to e, takes what is left of it away. The shares
are mixed in as far as they can be computed. What is still left is bounded: the exactly balanced minorant is
known up to that, which counts as rounding.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from gapfit._types import Vector
from gapfit.losses.base import Risk
from gapfit.offset.several import best_offsets
from gapfit.offset.single import resolution_of

_DOUBLINGS = 60
_ROUNDS = 100  # tangents for one direction
_STEEP = 0.1  # of all slopes in the scores that are there, a slope in b is steep
_STEEPER = 1.2  # times as steep is worth going farther
_ENOUGH = 1e-20  # a share that nobody will notice
_LEFT = 1e-6  # of a slope may be left by non-negative least squares: a few rounds more leave nothing


class Reserve(NamedTuple):
    """Tangents that lean every way in b, taken at known scores about the offsets b.

    To take a slope e away they need shares that sum up to at most <price, |e|>; a price is infinite where no
    tangent leans one way. Their heights at b and their slopes in the scores are at most `height` and, sample
    by sample, `u`.
    """

    price: Vector
    height: float
    u: Vector
    b: Vector
    tangents: "list[Tangent]"

    def balanced(self, u: Vector, c: float, e: Vector) -> tuple[Vector, float, Vector]:
        """A minorant of slope u, and c and e at b, with tangents mixed in such that e nearly vanishes."""
        size = float(np.abs(e).max(initial=0.0))
        if not self.tangents or size * float(np.min(self.price)) <= _ENOUGH:
            return u, c, e
        slopes = np.array([tangent.e for tangent in self.tangents]).T
        scale = float(np.abs(slopes).max())
        shares = nnls(slopes / scale, -e / size)[0] * (size / scale)
        total = 1.0 + float(shares.sum())
        mixed, height, slope = u.copy(), c, e.copy()
        for share, tangent in zip(shares, self.tangents, strict=True):
            if share > 0:
                mixed += share * tangent.u
                height, slope = height + share * tangent.height, slope + share * tangent.e
        return mixed / total, height / total, slope / total


class Tangent(NamedTuple):
    """R(f', b') >= height + <u, f' - f> + <e, b' - b> at the reserve's scores f and offsets b."""

    u: Vector
    e: Vector
    height: float


def reserve_of(risk: Risk, scores: Vector) -> Reserve:
    """Tangents for all offsets, at these scores; of each part, where offsets separate."""
    parts = risk.offset_parts() if risk.offsets.size > 1 else None
    value, b = best_offsets(risk, scores, np.zeros(risk.offsets.size))
    if parts is None:
        return _reserve_about(risk, scores, value, b)
    each = []
    for k in range(len(b)):
        part, own = parts.pooled(scores, k, k + 1)
        each.append(_reserve_about(part, own, value, b[k : k + 1]))
    u, _ = parts.gather(np.concatenate([part.u for part in each]))
    price = np.concatenate([part.price for part in each])
    return Reserve(
        price, max(part.height for part in each), u, b, _reserve_about(risk, scores, value, b).tangents
    )


def _reserve_about(risk: Risk, scores: Vector, value: float, b: Vector) -> Reserve:
    collected = _Tangents(risk, scores, b)
    price, tangents = collected.price(), collected.found
    u = np.max([np.abs(t.u) for t in tangents], axis=0) if tangents else np.zeros_like(scores)
    return Reserve(price, abs(value) + max((abs(t.height) for t in tangents), default=0.0), u, b, tangents)


class _Tangents:
    """Tangents steep in b, as many as it takes for every slope in b to be a sum of theirs."""

    def __init__(self, risk: Risk, scores: Vector, b: Vector) -> None:
        self.risk, self.scores, self.b = risk, scores, b
        self.found: list[Tangent] = []

    def price(self) -> Vector:
        """The largest sum of shares that a slope of size one in each offset may need; infinite if none do.

        Each direction is taken away up to a small rest, the rest likewise, and so on: a geometric series.
        """
        units = np.eye(len(self.b))
        for way in (*units, *-units):
            self._add(way)
        if len(self.b) > 1 and all(abs(t.e.sum()) <= _LEFT * np.abs(t.e).sum() for t in self.found):
            units = units - 1.0 / len(units)  # a common shift changes nothing, and no slope points there
        both = np.array([[self._shares(unit), self._shares(-unit)] for unit in units])
        one_sided = np.isinf(both).any(axis=1) & np.isfinite(both).any(axis=1)
        if one_sided.any():
            least = self._least_slope()
            both[one_sided] = 1.0 / least if least > 0 else np.inf
        return np.asarray(1.01 * both.max(axis=1))

    def _least_slope(self) -> float:
        """The least that one score adds to a slope in b. Where no tangent leans the other way, tangents that
        lean at all have no share in a balanced one; what is left of a slope says how large it was at most."""
        sizes = np.concatenate([np.abs(tangent.u) for tangent in self.found])
        there = sizes[sizes > _LEFT * sizes.max()]
        return float(there.min()) if len(there) else 0.0

    def _shares(self, direction: Vector) -> float:
        """The sum of the shares that take this slope away."""
        for _ in range(_ROUNDS):
            rest, total = -direction, 0.0
            if self.found:
                columns = np.array([tangent.e for tangent in self.found]).T
                scale = float(np.abs(columns).max())
                shares, _ = nnls(columns / scale, -direction)
                rest, total = -direction - columns @ shares / scale, float(shares.sum()) / scale
            if float(np.abs(rest).max()) <= _LEFT:
                return total
            if not self._add(rest):  # no tangent known points there: look for one
                return np.inf
        return np.inf

    def _add(self, way: Vector) -> bool:
        """Add the tangent some way from b, as far as it is steep in that direction."""
        way = way / np.abs(way).max()
        step = max(1.0, 1e3 * resolution_of(self.scores, float(np.abs(self.b).max())))
        steepest = 0.0
        best: Tangent | None = None
        for _ in range(_DOUBLINGS):
            value, u, e = self.risk.value_and_subgradient(self.scores, self.b + step * way)
            size, along = float(np.abs(u).sum()), float(e @ way)
            if not (np.isfinite(value) and np.isfinite(size) and np.isfinite(along)):
                break
            if along > _STEEPER * steepest * max(size, along):
                best, steepest = Tangent(u, e, value - step * along), along / max(size, along)
            if steepest >= _STEEP:
                break
            step *= 4
        if best is None or steepest <= _LEFT:
            return False
        self.found.append(best)
        return True
