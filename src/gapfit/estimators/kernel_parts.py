"""One problem of a kernel fit, and the machine that its solution is."""

from collections.abc import Callable
from typing import Any, NamedTuple

from gapfit._types import Slope, Vector
from gapfit.errors import UnboundedProblem
from gapfit.losses.base import Loss
from gapfit.losses.nu import NuLoss, NuRisk
from gapfit.problem import Problem
from gapfit.solution import Solution
from gapfit.solvers.nu_search import nu_search
from gapfit.solvers.smo import smo

_NO_WIDTH = 1e-12  # of the largest score


class Part(NamedTuple):
    """One problem of a fit: which of the samples it is about, and their targets."""

    rows: Any  # of the samples
    target: Vector


class Machine(NamedTuple):
    """A function by its coefficients, its intercept, and the width that nu found."""

    w: Slope
    b: float
    width: float | None = None


def fastest(loss: Loss) -> Callable[..., Any]:
    """The solver that "auto" means."""
    return nu_search if isinstance(loss, NuLoss) else smo


def machine_of(problem: Problem, solution: Solution) -> Machine:
    """The machine; with nu, in the units in which its margin is 1."""
    if not isinstance(problem.risk, NuRisk):
        return Machine(solution.w, float(solution.intercept))
    scores = problem.scores(solution.w)
    b, width = problem.risk.offset_and_width(scores)
    if not problem.risk.loss.rising:
        return Machine(solution.w, b, width)
    if width <= _NO_WIDTH * abs(scores).max():
        raise UnboundedProblem(
            f"{problem.loss!r} has a margin of no width: f = 0 is optimal. Take a smaller nu"
        )
    return Machine(solution.w / width, b / width, width)
