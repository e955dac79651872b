"""The bundle method with a line search in place of the master problem (ls-bmrm), in O(d) memory.

Only one minorant is kept, the mixture of all cuts so far. Each new cut is mixed into it with the share that
maximises the lower bound along the segment, which has a closed form for the L2 penalty. It is the Frank-Wolfe
method on the dual. J(w) does not fall at every step, and the driver keeps the best point.
"""

from typing import Any

import numpy as np

from gapfit.losses.forms import Smooth
from gapfit.minorant import Minorant, mix
from gapfit.penalties.forms import Euclidean
from gapfit.problem import Problem
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.choice.work import work_of


def _effort(problem: Problem) -> Effort:
    """Two products a step, and little memory. Steps are few where alpha is large, and very many else; kinks
    average out where samples are many."""
    n, d, product, _, hard, short, rank = work_of(problem)
    steps = 1e3 * problem.risk.outputs * hard**0.45 * short**0.3 / (n**0.6 * d**0.15)
    if problem.has(Smooth):
        steps = 9.0 * max(problem.risk.outputs, problem.n_offsets) ** 0.5 * hard**0.4 * short**0.1 / rank**0.2
    return Effort(3e6 + 4 * product + 800.0 * n, 1e6 + 2 * product + 100.0 * n, steps, 8.0 * 4 * d)


@needs(Euclidean, effort=_effort)
def line_search_bundle(
    problem: Problem, state: dict[str, Any] | None = None, *, zero_plane: bool | None = None
) -> Steps:
    """One evaluation of the risk a step; the share of each new cut by exact line search.

    Parameters
    ----------
    zero_plane : start from the minorant R >= infimum, by default where the risk has one.
        Otherwise from the cut at the starting point.
    """
    state = state or {}
    model, b = state.get("model"), state.get("b")
    fresh = model is None  # a run that goes on has already reported this model
    if model is None and "w" not in state and zero_plane is not False:
        model = problem.zero_plane()
    w = problem.start() if "w" not in state else state["w"]
    if model is None:
        model = problem.oracle(w).minorant
    while True:
        w = problem.minimiser(model)
        at = problem.oracle(w, b)
        primal = problem.alpha * problem.penalty.value(w) + at.risk
        if fresh:
            now: dict[str, Any] = {"model": model, "b": b}
            yield Iterate(w, at.b, model, primal, now.copy)
        b, fresh = at.b, True
        model = best_mixture(problem, model, at.minorant)


def best_mixture(problem: Problem, model: Minorant | None, cut: Minorant) -> Minorant:
    """The mixture of both, or the cut if there is no model yet, that proves the highest lower bound."""
    return cut if model is None else mix(model, cut, _best_share(problem, model, cut))


def _best_share(problem: Problem, model: Minorant, cut: Minorant) -> float:
    """The share of `cut` that maximises the lower bound of the mixture: with D(t) concave and quadratic in t,

    D'(0) = (cut - model)(w) at the model's minimiser w,   D'' = -|cut.a - model.a|^2 / alpha.
    """
    step = cut.a - model.a
    w = problem.minimiser(model)
    gain = problem.design.inner(step, w) + cut.c - model.c
    curvature = problem.inner(step, step) / problem.alpha
    if curvature == 0:
        return 1.0 if gain > 0 else 0.0
    return float(np.clip(gain / curvature, 0.0, 1.0))
