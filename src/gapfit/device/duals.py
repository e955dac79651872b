"""Loops over dual points, for vectors on a device: those of `compiled.dual_prox`, by the same names."""

from typing import Any

import torch

from gapfit.compiled.proximal import clipped, height, strictly_inside, unrounded
from gapfit.device.samples import for_each
from gapfit.rounding import TINY

__all__ = ["DUALS", "SUMS"]


def _lengths(x, t):
    p, quad = x
    inverse = 1.0 / (t[0] * p)
    return (inverse, 1.0 / (inverse + quad)), ()


_scales = for_each(_lengths)


def scales(pieces: Any, step: Any, lengths: Any) -> None:
    _scales((pieces.p, pieces.quad), (step,), lengths)


def _response(x, t):
    sign, lin, kink, lo, hi, inverse, gain, centre, f, along = x
    drive = lin - sign * (f + t[0] * along + t[1] + inverse * centre)
    a = clipped(gain * (drive - min(max(drive, -kink), kink)), lo, hi)
    u, moves = -sign * a, gain * strictly_inside(a, lo, hi, kink)
    return (u,), (u, moves, abs(u), u * along, moves * along)


_respond = for_each(_response, 5)


def respond(pieces: Any, lengths: Any, line: Any, t: Any, b: Any, u: Any) -> Any:
    sign, lin, kink, _, lo, hi, _ = pieces
    return _respond((sign, lin, kink, lo, hi, *lengths, *line), (t, b), (u,))


def _blended(x, t):
    first, second = x
    return (first + t[0] * (second - first),), ()


_blend = for_each(_blended)


def blend(first: Any, second: Any, share: Any, out: Any) -> None:
    _blend((first, second), (share,), (out,))


def _nudged(x, t):
    sign, kink, lo, hi, gain, u = x
    a = -sign * u
    moved = -sign * clipped(a - sign * t[0] * gain * strictly_inside(a, lo, hi, kink), lo, hi)
    return (moved,), (moved,)


_nudge = for_each(_nudged, 1)


def nudge(pieces: Any, gain: Any, shift: Any, u: Any) -> float:
    sign, _, kink, _, lo, hi, _ = pieces
    return float(_nudge((sign, kink, lo, hi, gain, u), (shift,), (u,)))


def absorb(pieces: Any, excess: Any, u: Any) -> None:
    """By the first sample that has room for all of it: it is rounding."""
    bottom = torch.where(pieces.sign > 0.0, -pieces.hi, pieces.lo)
    top = torch.where(pieces.sign > 0.0, -pieces.lo, pieces.hi)
    less = u - excess
    at = ((bottom <= less) & (less <= top)).int().argmax()
    u[at] = torch.clamp(less[at], bottom[at], top[at])


def _heights(x, t):
    sign, lin, kink, quad, lo, hi, f, u = x
    margin = lin - sign * (f + t[0])
    best = unrounded(margin, kink, quad, lo, hi)
    return (), (height(margin, best, kink, quad), kink * abs(u) + 0.5 * quad * u * u + lin * sign * u)


_values = for_each(_heights, 2)


def values(pieces: Any, f: Any, b: Any, u: Any) -> Any:
    return _values((*pieces[:6], f, u), (b,))


def _apart(x, t):
    p, u, other = x
    step = u - other
    return (), (step * step / max(p, TINY),)


_distance = for_each(_apart, 1)


def distance(p: Any, u: Any, other: Any) -> float:
    return float(_distance((p, u, other)))


DUALS = (scales, respond, blend, nudge, absorb, values, distance)
SUMS = (respond, values)
