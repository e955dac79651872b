"""Which variables to work on: those that violate optimality, some of them at random, and the free ones.

The worst violators alone are often copies of one another. Some drawn at random among all violators bring in
the rest of the data, and the free variables of the last set are kept: it is they that the others balance.
"""

from typing import Any

import numpy as np

from gapfit._types import Indices, Vector
from gapfit.solvers.pairs.dual import Dual, Slopes

_WORST = 0.5  # the share of the new ones that are the worst violators


def working_set(dual: Dual, slopes: Slopes, last: Indices, size: int, least: float, draw: Any) -> Indices:
    """At most `size` variables; violations below `least` do not count."""
    free = last[dual.free[last] & ~dual.fixed[last]]
    if len(free) > size // 2:
        far = np.abs(slopes.up[free] - slopes.middle)
        free = free[np.argsort(-far, kind="stable")[: size // 2]]
    new = np.ones(len(dual.v), dtype=bool)
    new[free] = False
    middle = slopes.middle
    rising = new & (slopes.up < middle - least)
    falling = new & (slopes.down > middle + least) & ~rising
    rise, fall = np.flatnonzero(rising), np.flatnonzero(falling)
    room = size - len(free) - 2
    of_rise = min(len(rise), max(room // 2, room - len(fall)))
    rise = _some(rise, slopes.up, of_rise, draw)
    fall = _some(fall, -slopes.down, room - len(rise), draw)
    chosen = np.zeros(len(dual.v), dtype=bool)
    for some in (free, rise, fall, slopes.up.argmin(), slopes.down.argmax()):
        chosen[some] = True
    return np.flatnonzero(chosen)


def nearest(dual: Dual, slopes: Slopes, size: int) -> Indices:
    """All free variables and, of the others, those that violate optimality or are nearest to it."""
    middle = slopes.middle
    slack = np.minimum(slopes.up - middle, middle - slopes.down)
    slack = np.where(dual.fixed, np.inf, np.where(dual.free, -np.inf, slack))
    count = min(size, int(np.count_nonzero(np.isfinite(slack) | (slack < 0))))
    return np.sort(np.argpartition(slack, min(count, len(slack) - 1))[:count])


def _some(among: Indices, order: Vector, count: int, draw: Any) -> Indices:
    """The first of them by their order, and others at random."""
    if len(among) <= count:
        return among
    worst = int(_WORST * count)
    by_order = np.argpartition(order[among], worst)
    others = draw.choice(by_order[worst:], count - worst, replace=False)
    return np.asarray(among[np.concatenate([by_order[:worst], others])])
