"""Which solver for which problem: the first line of the table that fits.

| the problem                                   | solver              | because                     |
|-----------------------------------------------|---------------------|-----------------------------|
| smooth loss, quadratic penalty, few features  | `newton`            | a handful of steps          |
| lines and parabolas, L2, few features         | `semismooth_newton` | tens of steps at any alpha  |
| lines and parabolas, or logistic, L2          | `dual_cd`           | its steps only read X       |
| smooth loss, L1 or elastic net                | `primal_cd`         | works on columns in use     |
| differentiable loss and penalty               | `lbfgs`             | few passes                  |
| anything else                                 | `bundle`            | takes everything            |

"Few features" means that a d x d matrix is factorised in the time of some passes over X, or in a few
milliseconds. Where that is not so but the matrix would fit, `dual_cd` goes first and the Newton methods wait:
coordinate descent is fast on easy problems and endless on hard ones. A solver hands over to the next when its
gap no longer halves while its steps double; `bundle` is always the last. The choice and the reason are logged
under `gapfit` at level INFO.
"""

import logging
from collections.abc import Generator, Iterator
from functools import partial
from inspect import signature
from itertools import count
from typing import Any

from gapfit.problem import Problem
from gapfit.registry import as_solver
from gapfit.solution import Certificate, Iterate
from gapfit.solvers.base import Steps, missing_need

logger = logging.getLogger("gapfit")

FEW = 500  # features whose Hessian is factorised in milliseconds
MANY = 3000  # features whose Hessian is too large to factorise again and again
FACTORISATIONS = 10  # passes over X that a factorisation may cost
PATIENCE = 64  # steps before the first look at how fast the gap falls


def auto(problem: Problem, state: dict[str, Any] | None = None, *, seed: int = 0) -> Steps:
    """Delegate to the solvers of `plan`, one after the other; `seed` is for those that draw at random."""
    state = state or {}
    names = list(plan(problem))
    if state.get("solver") in dict(names):  # that is where the fit to be continued was
        names = names[[name for name, _ in names].index(state["solver"]) :]
    elif "solver" in state:
        state = {"w": state["w"]}  # the rest is in another solver's terms
    for position, (name, why) in enumerate(names):
        logger.info("auto: %s, because %s", name, why)
        solver = as_solver(name)
        if "seed" in signature(solver).parameters:
            solver = partial(solver, seed=seed)
        steps = _labelled(name, solver(problem, state=state))
        if position == len(names) - 1:
            yield from steps
            return
        last = yield from _while_the_gap_falls(steps)
        logger.info("auto: the gap of %s stopped falling", name)
        state = {"w": last.w}
        if names[position + 1][0] == "bundle":
            bound = last.minorant() if callable(last.minorant) else last.minorant
            state["cuts"] = [cut for cut in (problem.zero_plane(), bound) if cut is not None]


def plan(problem: Problem) -> Iterator[tuple[str, str]]:
    """The solvers for this problem in the order in which they are to try, each with the reason in words."""
    d = problem.design.shape[1]

    def takes(name: str) -> bool:
        return missing_need(as_solver(name), problem) is None

    few = d <= FEW or d**3 / 24 <= FACTORISATIONS * problem.design.size
    newton = next((name for name in ("newton", "semismooth_newton") if takes(name)), None)
    if newton and few and d <= MANY:
        yield newton, f"X has {d} columns only"
    elif takes("dual_cd"):
        yield "dual_cd", "the penalty is L2 and X is wide"
        if newton and d <= MANY:
            yield newton, f"{d} columns are not too many"
    elif takes("primal_cd") and not problem.penalty.smooth:
        yield "primal_cd", "the loss is smooth and the penalty makes weights zero"
    elif takes("lbfgs"):
        yield "lbfgs", "loss and penalty are differentiable"
    yield "bundle", "it takes every loss and every penalty"


def _while_the_gap_falls(steps: Steps) -> Generator[Iterate, Certificate, Iterate]:
    """Run a solver while the gap halves with every doubling of its steps; return its last iterate."""
    iterate = next(steps)
    best = before = float("inf")
    look_at = PATIENCE
    for step in count(1):
        certificate = yield iterate
        best = min(best, certificate.gap if iterate.estimate is None else iterate.estimate)
        if step == look_at:
            if best > 0.5 * before:
                break
            before, look_at = best, 2 * look_at
        try:
            iterate = steps.send(certificate)
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
