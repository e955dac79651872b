"""Loops over dual points, for vectors on a device: those of `compiled.dual_prox`, by the same names."""

from typing import Any

import torch

from gapfit.compiled import proximal
from gapfit.device.formulas import fused, in_tiles, on_tensors
from gapfit.device.writing import put
from gapfit.rounding import TINY

__all__ = ["DUALS", "SUMS"]

clipped, strictly_inside, height, unrounded = map(
    on_tensors, (proximal.clipped, proximal.strictly_inside, proximal.height, proximal.unrounded)
)


def scales(pieces: Any, step: Any, lengths: Any) -> None:
    inverse = 1.0 / (step * pieces.p)
    put((inverse.clone(), 1.0 / (inverse + pieces.quad)), *lengths)


@fused
def _respond(pieces: Any, lengths: Any, line: Any, t: Any, b: Any) -> Any:
    sign, lin, kink, _, lo, hi, _ = pieces
    inverse, gain = lengths
    centre, f, along = line
    x = lin - sign * (f + t * along + b + inverse * centre)
    a = clipped(gain * (x - torch.minimum(torch.maximum(x, -kink), kink)), lo, hi)
    u, moves = -sign * a, gain * strictly_inside(a, lo, hi, kink)
    return u, in_tiles(u, moves, torch.abs(u), u * along, moves * along)


def respond(pieces: Any, lengths: Any, line: Any, t: Any, b: Any, u: Any) -> Any:
    found, sums = _respond(pieces, lengths, line, t, b)
    put([found], u)
    return sums.sum(1)


def blend(first: Any, second: Any, share: Any, out: Any) -> None:
    put([first + share * (second - first)], out)


@fused
def _nudge(pieces: Any, gain: Any, shift: Any, u: Any) -> Any:
    sign, _, kink, _, lo, hi, _ = pieces
    a = -sign * u
    moved = -sign * clipped(a - sign * shift * gain * strictly_inside(a, lo, hi, kink), lo, hi)
    return moved, in_tiles(moved)


def nudge(pieces: Any, gain: Any, shift: Any, u: Any) -> float:
    moved, sums = _nudge(pieces, gain, shift, u)
    put([moved], u)
    return float(sums.sum())


def absorb(pieces: Any, excess: Any, u: Any) -> None:
    """By the first sample that has room for all of it: it is rounding."""
    bottom = torch.where(pieces.sign > 0.0, -pieces.hi, pieces.lo)
    top = torch.where(pieces.sign > 0.0, -pieces.lo, pieces.hi)
    less = u - excess
    at = ((bottom <= less) & (less <= top)).int().argmax()
    u[at] = torch.clamp(less[at], bottom[at], top[at])


@fused
def _values(pieces: Any, f: Any, b: Any, u: Any) -> Any:
    sign, lin, kink, quad, lo, hi, _ = pieces
    margin = lin - sign * (f + b)
    best = unrounded(margin, kink, quad, lo, hi)
    return in_tiles(
        height(margin, best, kink, quad), kink * torch.abs(u) + 0.5 * quad * u * u + lin * sign * u
    )


def values(pieces: Any, f: Any, b: Any, u: Any) -> Any:
    return _values(pieces, f, b, u).sum(1)


def distance(p: Any, u: Any, other: Any) -> float:
    step = u - other
    return float((step * step / torch.clamp(p, min=TINY)).sum())


DUALS = (scales, respond, blend, nudge, absorb, values, distance)
SUMS = (respond, values)
