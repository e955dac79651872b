"""Compiled loops over samples, for vectors on a device: the formulas of those loops, on all samples at once.

The functions below have the names of the loops, and move the same numbers from and to vectors; sums over the
samples come back as numbers.
"""

import math
from collections.abc import Callable
from typing import Any

import torch

from gapfit.compiled import dual_prox, precise, projection
from gapfit.compiled.atoms import chosen, conjugate, margin_of, maximum
from gapfit.compiled.proximal import clipped, free_response, height, strictly_inside, unrounded
from gapfit.device import duals, recorded
from gapfit.device.array import DeviceArray
from gapfit.device.formulas import fused, in_tiles, on_tensors, renamed
from gapfit.device.ordered import ORDERED
from gapfit.device.samples import for_each
from gapfit.rounding import EPS, TINY

__all__ = ["run"]

INFINITY = math.inf
_FEW = 2**16  # numbers that are soon fetched

two_sum = on_tensors(precise.two_sum)


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


# -- sums, windows, projections: `compiled.precise`, `compiled.quantile`, `compiled.projection` -------------


def exact_total(x: Any, more: Any) -> list[float]:
    """Each round adds up eight numbers at a time, and keeps what that loses; the last ones in memory."""
    total, lost = x, x.new_zeros(2)
    while total.numel() > _FEW:
        total, rest = _in_eights(total)
        lost += rest.sum(1)
    found = precise.exact_total(total.cpu().numpy(), 0, total.numel(), float(more))
    return [float(part) for part in (found[0], found[1] + lost[0], found[2] + lost[1])]


@fused
def _in_eights(x: Any) -> Any:
    first, *others = torch.nn.functional.pad(x, (0, -len(x) % 8)).reshape(8, -1)
    lost, size = torch.zeros_like(first), torch.zeros_like(first)
    for other in others:
        first, rest = two_sum(first, other)
        lost, size = lost + rest, size + torch.abs(rest)
    return first, in_tiles(lost, size)


def _windowed(x, t):
    position, mass = x
    less, inside = position < t[0], (position >= t[0]) & (position <= t[1])
    return (inside,), (chosen(less, mass, 0.0), chosen(inside, mass, 0.0))


_window = for_each(_windowed, 2)


def narrow(positions: Any, masses: Any, below: Any, above: Any) -> Any:
    """What lies in a window, and its mass and that of all that is less."""
    inside = torch.empty_like(positions, dtype=torch.uint8)
    sums = _window((positions, masses), (below, above), (inside,))
    rows = torch.nonzero(inside).ravel()
    return DeviceArray(positions[rows]), DeviceArray(masses[rows]), *sums.tolist()


def _boxed(x, t):
    m, step, lower, upper = x
    a = min(max(m + t[0] * step, lower), upper)
    return (), (a, chosen((lower < a) & (a < upper), step, 0.0), abs(a))


_box_total = for_each(_boxed, 3)


def onto_balanced_box(u: Any, p: Any, lower: Any, upper: Any, balance: Any) -> Any:
    """The nearest point of the box whose sum is as it should be, but for what rounding leaves of it."""
    z = float(balance)

    def total(m: Any, step: Any, sigma: Any, lower: Any, upper: Any, t: float) -> list[float]:
        found: list[float] = _box_total((m.tensor, step, lower, upper), (t,)).tolist()
        return found

    search = renamed(projection._near, {"_total": total})
    t, left, right = search(DeviceArray(u), p, None, lower, upper, z, 4 * EPS)
    if left != right:  # far from there: by halves, in memory
        return _in_memory(u, p, lower, upper, z)
    near = torch.minimum(torch.maximum(u + t * p, lower), upper)
    for _ in range(projection._TAKES):
        rest = sum(exact_total(near, -z)[:2])
        if rest == 0.0:
            break
        room = (lower <= near - rest) & (near - rest <= upper)
        at = torch.where(room, torch.abs(near), math.inf).argmin()
        if bool(room[at]):
            near[at] -= rest
    return near


def _in_memory(u: Any, p: Any, lower: Any, upper: Any, z: float) -> Any:
    from gapfit.projections import project_dual_box

    there, low, high, mass = (x.cpu().numpy() for x in (u, lower, upper, p))
    return torch.as_tensor(project_dual_box(there, low, high, mass, z)).to(u.device)


_LOOPS: dict[str, Callable[..., Any]] = {
    loop.__name__: loop
    for loop in (
        maximise, sums_around, conjugate_sums, round_off, spread, reach, guess, slope_along, advance, respond,
        exact_total, narrow, onto_balanced_box, *ORDERED,
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
    if isinstance(thing, tuple):
        return type(thing)(*map(_opened, thing)) if hasattr(thing, "_fields") else tuple(map(_opened, thing))
    return thing if thing is None or isinstance(thing, (float, int)) else thing.tensor
