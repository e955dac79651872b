"""How a solver says what it needs, and how a mismatch is told.

A solver is a generator function `method(problem, state=None, **options)`. It yields `Iterate`s and receives
the best `Certificate` so far; it knows no tolerance, no clock and no verbosity. `state` is what an earlier
`snapshot` returned, or holds just "w", a point to start from.
"""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.linalg import LinAlgError

from gapfit.errors import IncompatibleSolver
from gapfit.penalties import ElasticNet, Penalty
from gapfit.problem import Problem
from gapfit.registry import SOLVERS, as_solver
from gapfit.room import ask_for, available
from gapfit.solution import Certificate, Iterate

OVERFLOWS = (ArithmeticError, LinAlgError)  # what a step may raise where numbers are too large for it

Steps = Generator[Iterate, Certificate, None]
Method = TypeVar("Method", bound=Callable[..., Steps])

_PENALTY_NEEDS: dict[str, tuple[str, Callable[[Penalty], bool]]] = {
    "L2": ("the L2 penalty", lambda penalty: penalty.euclidean),
    "quadratic": ("a quadratic penalty", lambda penalty: penalty.quadratic),
    "smooth": ("a differentiable penalty", lambda penalty: penalty.smooth),
    "elastic net": (
        "L1, L2 or the elastic net, in a box or not",
        lambda penalty: isinstance(getattr(penalty, "penalty", penalty), ElasticNet),
    ),
}


_DESIGN_NEEDS = {
    "rows": "the rows of X, one score each",
    "wide rows": "the rows of X, several scores each",
    "euclidean": "weights that are a plain vector",
    "gram": "a kernel",
    "chain": "the rows of chains, without edge features",
}


def needs(
    *risk: str | tuple[str, ...], penalty: str | None = None, design: str | None = None, squares: int = 0
) -> Callable[[Method], Method]:
    """Declare what a solver asks of the risk (its `capabilities`; of a tuple, one), of the penalty, and of
    the design (what it `offers`); and how many square matrices of all weights it holds at once."""

    def declare(method: Method) -> Method:
        method.needs = (risk, penalty, design)  # type: ignore[attr-defined]
        method.squares = squares  # type: ignore[attr-defined]
        return method

    return declare


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
    return 8.0 * getattr(_inner(method), "squares", 0) * problem.design.shape[1] ** 2


def missing_need(method: Callable[..., Any], problem: Problem) -> str | None:
    """The first thing the solver needs and the problem lacks."""
    risk, penalty, design = getattr(_inner(method), "needs", ((), None, None))
    for need in risk:
        alternatives = (need,) if isinstance(need, str) else need
        if problem.risk.capabilities.isdisjoint(alternatives):
            return f"a loss with {' or '.join(alternatives)}, which {problem.loss!r} has not"
    if penalty is not None:
        wanted, has = _PENALTY_NEEDS[penalty]
        if not has(problem.penalty):
            return f"{wanted}, which {problem.penalty!r} is not"
    if design is not None and design not in problem.design.offers:
        return f"{_DESIGN_NEEDS[design]}, which {type(problem.design).__name__} does not offer"
    return None


def solver_name(method: Callable[..., Any]) -> str:
    """The name of the solver function, without options."""
    return str(getattr(_inner(method), "__name__", "solver"))


def _inner(method: Callable[..., Any]) -> Callable[..., Any]:
    return _inner(method.func) if isinstance(method, partial) else method
