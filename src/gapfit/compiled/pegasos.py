"""Subgradient steps on single samples."""

from gapfit.compiled._jit import jit
from gapfit.compiled.dual_coordinate import piecewise_minimiser
from gapfit.compiled.rows import TINY, row_add, row_dot


@jit(fast=True)
def pegasos_epoch(rows, table, picks, z, lag, t, inv_alpha, b, gain, total):
    """Steps on the rows ``picks``; ``t`` steps were made before.

    At w, b sample i has the subgradient -(v_i / p_i) x_i in w and total - v_i / p_i in b; the share p_i is
    "along" in the table. z is the sum of all (v_i / p_i) x_i so far; step t makes

        w = z / (alpha t),    b = b - (gain / t) (total - v_i / p_i).

    The sum of t w over these steps is (picks.size z + lag) / alpha when ``lag`` takes from every z
    what was added later: a second addition of the row, where summing w would touch all columns.
    Updates z, and lag, which is zero at the start.
    """
    for k in range(picks.size):
        i = picks[k]
        loss = table[i]
        p = loss["along"]
        f = row_dot(rows, i, z) * inv_alpha / max(t + k, 1.0) + b
        drive, curvature = loss["target"] - f, max(loss["quad"], TINY)
        v = piecewise_minimiser(drive, loss["kink"], curvature, loss["lower"], loss["upper"])
        b -= gain * (total - v / p) / (t + k + 1.0)
        if v != 0.0:
            row_add(rows, i, v / p, z)
            row_add(rows, i, -k * v / p, lag)
