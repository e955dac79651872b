"""Warm starts: a solution of another problem, or a wild point, must not spoil what is proved of this one."""

from collections.abc import Callable

import numpy as np

from gapfit import Solution, Status
from gapfit.problem import Problem
from soak.areas.fuzz import attempt, cross_judge, solvers_for
from soak.cases import CHAINS, Case
from soak.draw import CLASSES, LABELS, LEVELS, MARGIN, draw
from soak.exact.objective import Judge
from soak.exact.pointwise import PHI
from soak.hostile import Rng, spread
from soak.job import Job
from soak.outcome import Outcome
from soak.rules import answer, unhelpful

CASES = 200
LIMIT = 120.0
FIGURE = "error of the primal / gap"
_TIGHT = 1e-9


def run(job: Job) -> Outcome:
    """A problem, solved; five others that start from there, each held against a cold start."""
    rng, outcome = job.rng(), Outcome()
    case = _soluble(rng)
    solver = solvers_for(case.problem(), rng)[int(rng.integers(2))]
    failures, first = attempt(case, case.problem(), solver, _TIGHT)
    outcome.take(failures)
    if first is None:
        return outcome
    changes = [_other_alpha, _other_data, *rng.permutation(_NEAR)[:2]]  # type: ignore[arg-type]
    for change in changes:
        _start(outcome, change(case, rng), solver, first, change.__name__)
    wild = np.full(len(first.w), float(spread(rng, 10, 20))) * rng.choice([-1.0, 1.0], len(first.w))
    _start(outcome, case, solver, wild, "a wild point")
    return outcome


def _soluble(rng: Rng) -> Case:
    """A problem that there is: the draws of others are the fuzz's business."""
    while True:
        case = draw(rng)
        try:
            case.problem()
        except (ValueError, TypeError):
            continue
        return case


def _start(outcome: Outcome, case: Case, solver: str, start: Solution | np.ndarray, what: str) -> None:
    """Warm with no step, warm and loose, warm and tight, and cold."""
    try:
        problem = case.problem()
    except Exception as error:
        outcome.take([failure for failure in [unhelpful(error)] if failure])
        return
    judge, answers = Judge(case), []
    for tol, given in ((1e-2, start), (_TIGHT, start), (_TIGHT, None)):
        failures, solution = attempt(case, problem, solver, tol, given)
        outcome.take([failure._replace(text=f"{what}: {failure.text}") for failure in failures])
        if solution is not None:
            label = f"{solver}, {'cold' if given is None else f'warm from {what}'}"
            answers.append((tol, answer(judge, label, solution)))
    cross_judge(outcome, case, judge, problem, answers)
    _same_again(outcome, problem, case, solver)


def _same_again(outcome: Outcome, problem: Problem, case: Case, solver: str) -> None:
    """Continued on the very same data, no bound is lost: where the tolerance is met again, neither of the two
    that rounding is then added to (other offsets as good as the first come with another allowance); where it
    is not, the gap."""
    failures, loose = attempt(case, problem, solver, 1e-1, resumable=True)
    if failures or loose is None:
        return
    _, on = attempt(case, problem, solver, 1e-1, loose)
    if on is not None:
        known, now = loose.certificate, on.certificate
        rounding = 1e-12 * max(abs(known.primal), problem.scale)  # a bound that is taken over is rounded anew
        met = on.status is Status.CERTIFIED is loose.status
        apart, before = (c.primal - c.dual if met else c.gap for c in (now, known))
        lost = apart > before + 1e-3 * known.gap + rounding
        outcome.expect(
            not lost, "bounds lost", f"{solver}: the gap was {known.gap}, continued {now.gap} [{case}]"
        )


def _other_alpha(case: Case, rng: Rng) -> Case:
    return case.but(alpha=case.alpha * float(spread(rng, -3, 3)))


def _other_data(case: Case, rng: Rng) -> Case:
    if case.layout == "kernel":
        return case.but(X=case.X * 2.0)
    return case.but(X=(rng.normal(size=case.X.shape) * np.abs(case.X).max()).astype(case.X.dtype))


def _label_flipped(case: Case, rng: Rng) -> Case:
    """One target becomes that of another sample."""
    y = case.y.copy()
    y[rng.integers(len(y))] = y[rng.integers(len(y))]
    return case.but(y=y)


def _all_labels_exchanged(case: Case, rng: Rng) -> Case:
    """With weights beside which labels are rounding."""
    big = np.full(len(case.y), 1e17) if case.loss in PHI else case.weight
    return case.but(y=case.y if case.loss in CHAINS else rng.permutation(case.y), weight=big)


def _last_bits(case: Case, rng: Rng) -> Case:
    X = case.X.copy()
    i, j = rng.integers(X.shape[0]), rng.integers(X.shape[1])
    X[i, j] = np.nextafter(X[i, j], np.inf, dtype=X.dtype)
    return case if case.layout == "kernel" else case.but(X=X)


def _weights_exchanged(case: Case, rng: Rng) -> Case:
    if case.weight is None or case.loss in CHAINS:
        return _label_flipped(case, rng)
    return case.but(weight=rng.permutation(case.weight))


def _one_column(case: Case, rng: Rng) -> Case:
    """Of the smallest size, made anew: what a sum over columns may not see."""
    if case.layout == "kernel":
        return _label_flipped(case, rng)
    X = case.X.copy()
    j = int(np.argmin(np.abs(X).max(axis=0)))
    X[:, j] = rng.permutation(X[:, j])
    return case.but(X=X)


def _target_for_weight(case: Case, rng: Rng) -> Case:
    """(y, weight) = (e, 1) against (0, 2), and the like: sums that agree."""
    real = case.loss not in {*MARGIN, *LEVELS, *CLASSES, *LABELS, *CHAINS, "poisson"}
    if not real or case.weight is None:
        return _label_flipped(case, rng)
    y, weight, i = case.y.copy(), case.weight.copy(), rng.integers(len(case.y))
    y[i], weight[i] = y[i] - np.e, weight[i] + 1.0
    return case.but(y=y, weight=weight)


_NEAR: list[Callable[[Case, Rng], Case]] = [
    _label_flipped, _all_labels_exchanged, _last_bits, _weights_exchanged, _one_column, _target_for_weight,
]  # fmt: skip
