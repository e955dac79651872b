"""A path of solutions: one problem, many alphas, each fit begun with what the last one proved."""

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

from gapfit.checkpoint import Checkpoint, Identity
from gapfit.problem import Problem
from gapfit.solution import Solution
from gapfit.solve import solve


def path(
    problem: Problem,
    alphas: Iterable[float],
    solver: str | Callable[..., Any] = "auto",
    *,
    checkpoint: Any = None,
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
    checkpoint : path, default=None
        A file that keeps the fits of all alphas, as in `solve`; the same call goes on from it.
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
    with _kept(checkpoint, problem, alphas, solver) as file:
        for alpha in sorted(set(alphas), reverse=True):
            at = problem.at(alpha)
            start = solutions[alpha] = solve(at, solver, start=start, checkpoint=file, **options)
    return [solutions[alpha] for alpha in alphas]


def _kept(checkpoint: Any, problem: Problem, alphas: list[float], solver: Any) -> Any:
    """One file for the fits of all alphas, if there is to be one."""
    if checkpoint is None:
        return nullcontext()
    things = {"solver": solver, "loss": problem.loss, "alphas": sorted(set(alphas))}
    return Checkpoint(checkpoint, Identity.of({**things, "data": problem.fingerprint()}))
