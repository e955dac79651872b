"""Dual points whose slope rounding has put outside of the penalty's domain, taken back into it.

Under l1, a dual point u proves something only if no entry of A'u is larger than alpha. Near the optimum many
are as large, and where the columns are long beside alpha their last digits exceed it. To scale u down until
they do not costs a share of everything u proves, however little they exceed it. But A'u is a small difference
of large sums there: the least change of u that takes the excess away is far smaller.

That is a Newton step whose effect on the scores would be lost in their rounding, and which u can express.
"""

from typing import TYPE_CHECKING

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.design.forms import Rows
from gapfit.losses.forms import Conjugate

if TYPE_CHECKING:
    from gapfit.objective import Objective

_MOST = 2000  # features whose equations are solved
_WORK = 2e8  # multiplications for their matrix: it is made when a fit ends, perhaps because its time is up
_STEP = 1e-6  # of itself that a number in u is moved, to see whether it is free
_CUT_OFF = 1e-12  # of the largest eigenvalue: directions of less are rounding


def drawn_in(problem: "Objective", u: Vector, a: Slope, keep: float) -> Vector | None:
    """u with the least change, beside its own size, by which A'u becomes keep * a; None where that is no
    small system, or where no number of u is free to move."""
    if len(a) > _MOST or not problem.has(Rows) or not problem.has(Conjugate):
        return None
    design = problem.form(Rows).matrix
    if design.size * len(a) > _WORK:
        return None
    room = np.where(_free(problem, u), np.abs(u), 0.0)
    total = float(room.sum())
    if not total > 0:
        return None
    centre = design.adjoint(room) / total if problem.n_offsets else np.zeros(len(a))
    gram = design.weighted_gram(room, centre)
    gram = np.tril(gram) + np.tril(gram, -1).T
    unit = np.sqrt(np.maximum(gram.diagonal(), 0.0))
    there = unit > 0
    unit[~there] = 1.0
    scaled = np.where(there, (keep - 1.0) * a / unit, 0.0)
    if not (np.isfinite(gram).all() and np.isfinite(scaled).all()):
        return None
    z = np.linalg.lstsq(gram / np.outer(unit, unit), scaled, rcond=_CUT_OFF)[0] / unit
    return np.asarray(u + room * (design.scores(z) - float(centre @ z)))


def _free(problem: "Objective", u: Vector) -> Vector:
    """Which numbers can move either way without leaving the conjugate's domain or a corner at zero?"""
    project = problem.form(Conjugate).project
    inside = [project(u * factor, balanced=False) == u * factor for factor in (1 - _STEP, 1 + _STEP)]
    return np.asarray(inside[0] & inside[1] & (u != 0))
