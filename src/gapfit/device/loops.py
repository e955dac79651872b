"""Compiled loops over samples, for vectors on a device: the formulas of those loops, on all samples at once.

The functions below have the names of the loops, and move the same numbers from and to vectors; sums over the
samples come back as numbers. Numbers go in as tensors on the host, or every new one would be compiled for.
"""

import math
from collections.abc import Callable
from typing import Any

import torch

from gapfit.compiled import atoms, dual_prox, precise, projection, proximal
from gapfit.device import duals, recorded
from gapfit.device.array import DeviceArray
from gapfit.device.formulas import fused, in_tiles, on_tensors, renamed
from gapfit.device.ordered import ORDERED
from gapfit.device.writing import put
from gapfit.rounding import EPS, TINY

__all__ = ["run"]

_FEW = 2**16  # numbers that are soon fetched

maximum, conjugate, margin_of = map(on_tensors, (atoms.maximum, atoms.conjugate, atoms.margin_of))
two_sum = on_tensors(precise.two_sum)
clipped, free_response, strictly_inside, height, unrounded = map(
    on_tensors,
    (proximal.clipped, proximal.free_response, proximal.strictly_inside, proximal.height, proximal.unrounded),
)


# -- losses made of lines and parabolas: `compiled.atoms` ---------------------------------------------------


@fused
def _maximise(record: Any, at: Any) -> Any:
    sign, lin, kink, quad, lo, hi, _ = record
    f, shift = at
    value, a = maximum(lin - sign * (f + shift), kink, quad, lo, hi)
    return value, -sign * a


def maximise(record: Any, at: Any, value: Any, u: Any) -> None:
    put(_maximise(record, at), value, u)


@fused
def _sums_around(record: Any, given: Any) -> Any:
    sign, lin, kink, quad, lo, hi, _ = record
    f, low, shift, slack, unit = given
    z = margin_of(sign, lin, f, low, shift)
    reach = slack + 2.0 * unit * (torch.abs(z) + kink)
    here, _ = maximum(z, kink, quad, lo, hi)
    least, _ = maximum(z - reach, kink, quad, lo, hi)
    most, _ = maximum(z + reach, kink, quad, lo, hi)
    rise = torch.clamp(torch.maximum(least, most) - here, min=0.0)
    return in_tiles(here, torch.abs(here), rise)


def sums_around(record: Any, given: Any) -> Any:
    return _sums_around(record, given).sum(1)


@fused
def _conjugate_sums(record: Any, u: Any) -> Any:
    sign, lin, kink, quad, *_ = record
    line, bent = conjugate(sign, lin, kink, quad, u)
    return in_tiles(line + bent, torch.abs(line) + bent)


def conjugate_sums(record: Any, u: Any) -> Any:
    return _conjugate_sums(record, u).sum(1)


# -- rounded off: `compiled.proximal` -----------------------------------------------------------------------


@fused
def _rounded_off(target: Any, quad: Any, centre: Any, p: Any, c: Any) -> Any:
    weight = c * p
    return target + centre / weight, weight / (1.0 + weight * quad)


def round_off(record: Any, centre: Any, p: Any, c: Any) -> None:
    put(_rounded_off(record.target, record.quad, centre, p, c), record.aim, record.give)


@fused
def _spread(target: Any, f: Any, p: Any) -> Any:
    distance = torch.abs(target - f)
    return in_tiles(p * distance, p * distance * distance)


def spread(record: Any, f: Any, p: Any) -> Any:
    return _spread(record.target, f, p).sum(1)


def reach(record: Any, distance: Any) -> Any:
    room = distance / torch.clamp(record.quad, min=TINY)
    return torch.minimum(record.upper - record.lower, room).sum().reshape(1)


@fused
def _guess(target: Any, kink: Any, quad: Any, lower: Any, upper: Any, f: Any, p: Any, c: Any) -> Any:
    bounded = (upper - lower < math.inf) & (kink == 0.0)
    weight = c * p
    drive = target - f + torch.where(bounded, (0.5 * lower + 0.5 * upper) / weight, 0.0)
    return clipped(free_response(drive, weight / (1.0 + weight * quad), kink), lower, upper)


def guess(record: Any, f: Any, p: Any, c: Any, v: Any) -> None:
    put([_guess(*record[2:], f, p, c)], v)


@fused
def _slope_along(record: Any, f: Any, df: Any, db: Any, t: Any) -> Any:
    aim, give, _, kink, _, lower, upper = record
    way = df + db
    free = free_response(aim - f - t * way, give, kink)
    v = clipped(free, lower, upper)
    return in_tiles(-(v * way), torch.where(v == free, give * way * way, 0.0))


def slope_along(record: Any, f: Any, df: Any, db: Any, t: Any) -> Any:
    return _slope_along(record, f, df, db, t).sum(1)


def advance(record: Any, f: Any, df: Any, db: Any, t: Any) -> None:
    f += t * (df + db)


@fused
def _respond(record: Any, f: Any, c: Any, v: Any, known: Any) -> Any:
    aim, give, target, kink, quad, lower, upper = record
    new = clipped(free_response(aim - f, give, kink), lower, upper)
    weight = give * strictly_inside(new, lower, upper, kink) / c
    change, margin = weight - known, target - f
    exact = unrounded(margin, kink, quad, lower, upper)
    sums = in_tiles(
        height(margin, exact, kink, quad), height(target, new, kink, quad), new, c * weight,
        (weight != 0.0).double(), (change != 0.0).double(),
    )  # fmt: skip
    return new, new - v, weight, change, sums


def respond(record: Any, f: Any, c: Any, v: Any, moved: Any, known: Any, weight: Any, change: Any) -> Any:
    *found, sums = _respond(record, f, c, v, known)
    put(found, v, moved, weight, change)
    return sums.sum(1)


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


@fused
def _masses(positions: Any, masses: Any, below: Any, above: Any) -> Any:
    less, inside = positions < below, (positions >= below) & (positions <= above)
    return inside, in_tiles(torch.where(less, masses, 0.0), torch.where(inside, masses, 0.0))


def narrow(positions: Any, masses: Any, below: Any, above: Any) -> Any:
    """What lies in a window, and its mass and that of all that is less."""
    inside, sums = _masses(positions, masses, below, above)
    rows = torch.nonzero(inside).ravel()
    return DeviceArray(positions[rows]), DeviceArray(masses[rows]), *sums.sum(1).tolist()


@fused
def _box_total(m: Any, step: Any, lower: Any, upper: Any, t: Any) -> Any:
    a = torch.minimum(torch.maximum(m + t * step, lower), upper)
    free = (lower < a) & (a < upper)
    return in_tiles(a, torch.where(free, step, 0.0), torch.abs(a))


def onto_balanced_box(u: Any, p: Any, lower: Any, upper: Any, balance: Any) -> Any:
    """The nearest point of the box whose sum is as it should be, but for what rounding leaves of it."""
    z = float(balance)

    def total(m: Any, step: Any, sigma: Any, lower: Any, upper: Any, t: float) -> list[float]:
        found: list[float] = _box_total(m.tensor, step, lower, upper, _number(t)).sum(1).tolist()
        return found

    search = renamed(projection._near, {"_total": total})
    t, left, right = search(DeviceArray(u), p, None, lower, upper, z, 4 * EPS)
    if left != right:  # far from there: by halves, in memory
        return _in_memory(u, p, lower, upper, z)
    near = torch.minimum(torch.maximum(u + t * p, lower), upper)
    for _ in range(projection._TAKES):
        rest = sum(exact_total(near, _number(-z))[:2])
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
    """Tensors for vectors, in records as well; numbers as tensors on the host."""
    if isinstance(thing, tuple):
        return type(thing)(*map(_opened, thing)) if hasattr(thing, "_fields") else tuple(map(_opened, thing))
    return _number(thing) if isinstance(thing, (float, int)) else thing.tensor


def _number(x: float) -> torch.Tensor:
    return torch.tensor(float(x), dtype=torch.float64)
