"""What is proved of the samples of a kernel fit: support vectors or none, and bounds on scores.

It takes longer than a small fit, so it is computed when somebody asks, from the problems, made again, and
their solutions; or right after the fit, where to keep the samples would take much memory.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapfit import threads
from gapfit._types import Vector
from gapfit.design.kernel import KernelDesign
from gapfit.estimators.kernel_bounds import SupportBall, support_ball
from gapfit.losses.base import Loss
from gapfit.losses.nu import NuRisk
from gapfit.problem import Problem
from gapfit.reductions import Multiset
from gapfit.solution import Certificate, Solution, Status, as_intercept
from gapfit.statements import SUPPORT, ZERO, optimal_ball, support_status


class Part(NamedTuple):
    """One problem of a fit: which of the samples it is about, their targets, the weight of the penalty."""

    rows: Any  # of the samples
    target: Vector
    alpha: float


class Made(NamedTuple):
    """The problems of a fit, made one by one."""

    design: KernelDesign
    parts: tuple[Part, ...]
    loss: Loss
    weight: Vector

    def make(self, k: int) -> Problem:
        part = self.parts[k]
        design = self.design if self.is_everyone(k) else self.design.take(part.rows)
        return Problem(design, part.target, self.loss, "l2", part.alpha, self.weight[part.rows])

    def is_everyone(self, k: int) -> bool:
        return len(self.parts[k].rows) == self.design.n_samples

    def again(self) -> "Callable[[], Made] | None":
        """What makes the same problems once more, from copies of all that others may change; None where these
        would be large. It keeps samples, and no kernel matrix."""
        design = self.design.again()
        if design is None:
            return None
        parts = tuple([Part(part.rows, part.target.copy(), part.alpha) for part in self.parts])
        loss, weight = self.loss, self.weight.copy()
        return lambda: Made(design(), parts, loss, weight)


class Statement(NamedTuple):
    """Of one problem."""

    support: NDArray[np.int8]  # of its samples, an index of `SUPPORT`
    ball: SupportBall | None

    @classmethod
    def of(cls, problem: Problem, solution: Solution, *, everyone: bool) -> "Statement":
        """What the gap proves, if it proves anything of the samples."""
        design = problem.design
        assert isinstance(design, KernelDesign)
        if design.indefinite is not None or isinstance(problem.risk, NuRisk):
            return cls(support_status(problem, None), None)
        ball = optimal_ball(problem, solution)
        around = support_ball(problem, solution, ball) if ball is not None and everyone else None
        return cls(support_status(problem, ball), around)


def said(problems: Made, statements: Sequence[Statement], origin: Multiset) -> dict[str, Any]:
    """The statements as attributes."""
    n, support = problems.design.n_samples, []
    for part, statement in zip(problems.parts, statements, strict=True):
        among_all = spread(statement.support, part.rows, ZERO, n)
        support.append(SUPPORT.take(origin.invert(among_all, ZERO)))
    balls = [statement.ball for statement in statements]
    return {"support_status_": support[0] if len(support) == 1 else np.array(support), "_balls": balls}


class Evidence(NamedTuple):
    """A solution as far as it is kept of many that were proved together."""

    w: Vector
    b: Vector
    u: Vector  # the dual point on which the lower bound rests
    certificate: Certificate

    def of(self, problem: Problem) -> Solution:
        minorant, intercept = problem.minorant_at(self.u), as_intercept(self.b)
        return Solution(self.w, intercept, Status.CERTIFIED, self.certificate, 1, [], minorant, "smo", None)


def said_later(
    again: Callable[[], Made], solutions: Sequence[Solution | Evidence], origin: Multiset, n_jobs: int | None
) -> dict[str, Any]:
    """The same, from problems that are made again, to the last bit."""
    statements = []
    with threads.using(n_jobs):
        problems = again()
        for k, known in enumerate(solutions):
            problem = problems.make(k)
            solution = known.of(problem) if isinstance(known, Evidence) else known
            problem.adopt(solution.minorant)
            statements.append(Statement.of(problem, solution, everyone=problems.is_everyone(k)))
        return said(problems, statements, origin)


def spread(values: NDArray[Any], rows: Any, elsewhere: Any, n: int) -> NDArray[Any]:
    """Values of the samples of a part, among all n samples."""
    out = np.full(n, elsewhere, dtype=values.dtype)
    out[rows] = values
    return out
