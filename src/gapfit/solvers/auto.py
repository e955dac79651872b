"""Which solver for which problem: the one that promises the least work, until another promises half of the
rest.

Each solver declares what a fit will take (`Effort`): multiply-adds before the first step and for each, and
how many steps, as a formula in the sizes of the problem and in how hard it is (`choice/work.py`). `auto`
begins with the least total. What a promise was worth the gap tells: when it is spent, work that is left is
counted by how fast the gap falls, and a rival takes over that promises half of it or less
(`choice/progress.py`). It starts from the point that was found. Nobody is asked twice; `bundle`, which takes
everything, is the last in any case.

No solver is named here but for data that are small, where one compiled call is all (`for_small_data`).
Whoever declares an effort is among the candidates: see `registry.add_solver`. Rows that are elsewhere are
counted in passes (`choice/passes.py`). The choice and its reason are logged under `gapfit` at level INFO.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.losses.atoms import Atoms
from gapfit.losses.forms import BinaryEntropy, Pairs, Smooth
from gapfit.problem import Problem
from gapfit.registry import SOLVERS, as_solver
from gapfit.room import available
from gapfit.solution import Iterate
from gapfit.solvers.base import (
    OVERFLOWS,
    Effort,
    Steps,
    able,
    effort_of,
    inner_solver,
    missing_need,
    solver_name,
    takes_seed,
)
from gapfit.solvers.choice.larger_alphas import from_larger_alphas
from gapfit.solvers.choice.passes import by_passes, is_elsewhere
from gapfit.solvers.choice.progress import Progress
from gapfit.solvers.choice.shapes import is_parabola, is_small, is_small_shape
from gapfit.solvers.least_squares import least_squares
from gapfit.solvers.newton import newton
from gapfit.solvers.small_newton import small_newton

logger = logging.getLogger("gapfit")

WANTED = 1e-4  # the relative gap that is asked for, where nobody says it
MUCH = 2**28  # bytes beside the data: there may be no room for more
SEVERAL = 5.0  # fits, over which the work of moments is shared
LAST = "bundle"  # takes every loss and every penalty
TOLD = ("w", "offsets", "foretold")  # in a state: so much serves any solver
AT_ONCE = Effort(0.0, 1e6, 12.0, 0.0)  # what small data take, at most: so little that nobody need count


class Choice(NamedTuple):
    """A solver and what it promises."""

    name: str
    effort: Effort


def auto(problem: Problem, state: dict[str, Any] | None = None, *, seed: int = 0) -> Steps:
    """Delegate to the solvers of `plan`, one after the other; `seed` is for those that draw at random."""
    state = dict(state or {})
    wanted = state.pop("wanted", WANTED)
    choices, watch, first = plan(problem), None, 0
    ahead = state.pop("ahead", None)  # goes before all others, while it is the very same fit
    if "certificate" not in state:
        ahead = _first_near(problem, choices) if "foretold" in state else None
    choices = [_near(choice) for choice in choices if choice.name == ahead] + [
        choice for choice in choices if choice.name != ahead
    ]
    if "certificate" in state:  # the very same fit goes on
        watch, first = state["watch"], state["turn"]
    elif ahead is not None:  # what else is in it is in the terms of whoever found a neighbour
        state = {name: state[name] for name in TOLD if name in state}
    elif "solver" in state:
        names = [choice.name for choice in choices]
        if state["solver"] in names:  # that is where the fit to be continued was
            first = names.index(state["solver"])
        else:
            state = {"w": state["w"]} if "w" in state else {}  # the rest is in another solver's terms
    last: Iterate | None = None
    for turn in range(first, len(choices)):
        (name, effort), rivals = choices[turn], choices[turn + 1 :]
        downhill = getattr(inner_solver(as_solver(name)), "downhill", False)
        if downhill and state.keys().isdisjoint(("w", "certificate")):
            state = yield from from_larger_alphas(problem, name)
        steps = _start(problem, state, name, _reason(effort, rivals), seed)
        steps = _labelled(steps, solver=name, ahead=ahead)
        rival = min((other.effort.total for other in rivals), default=np.inf)
        reached, ended = yield from Progress(effort, rival, wanted, turn, watch).run(steps, state)
        watch = None
        if reached is None:
            state = {"w": state["w"]} if "w" in state else {}
            continue
        last = reached
        logger.info("auto: %s", f"{name} ended" if ended else f"the gap of {name} falls too slowly")
        state = {"w": min(last.point(), problem.start(), key=partial(_value, problem, last.b))}
    if last is not None:
        bound = last.minorant() if callable(last.minorant) else last.minorant
        state["cuts"] = [cut for cut in (problem.zero_plane(), bound) if cut is not None]
    last_one = _start(problem, state, LAST, "it takes every loss and every penalty", seed)
    yield from _labelled(last_one, solver=LAST, ahead=ahead, turn=len(choices), watch=None)


def _first_near(problem: Problem, choices: list[Choice]) -> str | None:
    """Who of them promises least near a dual point that others foretell, if that is for anyone to use. Small
    data need nobody else; where losses bend, Newton's method needs a step or two; and rows that are elsewhere
    are passed in any case."""
    if choices[0].effort is AT_ONCE or problem.has(Smooth) or is_elsewhere(problem):
        return None
    nearby = [_near(choice) for choice in choices]
    if all(near.effort == choice.effort for near, choice in zip(nearby, choices, strict=True)):
        return None
    return min(nearby, key=lambda near: near.effort.total).name


def _near(choice: Choice) -> Choice:
    """What the solver promises there."""
    name, effort = choice
    share = getattr(inner_solver(as_solver(name)), "near", 1.0)
    return Choice(name, effort._replace(steps=share * effort.steps))


def _value(problem: Problem, b: Vector, w: Slope) -> float:
    """J at w, with the best offsets, near b or not."""
    return problem.best(w, b)[0]


def _reason(effort: Effort, rivals: list[Choice]) -> str:
    """In words."""
    if effort is AT_ONCE:
        return "the data are small"
    others = ", ".join(f"{name} {other.total:.1e}" for name, other in rivals[:2])
    return f"it promises the least work, {effort.total:.1e}" + (f"; {others}" if others else "")


def _start(problem: Problem, state: dict[str, Any], name: str, why: str, seed: int) -> Steps:
    """The steps of the named solver."""
    logger.info("auto: %s, because %s", name, why)
    solver = as_solver(name)
    options = {"seed": seed} if takes_seed(solver) else {}
    steps: Steps = solver(problem, state=state, **options)
    return steps


def plan(problem: Problem) -> list[Choice]:
    """The solvers for this problem in the order in which they are to try: the least promise first."""
    methods = {name: as_solver(name) for name in SOLVERS if name != auto.__name__}
    names = able(methods, problem)
    if is_elsewhere(problem):
        found = [Choice(*each) for each in by_passes(problem, names)]
    else:
        efforts = ((name, effort_of(methods[name], problem)) for name in names)
        found = [Choice(name, effort) for name, effort in efforts if effort is not None]
    if any(one.effort.memory > MUCH for one in found):
        there = available() or np.inf
        found = [one for one in found if one.effort.memory <= there]
    found.sort(key=lambda one: one.effort.total)
    last = next((k for k, one in enumerate(found) if one.name == LAST), len(found))
    found = found[: last + 1]  # who promises more is not asked
    if (quick := for_small_data(problem)) is not None:
        name = solver_name(quick)
        found = [Choice(name, AT_ONCE), *(one for one in found if one.name != name)]
    return found


def by_moments(problem: Problem) -> bool:
    """Is `least_squares` the one for several alphas, in double precision? Moments serve them all, and its
    first step is all of a fit."""
    if problem.dtype != np.float64 or not is_parabola(problem):
        return False
    efforts = {choice.name: choice.effort.total for choice in plan(problem)}
    return efforts.get(least_squares.__name__, np.inf) <= SEVERAL * min(efforts.values())


def for_small_data(problem: Problem) -> Callable[..., Steps] | None:
    """The solver that goes first where data are so small that nothing else need be asked, if there is one."""
    n, d = problem.design.shape
    if problem.risk.has(Pairs):
        rows = as_solver("pair_rows")
        here = not missing_need(rows, problem)  # else samples may be elsewhere, where nobody counts pairs
        return rows if here and is_small_shape(problem.form(Pairs).number(), d) else None
    if not is_small(problem):
        return None
    if is_parabola(problem):
        method = least_squares if n >= d else None
    else:
        entropies = problem.risk.has(Atoms) or problem.risk.has(BinaryEntropy)
        method = small_newton if entropies else newton if n >= d else None
    return None if method is None or missing_need(method, problem) else method


def _labelled(steps: Steps, **marks: Any) -> Steps:
    """The solver's iterates, their states marked with these; it ends where one of its steps overflows."""
    certificate: Any = None
    while True:
        try:
            iterate = next(steps) if certificate is None else steps.send(certificate)
        except StopIteration:
            return
        except OVERFLOWS as error:
            logger.info("auto: a step overflowed: %s", error)
            return
        certificate = yield iterate._replace(snapshot=partial(_marked, iterate, **marks))


def _marked(iterate: Iterate, **marks: Any) -> dict[str, Any]:
    """The state, if there is one, with these marks."""
    state = iterate.snapshot()
    return {**state, **marks} if state else {}
