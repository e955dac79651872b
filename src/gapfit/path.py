"""A path of solutions: one problem, many alphas, each fit begun with what the last one proved."""

from collections.abc import Callable, Iterable
from typing import Any

from gapfit.problem import Problem
from gapfit.solution import Solution
from gapfit.solve import solve


def path(
    problem: Problem,
    alphas: Iterable[float],
    solver: str | Callable[..., Any] = "auto",
    **options: Any,
) -> list[Solution]:
    """Minimise alpha * Omega(w) + R(A w, b) for each of several alphas.

    They are visited from the largest to the smallest. Minorants of R do not depend on alpha, so each fit
    begins with the cuts, or the dual point, of the one before.

    Parameters
    ----------
    problem : Problem
        Its own alpha plays no part.
    alphas : positive numbers, in any order
    solver, **options : as for `solve`, but for `start`

    Returns
    -------
    list of Solution, in the order of `alphas`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from gapfit import Problem, path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> problem = Problem(X / X.max(axis=0), 2.0 * y - 1, "f_beta")
    >>> [solution.converged for solution in path(problem, [1e-2, 1e-3], tol=1e-3)]
    [True, True]
    """
    alphas = list(alphas)
    solutions: dict[float, Solution] = {}
    problem, start = problem.sealed(), None
    for alpha in sorted(set(alphas), reverse=True):
        start = solutions[alpha] = solve(problem.at(alpha), solver, start=start, **options)
    return [solutions[alpha] for alpha in alphas]
