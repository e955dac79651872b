"""The problems of a kernel fit, and the machines that their solutions are."""

from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Slope
from gapfit.checkpoint import Checkpoint
from gapfit.design.kernel import KernelDesign
from gapfit.driver.at_once import at_once, is_plain
from gapfit.driver.together import together
from gapfit.errors import UnboundedProblem
from gapfit.estimators.certified import Ended, Parts
from gapfit.estimators.fitting import Solver
from gapfit.estimators.kernel_indefinite import local_solution
from gapfit.estimators.kernel_statements import Evidence, Made, Part, Statement, said, said_later, spread
from gapfit.estimators.samples import Samples
from gapfit.losses.base import Loss
from gapfit.losses.nu import NuLoss, NuRisk
from gapfit.nu_problems import NuProblems
from gapfit.problem import Problem
from gapfit.problems import Problems
from gapfit.reductions import Multiset
from gapfit.solution import Solution, Status
from gapfit.solvers.base import inner_solver
from gapfit.solvers.pairs.rules import Identification
from gapfit.solvers.pairs.whole import LARGEST, is_small
from gapfit.solvers.smo import smo

_NO_WIDTH = 1e-12  # of the largest score


class Machine(NamedTuple):
    """A function by its coefficients, its intercept, and the width that nu found."""

    w: Slope
    b: float
    width: float | None = None


class Since(NamedTuple):
    """After how many steps each sample of a part last came to a bound or left one."""

    steps: NDArray[Any]
    rows: Any  # of the part, among
    n: int  # different samples
    origin: Multiset

    def of_all(self) -> NDArray[Any]:
        """The same of all samples that were given, -1 of those that take no part."""
        return self.origin.invert(spread(self.steps, self.rows, -1, self.n), -1)


class UnderWay(NamedTuple):
    """The part that is being solved."""

    problem: Problem
    design: KernelDesign
    trace: Identification


class Model(Protocol):
    """What a fit needs to know of its estimator."""

    LATER: ClassVar[tuple[str, ...]]
    n_jobs: int | None

    def _point(self, samples: Samples, machines: Sequence[Machine]) -> dict[str, Any]:
        """The fitted attributes of machines on all samples."""

    def _leave(self, names: Sequence[str], function: Callable[[], dict[str, Any]]) -> None:
        """Let these be said by a function, when they are asked for."""


class KernelParts(Parts):
    """Problems about some of the samples each: all, or those of two classes."""

    resumable = False

    def __init__(
        self, model: Model, samples: Samples, design: KernelDesign, parts: Sequence[Part], loss: Loss
    ) -> None:
        self.model, self.samples, self.design, self.parts, self.loss = model, samples, design, parts, loss
        self.count = len(parts)
        self.problems = Made(design, tuple(parts), loss, samples.weight)
        self.machines: list[Machine] = []
        self.again = self.problems.again()
        self.solutions: list[Solution | Evidence] = []
        self.statements: list[Statement] = []  # where they cannot wait
        self.since: list[Since] = []
        self.known: list[tuple[Machine, Evidence, Since]] = []  # of parts that were solved together
        self.traced: bool | None = None
        self.under_way: UnderWay

    def data(self) -> Any:
        parts = [part[:2] for part in self.parts]
        return self.design, parts, self.loss, [part.alpha for part in self.parts], self.samples.weight

    def seen(self) -> dict[str, Any]:
        return dict(X=self.samples.X, y=self.samples.y, metadata={"sample_weight": self.samples.weight})

    def problem(self, k: int) -> Problem:
        problem = self.problems.make(k)
        assert isinstance(problem.design, KernelDesign)
        self.under_way = UnderWay(problem, problem.design, Identification())
        return problem

    def solution(self, problem: Problem, solver: Solver, checkpoint: Checkpoint | None, how: Any) -> Solution:
        _, design, trace = self.under_way
        if design.indefinite is not None:
            return local_solution(problem, how["tol"], how["max_time"])
        traced = self.takes_trace(solver)
        if traced and checkpoint is None and is_plain(how) and is_small(design):
            solution, solver = at_once(problem, partial(solver, trace=trace), how["tol"])
            if solution is not None:
                return solution
        elif traced:
            solver = partial(solver, trace=trace)
        solution = super().solution(problem, solver, checkpoint, how)
        if checkpoint is not None:
            checkpoint.accompany(f"trace {len(self.machines)}", trace, ended=trace.since is None)
        return solution

    def together(self, solver: Solver, tol: float) -> Sequence[Ended | None]:
        """By steps on pairs in all machines at once, if they are small."""
        chosen = getattr(solver, "keywords", {}).keys() - {"seed"}  # nothing is drawn here
        small = max(len(part.target) for part in self.parts) <= LARGEST
        if self.again is None or inner_solver(solver) is not smo or chosen or not small:
            return super().together(solver, tol)  # statements cannot wait, or somebody has chosen how
        kind = NuProblems if isinstance(self.loss, NuLoss) else Problems
        problems = kind.of(self.design, self.parts, self.loss, self.samples.weight)
        if problems is None:
            return super().together(solver, tol)
        found = together(problems, tol)
        nu = problems.margins(found.w) if isinstance(problems, NuProblems) else None
        W = np.zeros((self.count, self.design.n_samples))
        W[np.arange(self.count).repeat(problems.sizes), problems.rows] = found.w
        origin, pieces = self.samples.origin, pairwise(problems.first.tolist())
        for k, ((start, stop), w, b) in enumerate(zip(pieces, W, found.b.tolist(), strict=True)):
            u, offset = found.u[start:stop], found.b[k : k + problems.offsets]
            evidence = Evidence(found.w[start:stop], offset, u, found.certificates[k])
            machine = Machine(w, b)
            if nu is not None:
                machine = in_units(w, nu[k].b, nu[k].width, tube=False)
                if found.statuses[k] is Status.CERTIFIED:
                    check_width(self.loss, machine.width, nu[k].largest)
            since = Since(found.since[start:stop], self.parts[k].rows, len(w), origin)
            self.known.append((machine, evidence, since))
        return found.each()

    def take(self, k: int) -> None:
        machine, evidence, since = self.known[k]
        self.machines.append(machine)
        self.solutions.append(evidence)
        self.since.append(since)

    def takes_trace(self, solver: Solver) -> bool:
        """Can the solver tell when it identified which samples? The same one solves all parts."""
        if self.traced is None:
            self.traced = inner_solver(solver) is smo or "trace" in signature(solver).parameters
        return self.traced

    def keep(self, problem: Problem, solution: Solution) -> None:
        part, trace = self.parts[len(self.machines)], self.under_way.trace
        machine = machine_of(problem, solution.w, float(solution.intercept))
        if solution.status in (Status.CERTIFIED, Status.STALLED):
            check_margin(problem, machine, solution.w)
        steps = np.full(len(part.target), -1) if trace.since is None else trace.since
        self.solutions.append(solution)
        if self.again is None:
            everyone = self.problems.is_everyone(len(self.machines))
            self.statements.append(Statement.of(problem, solution, everyone=everyone))
        self.machines.append(machine._replace(w=self._spread(machine.w, part, 0.0)))
        self.since.append(Since(steps, part.rows, self.design.n_samples, self.samples.origin))

    def attributes(self, k: int, w: Slope, b: Any) -> dict[str, Any]:
        """As if the part under way ended here, and those to come had no support vectors."""
        machine = machine_of(self.under_way.problem, w, float(b))
        machine = machine._replace(w=self._spread(machine.w, self.parts[k], 0.0))
        to_come = [Machine(np.zeros(self.design.n_samples), 0.0)] * (self.count - k - 1)
        return self.model._point(self.samples, [*self.machines[:k], machine, *to_come])

    def fitted(self) -> dict[str, Any]:
        one, alphas = self.count == 1, [part.alpha for part in self.parts]
        origin = self.samples.origin
        self.model._leave(("identified_at_",), partial(identified, self.since))
        if self.again is None:
            statements = said(self.problems, self.statements, origin)
        else:
            statements, n_jobs = {}, self.model.n_jobs
            self.model._leave(
                self.model.LATER, partial(said_later, self.again, self.solutions, origin, n_jobs)
            )
        return {
            "alpha_": float(alphas[0]) if one else np.array(alphas),
            **statements,
            **self.model._point(self.samples, self.machines),
        }

    def _spread(self, values: NDArray[Any], part: Part, elsewhere: Any) -> NDArray[Any]:
        return spread(values, part.rows, elsewhere, self.design.n_samples)


def identified(since: Sequence[Since]) -> dict[str, Any]:
    """Of one part, or of all."""
    found = [part.of_all() for part in since]
    return {"identified_at_": found[0] if len(found) == 1 else np.array(found)}


def machine_of(problem: Problem, w: Slope, b: float) -> Machine:
    """The machine; with nu, in the units in which its margin is 1, if there is one."""
    if not isinstance(problem.risk, NuRisk):
        return Machine(w, b)
    b, width = problem.risk.offset_and_width(problem.scores(w))
    return in_units(w, b, width, tube=problem.risk.loss.tube)


def in_units(w: Slope, b: float, width: float, *, tube: bool) -> Machine:
    """A machine with nu: of a margin, in those of its width."""
    unit = 1.0 if tube or not width else width
    return Machine(w / unit, b / unit, width)


def check_margin(problem: Problem, machine: Machine, w: Slope) -> None:
    """See `check_width`; w is in units of its own."""
    if isinstance(problem.risk, NuRisk) and not problem.risk.loss.tube:
        check_width(problem.loss, machine.width, float(np.abs(problem.scores(w)).max()))


def check_width(loss: Loss, width: float | None, largest: float) -> None:
    """Raise one helpful sentence if nu is so small that it leaves no margin, by the largest score."""
    if not width or largest >= width / _NO_WIDTH:
        raise UnboundedProblem(f"{loss!r} has a margin of no width: f = 0 is optimal. Take a larger nu")
