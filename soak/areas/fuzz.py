"""Problems over all losses, penalties and solvers on hostile data, judged exactly and by each other."""

import time

import numpy as np

from gapfit import Solution, UnboundedProblem, solve
from gapfit.problem import Problem
from gapfit.registry import SOLVERS, as_solver
from gapfit.solvers.base import missing_need
from soak.cases import Case
from soak.draw import draw
from soak.exact.objective import Judge
from soak.hostile import Rng, spread
from soak.job import Job
from soak.outcome import Outcome
from soak.rules import Answer, Failure, absolute_tolerance, answer, broken, figure, unhelpful

CASES = 4500
LIMIT = 120.0  # seconds, after which a case hangs: long chains take half a minute to compile, once
FIGURE = "error of the primal / gap"
MAX_TIME = 0.5
_TRIES = 4  # a first fit may have spent its time on compiling one function, the next one on another
_LATE = 1.0 + 0.5  # what is allowed beyond max_time: these problems are tiny
_BOTTOMLESS = ("novelty", "precision_at_k", "recall_at_k", "lift")


def run(job: Job) -> Outcome:
    """One problem by two to four solvers, each with a tolerance of its own, one of them small."""
    rng, outcome = job.rng(), Outcome()
    case = draw(rng)
    try:
        problem = case.problem()
    except Exception as error:
        outcome.take([_told(failure, case) for failure in [unhelpful(error)] if failure])
        return outcome
    judge = Judge(case)
    answers = []
    solvers = solvers_for(problem, rng)
    tight = rng.integers(len(solvers))
    for place, solver in enumerate(solvers):
        tol = float(spread(rng, -12, -9 if place == tight else -1))
        failures, solution = attempt(case, problem, solver, tol)
        if solution is not None:
            answers.append((tol, answer(judge, solver, solution)))
        outcome.take([_told(failure, case) for failure in failures])
    cross_judge(outcome, case, judge, problem, answers)
    return outcome


def solvers_for(problem: Problem, rng: Rng) -> list[str]:
    """auto, and up to three others that take the problem."""
    able = [name for name in SOLVERS if name != "auto" and not missing_need(as_solver(name), problem)]
    chosen = rng.permutation(able)[: int(rng.integers(1, 4))]
    return ["auto", *map(str, chosen)]


def attempt(
    case: Case, problem: Problem, solver: str, tol: float, start: object = None, resumable: bool = False
) -> tuple[list[Failure], Solution | None]:
    """A solve that must come back in time, with an answer or a helpful error."""
    for _ in range(_TRIES):
        began = time.process_time()
        try:
            solution = solve(
                problem, solver, tol=tol, max_time=MAX_TIME, start=start, n_jobs=1, resumable=resumable
            )
        except Exception as error:
            return _excused(error, case), None
        late = time.process_time() - began - MAX_TIME - _LATE
        if late <= 0:
            break
    text = f"{solver} came back {late:.1f} CPU s later than max_time + 1 s allows"
    return [Failure("late", text)] if late > 0 else [], solution


def _excused(error: Exception, case: Case) -> list[Failure]:
    failure = unhelpful(error)
    if isinstance(error, UnboundedProblem) and case.loss not in _BOTTOMLESS:
        failure = Failure("false UnboundedProblem", str(error)[:200])
    return [failure] if failure else []


def cross_judge(
    outcome: Outcome, case: Case, judge: Judge, problem: Problem, answers: list[tuple[float, Answer]]
) -> None:
    """Every certificate against every value attained."""
    if not answers:
        return
    lowest = min(found.attained for _, found in answers)
    for tol, found in answers:
        failures = broken(found, tol, absolute_tolerance(problem, tol), lowest)
        outcome.take([_told(failure, case, tol) for failure in failures], figure(found))


def _told(failure: Failure, case: Case, tol: float | None = None) -> Failure:
    known = "" if tol is None else f", tol={tol:.3g}"
    size = np.abs(case.X[np.isfinite(case.X)]).max(initial=0.0)
    return failure._replace(text=f"{failure.text} [{case}, |X|={size:.2g}{known}]")
