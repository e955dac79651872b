"""The free variables at once: once it is known which they are, they solve a linear system.

On the working set, steps on pairs find out which variables are free, and a Newton step on these is exact. A
step that would leave the box is projected back to it, or cut where it leaves, whichever is lower; the
objective falls in either case. So the loop ends at the optimum of the working set, to machine precision.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from gapfit import limits
from gapfit._types import Indices, Matrix, Vector
from gapfit.projections import project_box_hyperplane

_ROUNDS = 12  # of a Newton step and steps on pairs, at most
_RIDGE = 1e-14  # of the mean diagonal: what lifts a singular kernel matrix
_PAIRS = 0.25  # steps on pairs between Newton steps, for each variable: they change which ones are free
_AT_ONCE = 50_000_000  # numbers that one call of compiled code goes through, a tenth of a second


class Box:
    """The problem on a working set: K with the curvature of the loss on its diagonal, and the gradient G.

    So many sums are kept: none, that of all v, or those of the positive and of the negative v one by one.
    """

    def __init__(
        self, K: Matrix, G: Vector, v: Vector, lower: Vector, upper: Vector, kink: Vector, sums: int
    ) -> None:
        if sums == 0:  # a phantom variable takes up the sum
            K = np.pad(K, (0, 1))
            G, v, lower, upper, kink = (
                np.append(x, end)
                for x, end in zip((G, v, lower, upper, kink), (0, 0, -np.inf, np.inf, 0), strict=True)
            )
        self.K, self.G, self.v = K, G.copy(), v.copy()
        self.lower, self.upper, self.kink, self.sums = lower, upper, kink, sums
        self.least = 1e-12 * float(np.abs(np.diagonal(K)).max()) or 1e-12

    def pairs(self, steps: int, target: float) -> tuple[int, float]:
        """Steps on pairs by the second-order rule; their number, and the violation that is left."""
        from gapfit.compiled.blocks import alone  # compiled code is loaded only when it is to run
        from gapfit.compiled.smo import Limits, second_order, unseen

        taken, violation, known = 0, np.inf, np.full(2, np.nan)
        block: Any = alone(self.K)  # type: ignore[no-untyped-call]  # compiled files have no types
        bounds = Limits(self.lower, self.upper, self.kink, self.sums == 2)
        way: Any = unseen()  # type: ignore[no-untyped-call]
        most = max(_AT_ONCE // len(self.v), 1)
        while violation > target and taken < steps:
            limits.look()
            at_once = min(steps - taken, most)
            more, violation = second_order(
                block, self.G, self.v, bounds, at_once, target, self.least, known, way
            )
            taken += int(more)
            if more == 0:
                break
        return taken, float(violation)

    def solve(self, target: float) -> int:
        """The optimum of the working set, or as near as rounding lets it come; the number of pair steps."""
        steps = 0
        best = np.inf
        for _ in range(_ROUNDS):
            moved = self._newton()
            taken, violation = self.pairs(int(_PAIRS * len(self.v)) + 64, target)
            steps += taken
            if violation <= target or (not moved and violation > 0.5 * best):
                break
            best = min(best, violation)
        return steps

    def _newton(self) -> bool:
        """One step on the free variables; whether it moved them."""
        v = self.v
        inside = (v > self.lower) & (v < self.upper) & ((v != 0) | ((self.kink == 0) & (self.sums < 2)))
        if self.sums == 0:
            inside[-1] = False
        free = np.flatnonzero(inside)
        if len(free) <= self.sums:
            return False
        x = v[free]
        groups = [np.ones(len(x), dtype=bool)][: self.sums] if self.sums < 2 else [x > 0, x < 0]
        groups = [group for group in groups if group.any()]
        side = self.kink[free] * np.sign(x)
        slope = self.G[free] + side
        for group in groups:
            slope[group] -= slope[group].mean()  # which no step feels, but for rounding
        rows = self.K[free]
        step = _direction(rows, free, slope, groups)
        if step is None:
            return False
        one_sided = (side != 0) | (self.sums == 2)
        lower = np.where(one_sided & (x > 0), 0.0, self.lower[free])
        upper = np.where(one_sided & (x < 0), 0.0, self.upper[free])
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step > 0, (upper - x) / step, np.where(step < 0, (lower - x) / step, np.inf))
        share = min(1.0, float(room.min()))
        choices = [np.where(room <= share, np.where(step > 0, upper, lower), x + share * step)]
        if share < 1:
            inner = np.clip(x + step, lower, upper)
            for group in groups:
                inner[group] = project_box_hyperplane(
                    (x + step)[group], lower[group], upper[group], np.ones(group.sum()), float(x[group].sum())
                )
            choices.append(inner)
        changes = [(choice - x) @ rows for choice in choices]
        falls = [
            float((choice - x) @ (slope + 0.5 * change[free]))
            for choice, change in zip(choices, changes, strict=True)
        ]
        chosen = int(np.argmin(falls))
        if not falls[chosen] < 0:
            return False
        self.G += changes[chosen]
        if self.sums == 0:
            self.v[-1] -= float((choices[chosen] - x).sum())
        self.v[free] = choices[chosen]
        return True


def _direction(rows: Matrix, free: Indices, slope: Vector, groups: Sequence[Any]) -> Vector | None:
    """The minimiser of 1/2 d'Kd + <slope, d>, K = rows[:, free], where the d of a group add up to nothing."""
    right = np.stack([-slope, *groups], axis=1)
    mean = float(np.abs(rows[np.arange(len(free)), free]).mean())
    for lift in _RIDGE + 1e-12 * np.arange(8):
        limits.look()
        K = rows[:, free].T  # symmetric, and in the order in which it can be factorised in place
        K[np.diag_indices_from(K)] += lift * mean
        try:
            factor = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        found = cho_solve(factor, right, check_finite=False)
        break
    else:
        return None
    step = found[:, 0]
    if groups:
        totals = np.stack([found[group].sum(axis=0) for group in groups])
        step = step - found[:, 1:] @ np.linalg.lstsq(totals[:, 1:], totals[:, 0])[0]
        for group in groups:
            step[group] -= step[group].mean()
    return step if np.isfinite(step).all() else None
