"""Which solver for which problem: the first line of the table that fits.

| the problem                                   | solver    | because                                 |
|-----------------------------------------------|-----------|-----------------------------------------|
| smooth loss, quadratic penalty, few features  | `newton`  | a handful of steps to machine precision |
| differentiable loss and penalty               | `lbfgs`   | few passes; the gap falls quadratically |
| small X, or not L2, or no dual atoms          | `bundle`  | takes everything, finite on polyhedra   |
| large X, L2, piecewise linear-quadratic loss  | `dual_cd` | a step costs no more than reading X     |

When the gap of the first choice stops falling (rounding, features on very different scales in
`dual_cd`), `bundle` takes over. The choice and the reason are logged under `gapfit` at level INFO.
"""

import logging
from collections.abc import Generator
from functools import partial
from itertools import count
from typing import Any

from gapfit.problem import Problem
from gapfit.registry import as_solver
from gapfit.solution import Certificate, Iterate
from gapfit.solvers.base import Steps, missing_need

logger = logging.getLogger("gapfit")

FEW = 500  # features
SMALL = 200_000  # stored entries of X
PATIENCE = 64  # steps before the first look at how fast the gap falls


def auto(problem: Problem, state: dict[str, Any] | None = None, *, seed: int = 0) -> Steps:
    """Delegate to the solver that the table names; `seed` is for those that visit samples at random."""
    state = state or {}
    name, why = choose(problem)
    if state.get("solver") == "bundle":
        name, why = "bundle", "that is where the fit to be continued was"
    logger.info("auto: %s, because %s", name, why)
    if state.get("solver", name) != name:
        state = {"w": state["w"]}  # the rest is in another solver's terms
    if name != "bundle":
        solver = partial(as_solver(name), seed=seed) if name == "dual_cd" else as_solver(name)
        last = yield from _while_the_gap_falls(name, solver(problem, state=state))
        logger.info("auto: bundle, because the gap of %s stopped falling", name)
        bound = last.minorant() if callable(last.minorant) else last.minorant
        state = {"w": last.w, "cuts": [cut for cut in (problem.zero_plane(), bound) if cut is not None]}
    yield from _labelled("bundle", as_solver("bundle")(problem, state=state))


def choose(problem: Problem) -> tuple[str, str]:
    """The solver for this problem, and the reason in words."""
    if problem.design.shape[1] <= FEW and not missing_need(as_solver("newton"), problem):
        return "newton", f"the loss is smooth, the penalty quadratic, and X has at most {FEW} columns"
    if not missing_need(as_solver("lbfgs"), problem):
        return "lbfgs", "loss and penalty are differentiable"
    if problem.design.size <= SMALL:
        return "bundle", f"X has no more than {SMALL} stored entries"
    if why_not := missing_need(as_solver("dual_cd"), problem):
        return "bundle", f"dual_cd would need {why_not}"
    return "dual_cd", "the penalty is L2, the loss piecewise linear-quadratic, and X is large"


def _while_the_gap_falls(name: str, steps: Steps) -> Generator[Iterate, Certificate, Iterate]:
    """Run a solver while the gap halves with every doubling of its steps; return its last iterate."""
    labelled = _labelled(name, steps)
    iterate = next(labelled)
    gap, look_at = float("inf"), PATIENCE
    for step in count(1):
        certificate = yield iterate
        if step == look_at:
            if certificate.gap > 0.5 * gap:
                break
            gap, look_at = certificate.gap, 2 * look_at
        try:
            iterate = labelled.send(certificate)
        except StopIteration:
            break
    return iterate


def _labelled(name: str, steps: Steps) -> Steps:
    """The solver's iterates, their states marked with its name."""
    iterate = next(steps)
    while True:
        certificate = yield iterate._replace(snapshot=partial(_with_name, name, iterate))
        try:
            iterate = steps.send(certificate)
        except StopIteration:
            return


def _with_name(name: str, iterate: Iterate) -> dict[str, Any]:
    return {**iterate.snapshot(), "solver": name}
