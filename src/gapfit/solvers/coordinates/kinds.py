"""The two kinds of duals that coordinate descent knows: of lines and parabolas, and the logistic loss."""

from typing import Any

import numpy as np

from gapfit._types import Vector
from gapfit.losses.atoms import Atoms
from gapfit.losses.forms import BinaryEntropy
from gapfit.problem import Problem

_INSIDE = 1e-14  # of their range entropic variables are away from their bounds at the start


ALL = slice(None)


def coordinates(problem: Problem, rows: Any = ALL) -> Any:
    """The losses of some samples as a table of `compiled.rows.SAMPLE`, what is not about the loss zero.

    v = sign * a turns the signs of the atoms into the order of their bounds, and a known offset of
    a score is the same as a smaller target.
    """
    from gapfit.compiled.rows import SAMPLE  # compiled code is loaded only when it is to run

    sign, lin, kink, quad, lo, hi, _ = problem.form(Atoms).take(rows)
    table = np.zeros(len(sign), SAMPLE)
    table["target"] = sign * lin - problem.offset[rows]
    table["kink"], table["quad"] = kink, quad
    table["lower"] = np.where(sign > 0, lo, -hi)
    table["upper"] = np.where(sign > 0, hi, -lo)
    return table


def offset_per_imbalance(problem: Problem, table: Any, rows: Any = ALL) -> float:
    """How far b should move for a unit of imbalance s (any step of that order is a good one).

    Eight times as far as the losses need to make up for it: each gives way by its quad, or moves
    from bound to bound over the spread of the targets. The table may be that of some rows only.
    """
    target, times = table["target"], len(problem.weight) / len(table)
    spread = np.average(np.abs(target - np.median(target)) + table["kink"], weights=problem.weight[rows])
    with np.errstate(divide="ignore"):
        give = times * np.sum(1 / (table["quad"] + spread / (table["upper"] - table["lower"])))
    return 8 / give if give < np.inf else 1.0


def at_rest(table: Any, v: Vector, off: Vector) -> tuple[Vector, Any]:
    """The variables v of piecewise rows within their bounds, those that are no more than that off a bound or
    their kink at it; and which are not."""
    lower, upper = np.ascontiguousarray(table["lower"]), np.ascontiguousarray(table["upper"])
    v = np.clip(v, lower, upper)
    off = np.minimum(off, 0.1 * (upper - lower))
    low, high = v - lower <= off, upper - v <= off
    np.copyto(v, lower, where=low)
    np.copyto(v, upper, where=high)
    low |= high
    if table["kink"].any():
        kink = (table["kink"] > 0) & (np.abs(v) <= off)
        v[kink] = 0.0
        low |= kink
    return v, np.flatnonzero(~low)


class Piecewise:
    """Losses of lines and parabolas: psi is a parabola and a kink."""

    form: type = Atoms
    entropic = False
    offset_per_imbalance = staticmethod(offset_per_imbalance)

    @staticmethod
    def table(problem: Problem, rows: Any = ALL) -> tuple[Any, float]:
        """The kernels' table at v = 0, and what all v add up to if there is an intercept."""
        return coordinates(problem, rows), problem.form(Atoms).total

    @staticmethod
    def put(table: Any, v: Vector) -> None:
        """Write v into the table, as near as it can be."""
        table["v"] = np.clip(v, table["lower"], table["upper"])


class Entropic(Piecewise):
    """The logistic loss: psi is an entropy."""

    form, entropic = BinaryEntropy, True

    @staticmethod
    def offset_per_imbalance(problem: Problem, table: Any, rows: Any = ALL) -> float:
        """As for the others: each loss gives way by a quarter of its range, or less."""
        del rows
        times = len(problem.weight) / len(table)
        return 32.0 / (times * float(np.sum(table["upper"] - table["lower"])))

    @staticmethod
    def table(problem: Problem, rows: Any = ALL) -> tuple[Any, float]:
        from gapfit.compiled.rows import SAMPLE

        lower, upper = problem.form(BinaryEntropy).bounds(rows)
        table = np.zeros(len(lower), SAMPLE)
        table["target"], table["lower"], table["upper"] = -problem.offset[rows], lower, upper
        Entropic.put(table, np.zeros(len(lower)))
        return table, 0.0

    @staticmethod
    def put(table: Any, v: Vector) -> None:
        lower, upper = table["lower"], table["upper"]
        share = np.clip((v - lower) / (upper - lower), _INSIDE, 1 - _INSIDE)
        table["kink"] = np.log(share) - np.log1p(-share)
        table["v"] = lower + (upper - lower) * share


KINDS = (Piecewise, Entropic)
