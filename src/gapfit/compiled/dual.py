"""Dual coordinate descent: sweeps and steps in turn, until something is to be decided."""

import math
from typing import Any, NamedTuple

from gapfit.compiled._jit import jit
from gapfit.compiled.dual_coordinate import costs
from gapfit.compiled.dual_steps import Ways, beyond, leave_resting
from gapfit.compiled.dual_sweeps import Dual, Place, responses, sort_out, survey, sweep
from gapfit.compiled.rows import LOSS, dense_dot

__all__ = [
    "LOSS", "Dual", "Ends", "Epoch", "Place", "Ways", "costs", "descend", "leave_resting", "responses",
    "sort_out", "step_on", "survey",
]  # fmt: skip

CAUTION = 1.3  # in guessing the gap: a look too many costs more than a sweep too many of active rows


class Epoch(NamedTuple):
    """Sweeps since all rows were looked at."""

    order: Any  # the active rows
    state: Any  # of the random numbers
    threshold: float  # of firm rest
    gap: float  # of the active rows, as the last sweep saw it
    full_gap: float  # of all rows; infinite before the first sweep over them
    visits: int
    sweeps: int


class Ends(NamedTuple):
    """What ends an epoch: the gap at most ``enough`` of that of all rows, or the most visits or sweeps.
    And what is worth telling: a gap of at most ``news``, or ``most_untold`` visits."""

    enough: float
    most_visits: int
    most_sweeps: int
    most_untold: int
    news: float
    fine: float  # of |z|^2 / alpha is a gap that ends the epoch as well, for it is rounding


NO_SWEEPS = Ends(0.0, 0, 0, 0, 0.0, 0.0)


@jit(fast=True)
def _left_at_the_end(gap, before):
    """The share of the gap that a sweep saw that is left when it ends.

    At a constant rate it falls from 1 to r; the sweep saw the mean, (1 - r) / log(1 / r).
    """
    if not 0.0 < gap < before:
        return 1.0
    r = max(gap / before, 0.01)
    return r * math.log(1.0 / r) / (1.0 - r)


@jit(fast=True)
def descend(dual, place, ways, epoch, ends):
    """Sweeps over active rows, each followed by a step beyond, until something is to be decided.

    That is so when the epoch ends, or no row is active; when half of the rows are active no more; when there
    is something to tell; and after the first sweep over all rows.

    Sweeps go on, at least one, until they have touched some times more entries than z has. The latest way is
    where they led. Where there are to be no sweeps, a step beyond is all. Returns what `beyond` does; the
    epoch, as a tuple; and the visits of this call, whether the epoch is over, whether because its gap is too
    fine, and what the gap is by now, by guess.
    """
    table, V, Z = dual.table, ways.V, ways.Z
    z, b, s, c = place
    latest, spare_z = ways.latest, ways.spare_z
    order, state, threshold, gap, full_gap, visits, sweeps = epoch
    untold, first = 0, full_gap == math.inf
    if ends.most_sweeps == 0:
        (z, b, s, c), (latest, spare_z) = beyond(dual, place, ways, order.size)
        epoch = (order, state, threshold, gap, full_gap, visits, sweeps)
        return (z, b, s, c), (latest, spare_z), epoch, (untold, False, False, gap)
    while True:
        for j in range(z.size):
            Z[latest, j] = z[j]
        for i in range(table.size):
            V[latest, i] = table[i]["v"]
        touched, per_row = 0.0, 1.0 + dual.rows.data.size / table.size
        while True:
            touched += per_row * order.size
            visits += order.size
            untold += order.size
            sweeps += 1
            before = gap
            order, state, threshold, gap, s, c = sweep(dual, Place(z, b, s, c), order, state, threshold)
            if full_gap == math.inf:
                full_gap = gap
            if touched >= 4 * z.size or 2 * order.size <= table.size:
                break
            b -= dual.rho * s
        for j in range(z.size):
            Z[latest, j] = z[j] - Z[latest, j]
        for i in range(table.size):
            V[latest, i] = table[i]["v"] - V[latest, i]
        estimate = CAUTION * gap * _left_at_the_end(gap, before)
        too_fine = estimate <= ends.fine * (dense_dot(z, z) * dual.inv_alpha)
        over = (
            too_fine
            or gap <= ends.enough * full_gap
            or order.size == 0
            or visits >= ends.most_visits
            or sweeps >= ends.most_sweeps
        )
        few = 2 * order.size <= table.size
        if over or first or few or estimate <= ends.news or untold >= ends.most_untold:
            break
        place, ways = Place(z, b, s, c), Ways(V, Z, latest, spare_z, ways.spare_v)
        (z, b, s, c), (latest, spare_z) = beyond(dual, place, ways, order.size)
    epoch = (order, state, threshold, gap, full_gap, visits, sweeps)
    return (z, b, s, c), (latest, spare_z), epoch, (untold, over, too_fine, estimate)


def step_on(dual: Dual, place: Place, ways: Ways, epoch: Epoch) -> Any:
    """One step beyond and no sweep, see `beyond`: compiled by itself, it would be compiled twice."""
    return descend(dual, place, ways, epoch, NO_SWEEPS)[:2]
