"""Compiled loops over samples, for vectors on a device: the formulas of those loops, on all samples at once.

The functions below have the names of the loops, and move the same numbers from and to vectors; sums over the
samples come back as numbers.
"""

import math
from collections.abc import Callable
from typing import Any

import torch

from gapfit.compiled import dual_prox
from gapfit.compiled.atoms import chosen, conjugate, margin_of, maximum
from gapfit.compiled.proximal import clipped, free_response, height, strictly_inside, unrounded
from gapfit.device import duals, recorded
from gapfit.device.array import DeviceArray
from gapfit.device.ordered import ORDERED
from gapfit.device.samples import for_each
from gapfit.device.totals import exact_total, is_there, narrow, onto_balanced_box
from gapfit.rounding import TINY

__all__ = ["run"]

INFINITY = math.inf


# -- losses made of lines and parabolas: `compiled.atoms` ---------------------------------------------------


def _maximised(x, t):
    sign, lin, kink, quad, lo, hi, f = x
    value, a = maximum(lin - sign * (f + t[0]), kink, quad, lo, hi)
    return (value, -sign * a), ()


_maximise = for_each(_maximised)


def maximise(record: Any, at: Any, value: Any, u: Any) -> None:
    _maximise((*record[:-1], at[0]), at[1:], (value, u))


def _around(x, t):
    sign, lin, kink, quad, lo, hi, f, low, slack = x
    z = margin_of(sign, lin, f, low, t[0])
    reach = slack + 2.0 * t[1] * (abs(z) + kink)
    here, _ = maximum(z, kink, quad, lo, hi)
    least, _ = maximum(z - reach, kink, quad, lo, hi)
    most, _ = maximum(z + reach, kink, quad, lo, hi)
    return (), (here, abs(here), max(max(least, most) - here, 0.0))


_sums_around = for_each(_around, 3)


def sums_around(record: Any, given: Any) -> Any:
    f, low, shift, slack, unit = given
    return _sums_around((*record[:-1], f, low, slack), (shift, unit))


def _conjugates(x, t):
    sign, lin, kink, quad, u = x
    line, bent = conjugate(sign, lin, kink, quad, u)
    return (), (line + bent, abs(line) + bent)


_conjugate_sums = for_each(_conjugates, 2)


def conjugate_sums(record: Any, u: Any) -> Any:
    return _conjugate_sums((*record[:4], u))


# -- rounded off: `compiled.proximal` -----------------------------------------------------------------------


def _rounded_off(x, t):
    target, quad, centre, p = x
    weight = t[0] * p
    return (target + centre / weight, weight / (1.0 + weight * quad)), ()


_round_off = for_each(_rounded_off)


def round_off(record: Any, centre: Any, p: Any, c: Any) -> None:
    _round_off((record.target, record.quad, centre, p), (c,), (record.aim, record.give))


def _distances(x, t):
    target, f, p = x
    distance = abs(target - f)
    return (), (p * distance, p * distance * distance)


_spread = for_each(_distances, 2)


def spread(record: Any, f: Any, p: Any) -> Any:
    return _spread((record.target, f, p))


def _room(x, t):
    quad, lower, upper = x
    return (), (min(upper - lower, t[0] / max(quad, TINY)),)


_reach = for_each(_room, 1)


def reach(record: Any, distance: Any) -> Any:
    return _reach((record.quad, record.lower, record.upper), (distance,))


def _guessed(x, t):
    target, kink, quad, lower, upper, f, p = x
    bounded = (upper - lower < INFINITY) & (kink == 0.0)
    weight = t[0] * p
    drive = target - f + chosen(bounded, (0.5 * lower + 0.5 * upper) / weight, 0.0)
    return (clipped(free_response(drive, weight / (1.0 + weight * quad), kink), lower, upper),), ()


_guess = for_each(_guessed)


def guess(record: Any, f: Any, p: Any, c: Any, v: Any) -> None:
    _guess((*record[2:], f, p), (c,), (v,))


def _along(x, t):
    aim, give, kink, lower, upper, f, df = x
    way = df + t[0]
    free = free_response(aim - f - t[1] * way, give, kink)
    v = clipped(free, lower, upper)
    return (), (-(v * way), chosen(v == free, give * way * way, 0.0))


_slope_along = for_each(_along, 2)


def slope_along(record: Any, f: Any, df: Any, db: Any, t: Any) -> Any:
    aim, give, _, kink, _, lower, upper = record
    return _slope_along((aim, give, kink, lower, upper, f, df), (db, t))


def _advanced(x, t):
    f, df = x
    return (f + t[1] * (df + t[0]),), ()


_advance = for_each(_advanced)


def advance(record: Any, f: Any, df: Any, db: Any, t: Any) -> None:
    _advance((f, df), (db, t), (f,))


def _response(x, t):
    aim, give, target, kink, quad, lower, upper, f, v, known = x
    new = clipped(free_response(aim - f, give, kink), lower, upper)
    weight = give * strictly_inside(new, lower, upper, kink) / t[0]
    change, margin = weight - known, target - f
    exact = unrounded(margin, kink, quad, lower, upper)
    return (new, new - v, weight, change), (
        height(margin, exact, kink, quad), height(target, new, kink, quad), new, t[0] * weight,
        weight != 0.0, change != 0.0,
    )  # fmt: skip


_respond = for_each(_response, 6)


def respond(record: Any, f: Any, c: Any, v: Any, moved: Any, known: Any, weight: Any, change: Any) -> Any:
    return _respond((*record, f, v, known), (c,), (v, moved, weight, change))


_LOOPS: dict[str, Callable[..., Any]] = {
    loop.__name__: loop
    for loop in (
        maximise, sums_around, conjugate_sums, round_off, spread, reach, guess, slope_along, advance, respond,
        exact_total, narrow, is_there, onto_balanced_box, *ORDERED,
    )
}  # fmt: skip
# these return a tensor of sums
_SUMS = (sums_around, conjugate_sums, spread, reach, slope_along, respond, *duals.SUMS)
_DUALS: dict[str, Callable[..., Any]] = {loop.__name__: loop for loop in duals.DUALS}


def run(loop: Any, *arguments: Any) -> Any:
    """What a compiled loop does to all samples, and what it returns; what is written in NumPy is recorded."""
    there = getattr(loop, "py_func", loop).__module__ == dual_prox.__name__
    if (own := (_DUALS if there else _LOOPS).get(loop.__name__)) is None:
        if hasattr(loop, "py_func"):
            raise TypeError(f"{loop.__name__} is not known for vectors on a device")
        return recorded.run(loop, *arguments)
    found = own(*map(_opened, arguments))
    if own in _SUMS:
        return found.tolist()
    return DeviceArray(found) if isinstance(found, torch.Tensor) else found


def _opened(thing: Any) -> Any:
    """Tensors for vectors, in records as well."""
    if isinstance(thing, DeviceArray):
        return thing.tensor
    if not isinstance(thing, tuple):
        return thing
    parts = [x.tensor if isinstance(x, DeviceArray) else _opened(x) for x in thing]
    return type(thing)(*parts) if hasattr(thing, "_fields") else tuple(parts)
