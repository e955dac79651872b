"""The plain method of the theory: one pair after another, chosen by a rule; and when it identified what.

For losses without kinks. Bounds are met exactly, so it can be told when a variable arrived at one for good.
"""

from typing import Any

import numpy as np

from gapfit._types import Matrix, Vector
from gapfit.errors import IncompatibleSolver
from gapfit.records import Kept
from gapfit.solvers.base import Steps
from gapfit.solvers.pairs.dual import Dual

RULES = ("random", "greedy", "maximal_violation", "second_order")
CURVATURES = ("hessian", "bound")
_TINY = 1e-12  # of the largest diagonal: curvature below this is none


class Identification(Kept):
    """When each variable last came to its bound, left it, or changed sides; in steps on pairs.

    And how far the optimality conditions fail, in the precision in which the solver is working.
    """

    KEPT = ("steps", "violation", "since", "_sides")

    def __init__(self) -> None:
        self.steps = 0
        self.violation = np.inf
        self.since: Any = None
        self._sides: Any = None

    def note(self, dual: Dual, steps: int) -> None:
        from gapfit.compiled.slopes import note_sides  # compiled code is loaded only when it is to run

        self.steps += steps
        if self.since is None:
            self.since, self._sides = np.zeros(len(dual.v), dtype=np.int64), np.zeros_like(dual.v)
        note_sides(dual.v, dual.lower, dual.upper, self.steps, self._sides, self.since)


def by_rule(
    dual: Dual, rule: str, curvature: str, draw: Any, trace: Identification, known: Any = None
) -> Steps:
    """Steps on pairs by the rule; n of them are one step for the driver."""
    if rule not in RULES or curvature not in CURVATURES:
        raise ValueError(
            f"rule must be None or one of {', '.join(RULES)}, and curvature one of {', '.join(CURVATURES)}, "
            f"got {rule!r} and {curvature!r}"
        )
    if dual.kink.any():
        raise IncompatibleSolver(f"rule={rule!r} needs a loss without kinks, use rule=None")
    if dual.sums == 2:
        raise IncompatibleSolver(f"rule={rule!r} keeps one sum, and nu asks for two, use rule=None")
    n = len(dual.v)
    if 8 * n * n > dual.gram.memory:
        raise IncompatibleSolver(f"rule={rule!r} needs the whole kernel matrix, {8 * n * n / 1e6:.0f} MB")
    from gapfit.compiled.pairs import pair_steps  # compiled code is loaded only when it is to run

    every = np.arange(n)
    Q = dual.gram.tiles.tile(every, every, np.float64)
    Q[np.diag_indices(n)] += dual.quad
    v, g, y, lower, upper = dual.v, dual.gradient, np.ones(n), dual.lower, dual.upper
    if dual.sums == 0:  # a phantom variable takes up the sum
        Q = np.pad(Q, (0, 1))
        v, g, y = np.append(v, 0.0), np.append(g, 0.0), np.append(y, 1.0)
        lower, upper = np.append(lower, -np.inf), np.append(upper, np.inf)
    least = _TINY * float(np.abs(np.diagonal(Q)).max(initial=0.0))
    bound = pair_bound(Q, y) if curvature == "bound" else 0.0
    taken = -1
    if known is not None:
        v, g, taken = known["v"], known["g"], known["taken"]
        draw.bit_generator.state = known["draw"]

    def exact() -> dict[str, Any]:
        return {
            "v": v.copy(), "g": g.copy(), "taken": taken, "draw": draw.bit_generator.state,
            "trace": trace.state(),
        }  # fmt: skip

    while taken:
        taken = pair_steps(
            Q, g, y, v, lower, upper, RULES.index(rule), bound, draw.random((len(v), 2)), least
        )
        dual.v, dual.f = v[:n].copy(), (g[:n] + dual.target - dual.quad * v[:n])
        trace.note(dual, taken)
        slopes = dual.slopes()
        primal, below, b = dual.bounds(slopes.middle)
        yield dual.iterate(b, None, max(primal - below, 0.0), primal, None, exact)
    slopes = dual.slopes()
    primal, _, b = dual.bounds(slopes.middle)
    yield dual.iterate(b, primal, None, None, dual.settle(), exact, ended=True)


def pair_bound(Q: Matrix, y: Vector) -> float:
    """The largest curvature along any pair: enough for every step to descend."""
    diagonal = np.diagonal(Q)
    return float((diagonal[:, None] + diagonal - 2 * y[:, None] * y * Q).max())
