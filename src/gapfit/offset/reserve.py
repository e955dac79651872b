"""What it costs to balance a dual point exactly, when rounding has left a little of its slopes in b.

A minorant whose slope e in b is not zero falls without bound as b goes to infinity: it proves nothing,
however small e is. But there are minorants with large slopes in b of either sign, the tangents far to the
left and right of the best b. A share of them, in proportion to e, takes what is left of it away. The shares
need not be computed, only bounded: then the exactly balanced minorant is known up to that, which counts as
rounding.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from gapfit._types import Matrix, Vector
from gapfit.losses.base import Risk
from gapfit.offset.several import best_offsets
from gapfit.offset.single import resolution_of

_DOUBLINGS = 60
_STEEP = 0.1  # of all slopes in the scores that are there, a slope in b is steep
_LEFT = 1e-6  # of a slope may be left by non-negative least squares: a few rounds more leave nothing


class Reserve(NamedTuple):
    """Tangents that lean every way in b, taken at known scores about the offsets b.

    To take a slope e away they need shares that sum up to at most `price` times |e|_1. Their heights at b and
    their slopes in the scores are at most `height` and, sample by sample, `u`.
    """

    price: float
    height: float
    u: Vector
    b: Vector


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
    return Reserve(max(part.price for part in each), max(part.height for part in each), u, b)


def _reserve_about(risk: Risk, scores: Vector, value: float, b: Vector) -> Reserve:
    tangents = [_steep(risk, scores, b, k, sign) for k in range(len(b)) for sign in (-1.0, 1.0)]
    steep = [tangent for tangent in tangents if tangent is not None]
    u = np.max([np.abs(tangent.u) for tangent in steep], axis=0) if steep else np.zeros_like(scores)
    height = max((abs(tangent.height) for tangent in steep), default=0.0)
    slopes = np.array([tangent.e for tangent in steep]).reshape(-1, len(b)).T
    return Reserve(_price(slopes, risk), abs(value) + height, u, b)


class _Tangent(NamedTuple):
    u: Vector
    e: Vector
    height: float  # at the best b


def _steep(risk: Risk, scores: Vector, b: Vector, k: int, sign: float) -> _Tangent | None:
    """The tangent at the best b moved in one coordinate, as far as its slope there is steep."""
    step = max(1.0, 1e3 * resolution_of(scores, float(np.abs(b).max())))
    best: _Tangent | None = None
    share = 0.0
    for _ in range(_DOUBLINGS):
        there = b.copy()
        there[k] += sign * step
        with np.errstate(over="ignore", invalid="ignore"):
            value, u, e = risk.value_and_subgradient(scores, there)
            size = float(np.abs(u).sum())
        if not (np.isfinite(value) and np.isfinite(size) and np.isfinite(e).all()):
            break
        if sign * e[k] > share * size:
            height = value - float(e @ (there - b))
            best, share = _Tangent(u, e, height), sign * e[k] / max(size, sign * e[k])
        if share >= _STEEP:
            break
        step *= 4
    return best


def _price(slopes: Matrix, risk: Risk) -> float:
    """The largest sum of shares that a slope of size one may need, if it can be had at all.

    Each direction is taken away up to a small rest, the rest likewise, and so on: a geometric series.
    """
    size = risk.offsets.size
    units = [sign * unit for unit in np.eye(size) for sign in (-1.0, 1.0)]
    whole = [_shares(slopes, unit) for unit in units]
    if None in whole and size > 1:  # a common shift of all offsets may change nothing: no slope points there
        whole = [_shares(slopes, unit - unit.mean()) for unit in units]
    if any(share is None for share in whole):
        return np.inf
    return 1.01 * max(share for share in whole if share is not None)


def _shares(slopes: Matrix, direction: Vector) -> float | None:
    if slopes.shape[1] == 0:
        return None
    scale = float(np.abs(slopes).max())
    if scale == 0:
        return None
    shares, rest = nnls(slopes / scale, -direction)
    return float(shares.sum()) / scale if rest <= _LEFT else None
