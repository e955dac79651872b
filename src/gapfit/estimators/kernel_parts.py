"""One problem of a kernel fit, and the machine that its solution is."""

from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.errors import UnboundedProblem
from gapfit.losses.nu import NuRisk
from gapfit.problem import Problem

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


def machine_of(problem: Problem, w: Slope, b: float) -> Machine:
    """The machine; with nu, in the units in which its margin is 1, if there is one."""
    if not isinstance(problem.risk, NuRisk):
        return Machine(w, b)
    b, width = problem.risk.offset_and_width(problem.scores(w))
    unit = 1.0 if problem.risk.loss.tube or not width else width
    return Machine(w / unit, b / unit, width)


def check_margin(problem: Problem, machine: Machine) -> None:
    """Raise one helpful sentence if nu is so large that it leaves no margin."""
    if not isinstance(problem.risk, NuRisk) or problem.risk.loss.tube:
        return
    if not machine.width or np.abs(problem.scores(machine.w)).max() >= 1 / _NO_WIDTH:
        raise UnboundedProblem(
            f"{problem.loss!r} has a margin of no width: f = 0 is optimal. Take a smaller nu"
        )
