"""The free variables at once: once it is known which they are, they solve a linear system.

On the working set, steps on pairs find out which variables are free, and a Newton step on these is exact. A
step that would leave the box is projected back to it, or cut where it leaves, whichever is lower; the
objective falls in either case. So the loop ends at the optimum of the working set, to machine precision.
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from gapfit._types import Matrix, Vector
from gapfit.projections import project_box_hyperplane

_ROUNDS = 12
_RIDGE = 1e-14  # of the mean diagonal: what lifts a singular kernel matrix
_PAIRS = 0.25  # steps on pairs between Newton steps, for each variable: they change which ones are free
_EPS = float(np.finfo(float).eps)


class Box:
    """The problem on a working set: K with the curvature of the loss on its diagonal, and the gradient G."""

    def __init__(
        self, K: Matrix, G: Vector, v: Vector, lower: Vector, upper: Vector, kink: Vector, balanced: bool
    ) -> None:
        if not balanced:  # a phantom variable takes up the sum
            K = np.pad(K, (0, 1))
            G, v, lower, upper, kink = (
                np.append(x, end)
                for x, end in zip((G, v, lower, upper, kink), (0, 0, -np.inf, np.inf, 0), strict=True)
            )
        self.K, self.G, self.v = K, G.copy(), v.copy()
        self.lower, self.upper, self.kink, self.balanced = lower, upper, kink, balanced
        self.least = 1e-12 * float(np.abs(np.diagonal(K)).max()) or 1e-12

    def pairs(self, steps: int, target: float) -> tuple[int, float]:
        """Steps on pairs by the second-order rule; their number, and the violation that is left."""
        from gapfit.kernels.smo import second_order  # compiled code is loaded only when it is to run

        taken, violation = second_order(
            self.K, self.G, self.v, self.lower, self.upper, self.kink, steps, target, self.least
        )
        return int(taken), float(violation)

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
        inside = (v > self.lower) & (v < self.upper) & ((v != 0) | (self.kink == 0))
        if not self.balanced:
            inside[-1] = False
        free = np.flatnonzero(inside)
        if len(free) < (2 if self.balanced else 1):
            return False
        side = self.kink[free] * np.sign(v[free])
        slope = self.G[free] + side
        if self.balanced:
            slope -= slope.mean()  # which no step feels, but for rounding
        step = _direction(self.K[np.ix_(free, free)], slope, self.balanced)
        if step is None:
            return False
        lower = np.where(side > 0, 0.0, self.lower[free])
        upper = np.where(side < 0, 0.0, self.upper[free])
        x = v[free]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step > 0, (upper - x) / step, np.where(step < 0, (lower - x) / step, np.inf))
        share = min(1.0, float(room.min()))
        choices = [np.where(room <= share, np.where(step > 0, upper, lower), x + share * step)]
        if share < 1:
            ones = np.ones(len(x))
            choices.append(
                project_box_hyperplane(x + step, lower, upper, ones, float(x.sum()))
                if self.balanced
                else np.clip(x + step, lower, upper)
            )
        rows = self.K[:, free]
        changes = [rows @ (choice - x) for choice in choices]
        falls = [
            float((choice - x) @ (slope + 0.5 * change[free]))
            for choice, change in zip(choices, changes, strict=True)
        ]
        chosen = int(np.argmin(falls))
        if not falls[chosen] < 0:
            return False
        self.G += changes[chosen]
        if not self.balanced:
            self.v[-1] -= float((choices[chosen] - x).sum())
        self.v[free] = choices[chosen]
        return True


def _direction(K: Matrix, slope: Vector, balanced: bool) -> Vector | None:
    """The minimiser of 1/2 d'Kd + <slope, d>, with sum d = 0 if balanced."""
    K[np.diag_indices_from(K)] += _RIDGE * float(np.abs(np.diagonal(K)).mean())
    right = np.stack([-slope, np.ones(len(slope))], axis=1)
    for _ in range(8):
        try:
            both = cho_solve(cho_factor(K, lower=True, check_finite=False), right, check_finite=False)
            break
        except LinAlgError:
            K[np.diag_indices_from(K)] += 1e-12 * float(np.abs(np.diagonal(K)).mean())
    else:
        return None
    step, of_ones = both.T
    if balanced:
        step = step - of_ones * (step.sum() / of_ones.sum())
        step -= step.mean()
    return step if np.isfinite(step).all() else None
