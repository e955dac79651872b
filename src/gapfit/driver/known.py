"""What is known before the first step: a point to start from, and bounds that hold for these data."""

from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Vector
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.solution import Solution


class Known(NamedTuple):
    """By a solution of an earlier fit, a vector, or nothing."""

    # for the solver: "w" is the point to start from, if there is one, and "offsets" go with it, if they are
    # known; "same" tells whether all else that is in it was found for the very same problem, alpha and
    # penalty included, or just for the same risk
    state: dict[str, Any]
    minorant: Minorant | None
    b: Vector | None = None  # offsets that go with "w"; those found anew may be worse, where they are hard
    weighed: bool = False  # was "w" looked at before, and not good enough?

    @classmethod
    def of(cls, start: Any, problem: Problem, solver: str, fingerprint: str | None) -> "Known":
        if start is None:
            return cls({}, None)
        earlier = start if isinstance(start, Solution) else None
        w = np.array(start if earlier is None else earlier.w, dtype=np.float64)
        d = problem.design.shape[1]
        if w.shape != (d,) or not np.isfinite(w).all():
            raise ValueError(f"start must be a finite vector of length {d}, got shape {w.shape}")
        if earlier is None or earlier.fingerprint != fingerprint:
            return cls({"w": w}, None)  # bounds found on other data prove nothing here
        state = earlier.state if earlier.solver == solver else {}
        same = state.get("objective") == (problem.alpha, problem.penalty)
        b = np.atleast_1d(np.asarray(earlier.intercept, dtype=np.float64)) if problem.n_offsets else None
        told = {"w": w, "same": same} if b is None else {"w": w, "offsets": b, "same": same}
        return cls({**state, **told}, problem.adopt(earlier.minorant), b, "weighed" in state)
