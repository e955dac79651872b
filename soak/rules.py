"""What every answer of `solve` must keep to, judged from outside.

A certificate says: dual <= min J, primal - gap <= min J, and |J(w, b) - primal| <= gap at the returned point.
The exact J of any point that any solve of the same problem attained is an upper bound of min J, so each
certificate is held against all of them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gapfit import Problem, Solution, Status
from soak.exact.numbers import OWN_ERROR, number
from soak.exact.objective import Judge

# words by which a message names what is wrong: arguments, and parameters of losses and penalties
ARGUMENTS = {
    "X", "y", "alpha", "sample_weight", "offset", "groups", "start", "tol", "max_iter", "max_time",
    "loss", "penalty", "solver", "intercept", "fit_intercept", "class_weight", "n_jobs", "Q", "lo", "hi",
    "k", "nu", "q", "epsilon", "delta", "gamma", "floor", "beta", "max_fpr", "cost", "costs", "labels",
    "n_classes", "f", "positive", "random_state", "verbose", "warm_start", "callbacks", "kernel",
    "degree", "coef0", "C", "cache_size", "qid", "multi_class", "decision_function_shape", "structure",
    "metric", "strategy", "cv", "score_weight", "pairs", "node_kernel", "vectorizer", "inexact",
    "resumable", "path", "no_such_argument", "stop_when", "watch", "eps", "alpha_range", "scoring",
    "max_fits", "change", "alphas", "calibrate", "Cs", "gammas", "level", "resolution", "patience",
    "device",
}  # fmt: skip


class Failure(NamedTuple):
    """One broken rule: the kind says which, the text by how much."""

    kind: str
    text: str


@dataclass
class Answer:
    """What one solve gave, and what its point is worth."""

    solver: str
    solution: Solution
    exact: Any  # J(w, b) of the floats as they are
    attained: Any  # J at a point of the domain


def answer(judge: Judge, solver: str, solution: Solution) -> Answer:
    """Judge the returned point."""
    w, b = np.asarray(solution.w, dtype=np.float64), np.asarray(solution.intercept, dtype=np.float64)
    if not (np.isfinite(w).all() and np.isfinite(b).all()):
        return Answer(solver, solution, number(math.inf), number(math.inf))
    return Answer(solver, solution, judge.value(w, b), judge.attained(w, b))


def broken(answer: Answer, tol: float, absolute: float, lowest: Any) -> list[Failure]:
    """The rules that an answer breaks; `lowest` is the least value that anyone attained."""
    lowest = lowest + OWN_ERROR
    checks: tuple[Callable[[Answer, float, float, Any], str | None], ...] = (
        _not_a_number, _bound, _status, _primal, _dual, _history,
    )  # fmt: skip
    found = ((check.__name__.strip("_"), check(answer, tol, absolute, lowest)) for check in checks)
    return [Failure(kind, f"{answer.solver}: {text}") for kind, text in found if text]


def _not_a_number(answer: Answer, tol: float, absolute: float, lowest: Any) -> str | None:
    solution = answer.solution
    parts = {"w": solution.w, "intercept": solution.intercept, "certificate": solution.certificate[:3]}
    parts["history"] = [record[2:] for record in solution.history]
    wrong = [name for name, part in parts.items() if np.isnan(np.asarray(part, dtype=float)).any()]
    if not np.isfinite(np.asarray(solution.w)).all():
        wrong.append("an infinite w")
    return f"NaN in {', '.join(wrong)}" if wrong else None


def _finite(answer: Answer) -> bool:
    return all(math.isfinite(part) for part in answer.solution.certificate[:3])


def _primal(answer: Answer, tol: float, absolute: float, lowest: Any) -> str | None:
    primal, _, gap, *_ = answer.solution.certificate
    if not _finite(answer):
        return None
    off = min(abs(value - number(primal)) for value in (answer.exact, answer.attained))
    if off <= number(gap) + OWN_ERROR:
        return None
    return f"primal {primal!r} is off by {_short(off)}, the gap is {gap:.3g}"


def _bound(answer: Answer, tol: float, absolute: float, lowest: Any) -> str | None:
    """The severe one: the proved optimum lies above an attained value, allowance and all."""
    primal, _, gap, *_ = answer.solution.certificate
    if not (_finite(answer) and number(primal) - number(gap) > lowest):
        return None
    excess = number(primal) - number(gap) - lowest
    return f"primal - gap = {primal - gap!r} is above an attained value by {_short(excess)}"


def _dual(answer: Answer, tol: float, absolute: float, lowest: Any) -> str | None:
    dual = answer.solution.certificate.dual
    if not number(dual) > lowest:
        return None
    return f"dual {dual!r} is above an attained value by {_short(number(dual) - lowest)}"


def _history(answer: Answer, tol: float, absolute: float, lowest: Any) -> str | None:
    for record in answer.solution.history:
        if not record.proved:
            continue
        bounds = [record.dual] + [record.primal - record.gap] * math.isfinite(record.gap)
        if any(number(bound) > lowest for bound in bounds):
            excess = max(number(bound) for bound in bounds) - lowest
            return f"a bound of the history, step {record.n_iter}, is above by {_short(excess)}"
    return None


def _status(answer: Answer, tol: float, absolute: float, lowest: Any) -> str | None:
    certificate = answer.solution.certificate
    primal, dual, gap, *_ = certificate
    if math.isfinite(primal) and math.isfinite(dual) and not gap >= primal - dual:
        return f"gap {gap!r} is less than primal - dual = {primal - dual!r}"
    if answer.solution.status is not Status.CERTIFIED:
        return None
    if not _finite(answer):
        return f"CERTIFIED with primal {primal}, dual {dual}, gap {gap}"
    if gap <= tol * max(abs(primal), abs(dual)) or gap <= absolute:
        return None
    return f"CERTIFIED with gap {gap:.3g}, tol {tol:.3g}, primal {primal:.3g}, absolute {absolute:.3g}"


def absolute_tolerance(problem: Problem, tol: float) -> float:
    """min(tol, 1e-12) times the scale that `Problem.scale` documents: the risk at w = 0 with its best offset.

    What underflow alone can make is nothing.
    """
    return max(min(tol, 1e-12) * problem.scale * (1 + 1e-9), 1e-290)


def _short(value: Any) -> str:
    return f"{float(value):.3g}"


def unhelpful(error: BaseException) -> Failure | None:
    """Is this an error that a user can act upon? Typed, and naming what is wrong."""
    from gapfit import ContractError, IncompatibleSolver, UnboundedProblem

    kind, text = type(error).__name__, f"{type(error).__name__}: {error}"[:300]
    if isinstance(error, UnboundedProblem | IncompatibleSolver):
        return None
    if isinstance(error, ContractError) or not isinstance(error, ValueError | TypeError):
        return Failure(kind, text)
    named = set(_words(str(error))) & ARGUMENTS
    return None if named else Failure(f"unnamed {kind}", text)


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() or c == "_" else " " for c in text).split()


def figure(answer: Answer) -> float:
    """How much of its gap the primal's error takes: at most one if the certificate is right."""
    primal, _, gap, *_ = answer.solution.certificate
    if not _finite(answer):
        return 0.0
    off = min(abs(value - number(primal)) for value in (answer.exact, answer.attained))
    return float(off / (number(gap) + OWN_ERROR))
