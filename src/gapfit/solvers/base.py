"""How a solver says what it needs, and how a mismatch is told.

A solver is a generator function `method(problem, state=None, **options)`. It yields `Iterate`s and receives
the best `Certificate` so far; it knows no tolerance, no clock and no verbosity. `state` is what an earlier
`snapshot` returned, or holds just "w", a point to start from, and its "offsets" if they are known. It is of
the same risk; `state["same"]` says whether it is of the very same problem, alpha and penalty included, and
`state["wanted"]` which relative gap is asked for: `auto` judges solvers by that, and no step depends on it.
"""

from collections.abc import Callable, Generator, Mapping, Set
from functools import cache, partial
from inspect import signature
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.linalg import LinAlgError

from gapfit.errors import IncompatibleSolver
from gapfit.forms import lacking
from gapfit.problem import Problem
from gapfit.registry import SOLVERS, as_solver
from gapfit.room import ask_for, available
from gapfit.solution import Certificate, Iterate
from gapfit.solvers.old_needs import as_forms

__all__ = [
    "Effort", "Steps", "check_needs", "effort_of", "inner_solver", "missing_need", "needs", "solver_name",
]  # fmt: skip

OVERFLOWS = (ArithmeticError, LinAlgError)  # what a step may raise where numbers are too large for it

Steps = Generator[Iterate, Certificate, None]
Method = TypeVar("Method", bound=Callable[..., Steps])

Need = type | tuple[type, ...]  # a form, or several of which one will do


class Effort(NamedTuple):
    """What a fit is expected to take before it has begun: multiply-adds, in whose time all else is counted as
    well (`choice.work`), and bytes beside the data."""

    setup: float  # until the first step begins
    step: float
    steps: float  # to four digits, about; a guess by experience, which a fit soon corrects
    memory: float

    @property
    def total(self) -> float:
        """All of it; there is no fit without a step."""
        return self.setup + self.step * max(self.steps, 1.0)


def needs(
    *forms: Need,
    squares: int = 0,
    effort: Callable[[Problem], Effort | None] | None = None,
    downhill: bool = False,
    near: float = 1.0,
    **old: Any,
) -> Callable[[Method], Method]:
    """Declare the forms that a solver will ask the problem for: of its risk, its penalty and its design. How
    many square matrices of all weights it holds at once. What a fit will take: `auto` chooses by that. And
    whether rough solutions at larger alphas are a good start for small ones (`downhill`). And which share of
    a fit is left near a dual point that others foretell, where losses have kinks (`near`)."""

    def declare(method: Method) -> Method:
        method.needs = as_forms(forms, old)  # type: ignore[attr-defined]
        method.squares, method.effort = squares, effort  # type: ignore[attr-defined]
        method.downhill, method.near = downhill, near  # type: ignore[attr-defined]
        return method

    return declare


def effort_of(method: Callable[..., Any], problem: Problem) -> Effort | None:
    """What the solver says that it will take; None if it says nothing."""
    declared = getattr(inner_solver(method), "effort", None)
    return None if declared is None else declared(problem)


def check_needs(method: Callable[..., Any], problem: Problem) -> None:
    """Raise one helpful sentence if the solver cannot take the problem, or if there is no room for it."""
    if missing := missing_need(method, problem):
        raise IncompatibleSolver(f"{solver_name(method)} needs {missing}; {_others(problem)}")
    if square := _bytes_of_squares(method, problem):
        what = f"solver {solver_name(method)} with {problem.design.shape[1]} weights"
        ask_for(square, what, _others(problem))


def _others(problem: Problem) -> str:
    """The solvers that take the problem, in words; not those with square matrices, if these are large."""
    there = available() or np.inf
    methods = {name: as_solver(name) for name in SOLVERS if name != "auto"}
    names = [
        name
        for name, method in methods.items()
        if not missing_need(method, problem) and _bytes_of_squares(method, problem) <= there
    ]
    return f"solvers that take this problem: {', '.join(names)}"


def _bytes_of_squares(method: Callable[..., Any], problem: Problem) -> float:
    return 8.0 * getattr(inner_solver(method), "squares", 0) * problem.design.shape[1] ** 2


def missing_need(method: Callable[..., Any], problem: Problem) -> str | None:
    """The first thing the solver needs and the problem lacks."""
    for need in getattr(inner_solver(method), "needs", ()):
        kinds = _kinds(need)
        if not any(problem.has(kind) for kind in kinds):
            return lacking(problem, *kinds)
    return None


def able(methods: Mapping[str, Callable[..., Any]], problem: Problem) -> list[str]:
    """Those that the problem has all forms for. Each form is asked for once: there are many solvers."""
    has: dict[type, bool] = {}
    forms = [*problem.risk.forms(), *problem.penalty.forms()]

    def there(kind: type) -> bool:
        if kind not in has:
            has[kind] = any(isinstance(form, kind) for form in forms) or problem.design.has(kind)
        return has[kind]

    return [
        name
        for name, method in methods.items()
        if all(any(map(there, _kinds(need))) for need in getattr(inner_solver(method), "needs", ()))
    ]


def _kinds(need: Need) -> tuple[type, ...]:
    return need if isinstance(need, tuple) else (need,)


def solver_name(method: Callable[..., Any]) -> str:
    """The name of the solver function, without options."""
    return str(getattr(inner_solver(method), "__name__", "solver"))


def takes_seed(method: Callable[..., Any]) -> bool:
    """Does the solver draw at random?"""
    return "seed" in _options(inner_solver(method))


@cache
def _options(method: Callable[..., Any]) -> Set[str]:
    return signature(method).parameters.keys()


def inner_solver(method: Callable[..., Any]) -> Callable[..., Any]:
    """The solver function, without options."""
    return inner_solver(method.func) if isinstance(method, partial) else method
