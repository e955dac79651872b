"""What it costs to balance a dual point exactly, when rounding has left a little of its slopes in b.

A minorant whose slope e in b is not zero falls without bound as b goes to infinity: it proves nothing,
however small e is. But there are minorants with large slopes in b of either sign, the tangents far to the
left and right of the best b. A share of them, in proportion to e, takes what is left of it away. The shares
are mixed in as far as they can be computed. What is still left is bounded: the exactly balanced minorant is
known up to that, which counts as rounding.
"""

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import NamedTuple, Protocol

import numpy as np

from gapfit._types import Matrix, Vector
from gapfit.losses.base import Risk
from gapfit.losses.leaning import Leaning
from gapfit.offset.non_negative import non_negative
from gapfit.offset.single import resolution_of

_DOUBLINGS = 60
_ROUNDS = 100  # tangents for one direction
_STEEP = 0.1  # of all slopes in the scores, for each offset, that a slope in b is steep
_STEEPER = 1.2  # times as steep is worth going farther
_PATIENCE = 6  # steps, each four times as long, in which nothing becomes steeper
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
    u: Callable[[], Vector]
    b: Vector
    leaning: Leaning

    def balanced(self, u: Vector, c: float, e: Vector) -> tuple[Vector, float, Vector]:
        """A minorant of slope u, and c and e at b, with tangents mixed in such that e nearly vanishes."""
        size, slopes = float(np.abs(e).max(initial=0.0)), self.leaning.e.T
        if not slopes.size or size * float(np.min(self.price)) <= _ENOUGH:
            return u, c, e
        scale = float(np.abs(slopes).max())
        shares = _shares(slopes / scale, -e / size) * (size / scale)
        total = 1.0 + float(shares.sum())
        mixed = (u + self.leaning.mixture(shares)) / total
        return mixed, (c + float(shares @ self.leaning.heights)) / total, (e + slopes @ shares) / total


def _shares(slopes: Matrix, wanted: Vector) -> Vector:
    """The shares, none of them negative, of columns that add up to what is wanted, as nearly as they can."""
    shares = np.zeros(slopes.shape[1])
    if len(wanted) > 1:
        found = non_negative(slopes, wanted)
        return shares if found is None else found
    along = slopes[0] * np.sign(wanted[0])
    steepest = int(along.argmax())  # of which least is needed
    if along[steepest] > 0:
        shares[steepest] = abs(wanted[0]) / along[steepest]
    return shares


class Tangent(NamedTuple):
    """R(f', b') >= height + <u, f' - f> + <e, b' - b> at the reserve's scores f and offsets b."""

    u: Vector
    e: Vector
    height: float


class Best(Protocol):
    """The risk at these scores and its best offsets."""

    @property
    def value(self) -> float: ...

    @property
    def b(self) -> Vector: ...


def reserve_of(risk: Risk, scores: Vector, best: Callable[[], Best]) -> Reserve:
    """Tangents for all offsets, at these scores and their best offsets; of each part, where offsets separate.

    Known tangents of one offset serve at any b. If they are no higher at zero than a step of two would make
    them, zero is as good as the best, which need not be looked for.
    """
    nowhere = np.zeros(1)
    known = risk.leaning(scores, nowhere) if risk.offsets.size == 1 else None
    if known is not None and np.abs(known.heights).max() <= 2 * np.abs(known.e).max():
        return _reserve_about(risk, scores, 0.0, nowhere, known)
    parts = risk.offset_parts() if risk.offsets.size > 1 else None
    at = best()
    value, b = at.value, at.b
    if parts is None:
        return _reserve_about(risk, scores, value, b)
    each = []
    for k in range(len(b)):
        part, own = parts.pooled(scores, k, k + 1)
        each.append(_reserve_about(part, own, value, b[k : k + 1]))
    u, _ = parts.gather(np.concatenate([part.u() for part in each]))
    price = np.concatenate([part.price for part in each])
    leaning = risk.leaning(scores, b) or _reserve_about(risk, scores, value, b).leaning
    return Reserve(price, max(part.height for part in each), lambda: u, b, leaning)


def _reserve_about(
    risk: Risk, scores: Vector, value: float, b: Vector, known: Leaning | None = None
) -> Reserve:
    known = known or risk.leaning(scores, b)
    if known is not None and len(b) == 1:
        least, most = float(known.e.min()), float(known.e.max())
        if least < 0 < most:  # the steepest ones are known
            height = abs(value) + float(np.abs(known.heights).max())
            return Reserve(np.array([1.01 / min(most, -least)]), height, known.most, b, known)
    collected = _Tangents(risk, scores, b, known)
    price, leaning = collected.price(), collected.leaning()
    height = abs(value) + float(np.abs(leaning.heights).max(initial=0.0))
    return Reserve(price, height, leaning.most, b, leaning)


class _Tangents:
    """Tangents steep in b, as many as it takes for every slope in b to be a sum of theirs."""

    def __init__(self, risk: Risk, scores: Vector, b: Vector, known: Leaning | None) -> None:
        self.risk, self.scores, self.b, self.known = risk, scores, b, known
        self.found: list[Tangent] = []

    def leaning(self) -> Leaning:
        """Those that are known without a search, or all that were found."""
        if self.known is not None:
            return self.known
        u = [tangent.u for tangent in self.found]
        most = reduce(np.maximum, map(np.abs, u), np.zeros_like(self.scores))
        heights = np.array([tangent.height for tangent in self.found])

        def mixture(shares: Vector) -> Vector:
            used = np.flatnonzero(shares)
            return reduce(add, (shares[k] * u[k] for k in used), np.zeros_like(most))

        return Leaning(self._slopes(), heights, lambda: most, mixture)

    def _slopes(self) -> Matrix:
        if self.known is not None:
            return self.known.e
        return np.array([tangent.e for tangent in self.found]).reshape(-1, len(self.b))

    def price(self) -> Vector:
        """The largest sum of shares that a slope of size one in each offset may need; infinite if none do.

        Each direction is taken away up to a small rest, the rest likewise, and so on: a geometric series.
        """
        units = np.eye(len(self.b))
        if self.known is None:
            for way in units:
                self._add(way)
        slopes = self._slopes()
        if len(self.b) > 1 and (np.abs(slopes.sum(axis=1)) <= _LEFT * np.abs(slopes).sum(axis=1)).all():
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
        sizes = [tangent.u for tangent in self.found] if self.known is None else [self.known.most()]
        largest = max(float(np.abs(u).max(initial=0.0)) for u in sizes)
        return min(float(_large(np.abs(u), largest).min(initial=np.inf)) for u in sizes) if largest else 0.0

    def _shares(self, direction: Vector) -> float:
        """The sum of the shares that take this slope away."""
        for _ in range(_ROUNDS):
            rest, total = -direction, 0.0
            columns = self._slopes().T
            if columns.size and len(direction) == 1:  # the steepest one
                along = float((columns[0] * -direction[0]).max())
                if along > 0:
                    return 1.0 / along
            elif columns.size:
                scale = float(np.abs(columns).max())
                shares = _shares(columns / scale, -direction)
                rest, total = -direction - columns @ shares / scale, float(shares.sum()) / scale
            if float(np.abs(rest).max()) <= _LEFT:
                return total
            if self.known is not None or not self._add(rest):  # no tangent known points there: look for one
                return np.inf
        return np.inf

    def _add(self, way: Vector) -> bool:
        """Add the tangent some way from b, as far as it is steep in that direction."""
        way = way / np.abs(way).max()
        step = max(1.0, 1e3 * resolution_of(self.scores, float(np.abs(self.b).max())))
        steepest, since = 0.0, 0
        best: Tangent | None = None
        for _ in range(_DOUBLINGS):
            value, u, e = self.risk.value_and_subgradient(self.scores, self.b + step * way)
            size, along = float(np.abs(u).sum()), float(e @ way)
            if not (np.isfinite(value) and np.isfinite(size) and np.isfinite(along)):
                break
            if along > _STEEPER * steepest * max(size, along):
                best, steepest, since = Tangent(u, e, value - step * along), along / max(size, along), 0
            since += steepest > _LEFT
            if steepest >= _STEEP / len(self.b) or since > _PATIENCE:
                break
            step *= 4
        if best is None or steepest <= _LEFT:
            return False
        self.found.append(best)
        return True


def _large(sizes: Vector, largest: float) -> Vector:
    """Those that are not rounding."""
    return sizes[sizes > _LEFT * largest]
