"""What a solver promises: bounds that nobody contradicts, the same answer each time, states to go on from."""

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Slope
from gapfit.design.base import Design
from gapfit.errors import ContractError
from gapfit.problem import Problem
from gapfit.registry import as_solver
from gapfit.rounding import EPS
from gapfit.solution import Certificate, Iterate, Solution, Status
from gapfit.solve import solve
from gapfit.solvers.base import effort_of, missing_need, solver_name
from gapfit.testing.counting import CountedProducts, CountedRows, Counter
from gapfit.testing.require import require
from gapfit.testing.zoo import problems as zoo

_STEPS = 6  # that are looked at one by one
_MANY = 3000  # steps within which a problem is to be solved
_FACTOR = 3.0  # by which work may be more or less than a solver says


def check_solver(
    solver: str | Callable[..., Any], problems: Iterable[Problem] | None = None, *, tol: float = 1e-6
) -> None:
    """Check a solver on these problems, or on all those of `gapfit.testing.zoo` that it declares to take.

    It must certify `tol`; its bounds may not contradict those of the bundle; each bound must be made by the
    problem; the same call gives the same answer; a run goes on from a state with the same bytes, and from
    a solution for another alpha; limits end it; and what it declares of its effort is so.
    """
    method, checked = as_solver(solver), 0
    for problem in zoo() if problems is None else problems:
        if problems is None and missing_need(method, problem) is not None:
            continue
        _Check(method, problem, tol).run()
        checked += 1
    require(checked, solver_name(method), "it takes none of the problems that gapfit has for it")
    _check_effort(method)


class _Seen(NamedTuple):
    """An iterate, its point, what it was answered with, and the states of solver and design after it."""

    iterate: Iterate
    w: Slope
    answer: Certificate
    state: dict[str, Any]
    design: Any


class _Check:
    """One solver on one problem."""

    def __init__(self, method: Callable[..., Any], problem: Problem, tol: float) -> None:
        self.method, self.problem, self.tol = method, problem, tol
        self.reference = solve(problem, "bundle", tol=1e-10).certificate

    def run(self) -> None:
        self.check_states(list(islice(self.first_steps(), _STEPS)))
        remembered = self.problem.design.state()
        solution = self.solved(self.problem, self.reference)
        self.problem.design.restore(remembered)
        again = solve(self.problem, self.method, tol=self.tol, max_iter=_MANY)
        same = np.array_equal(again.w, solution.w) and again.certificate == solution.certificate
        self.require(same, "the same call gave another answer")
        self.check_limits()
        if solution.n_iter > 2:
            half = solve(self.problem, self.method, tol=0.0, max_iter=solution.n_iter // 2)
            rest = self.solved(self.problem, self.reference, half)
            rounding = 64 * EPS * abs(half.certificate.primal)
            self.require(rest.certificate.gap <= half.certificate.gap + rounding, "it lost bounds on the way")
        other = self.problem.at(0.5 * self.problem.alpha)
        self.solved(other, solve(other, "bundle", tol=1e-10).certificate, solution)

    def require(self, holds: Any, what: str) -> None:
        problem = self.problem
        where = f"{problem.loss!r}, {problem.penalty!r}, {problem.design!r}, {problem.n_offsets} offsets"
        require(holds, solver_name(self.method), f"{what}, on {where}")

    def solved(self, problem: Problem, reference: Certificate, start: Any = None) -> Solution:
        """The certified solution, which agrees with another solver's."""
        try:
            solution = solve(problem, self.method, tol=self.tol, max_iter=_MANY, start=start)
        except ContractError as error:
            raise ContractError(f"{solver_name(self.method)!r}: {error}") from error
        mine = solution.certificate
        self.require(solution.converged, f"it ends with a relative gap of {mine.relative_gap:.3g}, over tol")
        for upper, lower in ((mine.primal, reference.dual), (reference.primal, mine.dual)):
            slack = 1e-12 * max(abs(upper), abs(lower)) + reference.gap
            self.require(lower <= upper + slack, f"bounds contradict: {lower} > {upper}")
        return solution

    def check_limits(self) -> None:
        one = solve(self.problem, self.method, tol=0.0, max_iter=1)
        self.require(one.n_iter <= 1, f"it makes {one.n_iter} steps where one is allowed")
        none = solve(self.problem, self.method, tol=0.0, max_time=0.0)
        ended = (Status.TIME_LIMIT, Status.CERTIFIED, Status.STALLED)
        self.require(none.status in ended, f"without time it ends {none.status.name}")

    def first_steps(self, state: dict[str, Any] | None = None) -> Iterator[_Seen]:
        """Its first steps, each looked at as the driver would."""
        problem, steps = self.problem, self.method(self.problem, state=state)
        iterate, best, bound = next(steps, None), np.inf, -np.inf
        while isinstance(iterate, Iterate):
            w = np.array(iterate.point())
            self.require(w.shape == (problem.design.shape[1],), f"it yields a point of shape {w.shape}")
            self.require(np.shape(iterate.b) == (problem.n_offsets,), f"it yields b = {iterate.b!r}")
            bound, best = max(bound, self.bound(iterate)), min(best, self.value(iterate, w))
            answer = Certificate(best, bound, best - bound)
            yield _Seen(iterate, w, answer, self.kept(iterate.snapshot()), self.kept(problem.design.state()))
            iterate = _sent(steps, answer)
        self.require(iterate is None, f"it yields {iterate!r}, which is no Iterate")

    def kept(self, state: Any) -> Any:
        """A copy that nobody will change, of all but the problem's own parts."""
        parts = (self.problem.design, self.problem.penalty, self.problem.loss)
        return deepcopy(state, {id(part): part for part in parts})

    def bound(self, iterate: Iterate) -> float:
        """The lower bound that comes with it, which must be made by the problem, and true."""
        minorant = iterate.minorant() if callable(iterate.minorant) else iterate.minorant
        if minorant is None:
            return -np.inf
        mine = minorant.maker == self.problem.maker
        self.require(mine, "it yields a minorant that its problem has not made")
        bound = self.problem.dual(minorant)
        slack = minorant.noise + 1e-9 * (1 + abs(bound))
        what = f"its lower bound {bound} is above the optimum {self.reference.primal}"
        self.require(bound <= self.reference.primal + slack, what)
        return bound

    def value(self, iterate: Iterate, w: Slope) -> float:
        """J at its point, which must be what it claims."""
        value = self.problem.best(w, iterate.b)[0]
        if iterate.primal is not None:
            off = iterate.primal - value
            slack = 1e-6 * (1 + abs(value))
            self.require(abs(off) <= slack or off > 0, f"it claims that J is {-off:.3g} lower than it is")
        return value

    def check_states(self, seen: list[_Seen]) -> None:
        """From the state after a step it goes on with the next, with the same bytes."""
        for before, after in pairwise(seen):
            if not before.state or before.state.get("ended"):
                continue
            self.problem.design.restore(before.design)
            state = {**before.state, "same": True, "certificate": before.answer}
            there = next(self.first_steps(state), None)
            self.require(there is not None, "it goes nowhere from a state that has not ended")
            assert there is not None
            off = float(np.abs(there.w - after.w).max(initial=0.0))
            self.require(off == 0, f"the step from a state is not the one made before: w is off by {off:.3g}")
            return


def _sent(steps: Any, answer: Certificate) -> Any:
    try:
        return steps.send(answer)
    except StopIteration:
        return None


def _check_effort(method: Callable[..., Any]) -> None:
    """The work with X that a few steps take, against what the solver declares."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 20))
    label = np.where(X[:, 0] + rng.normal(size=400) > 0, 1.0, -1.0)
    checked = False
    for kind in (CountedProducts, CountedRows):
        for loss in ("hinge", "logistic", "f_beta"):
            counter = Counter(dear=kind is CountedProducts)
            design: Design = kind(X, counter)
            problem = Problem(design, label, loss, alpha=1e-3)
            effort = effort_of(method, problem) if missing_need(method, problem) is None else None
            if effort is not None:
                _check_work(method, problem, counter, effort)
                checked = True
        if checked:
            return  # where products are all, nothing else need be counted


def _check_work(method: Callable[..., Any], problem: Problem, counter: Counter, effort: Any) -> None:
    for name, number in effort._asdict().items():
        require(0 <= number < np.inf, solver_name(method), f"its effort has {name} = {number!r}")
    steps, taken = method(problem, state=None), 0
    iterate = next(steps, None)
    while iterate is not None and taken < _STEPS:
        counter.on, taken = False, taken + 1  # what the driver would do is not the solver's work
        minorant = iterate.minorant() if callable(iterate.minorant) else iterate.minorant
        primal = problem.best(iterate.point(), iterate.b)[0]
        bound = -np.inf if minorant is None else problem.dual(minorant)
        counter.on = True
        iterate = _sent(steps, Certificate(primal, bound, primal - bound))
    declared = effort.setup + taken * effort.step
    if not counter.blind:
        what = f"{taken} steps take {counter.work:.3g} multiply-adds, not {declared:.3g} as its effort says"
        # where products are not dear, an effort is mostly calls of functions, which nobody counts here
        least = declared / _FACTOR if counter.dear else 0.0
        about = least <= counter.work <= _FACTOR * declared
        require(about, solver_name(method), f"{what}, on {problem.loss!r}")
