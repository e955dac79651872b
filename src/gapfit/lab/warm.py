"""A first call on a few samples: what is loaded and compiled then is not timed."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gapfit.problem import Problem
from gapfit.solve import solve
from gapfit.solvers.auto import plan

_SOME = 50  # samples of each class
_FIRST = 2  # solvers that promise the least: others could take hours


def warm_up(problem: Problem, *solvers: str | Callable[..., Any]) -> None:
    """Some steps of each solver on a part of the problem; of auto, those it would choose for the whole."""
    chosen = [choice.name for choice in plan(problem)[:_FIRST]] if "auto" in solvers else []
    rows = np.concatenate([np.flatnonzero(problem.y > 0)[:_SOME], np.flatnonzero(problem.y <= 0)[:_SOME]])
    few = problem.take(np.sort(rows))
    for solver in (*chosen, *solvers):
        solve(few, solver, max_iter=5, n_jobs=1)
