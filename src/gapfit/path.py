"""A path of solutions: one problem, many alphas, each fit begun with what is known from the others.

Under a smooth penalty the ends come first, then the middle, and so on inwards: between two solutions the
others are foretold, most of them so well that the fit ends before its first step. Under others, which make
weights zero, the path goes down from the largest alpha: few weights are not zero there, and those of the next
are nearly the same.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from inspect import signature
from types import MappingProxyType
from typing import Any

from gapfit import limits, threads
from gapfit.checkpoint import Checkpoint, Identity
from gapfit.checks import as_tolerance
from gapfit.driver.along_alphas import along_alphas, suits
from gapfit.driver.at_once import at_once, is_plain
from gapfit.driver.foretold import foretold
from gapfit.foresight import Foresight, Outlook
from gapfit.problem import Problem
from gapfit.registry import is_auto
from gapfit.solution import Solution, Status
from gapfit.solve import solve
from gapfit.solvers.auto import by_moments
from gapfit.solvers.least_squares import least_squares

_FEW = 4  # alphas, too few to foretell any
# of `solve`; solutions keep no state here, for there is none to go on from
_USUAL = {name: one.default for name, one in signature(solve).parameters.items()} | {"resumable": False}

Start = Solution | Outlook | None
Fit = Callable[[float, Start], tuple[Solution, Problem]]  # alpha and a start -> the solution, and of what


def path(
    problem: Problem,
    alphas: Iterable[float],
    solver: str | Callable[..., Any] = "auto",
    *,
    checkpoint: Any = None,
    known: Mapping[float, Solution] = MappingProxyType({}),
    **options: Any,
) -> list[Solution]:
    """Minimise alpha * Omega(w) + R(A w, b) for each of several alphas.

    Minorants of R do not depend on alpha, so each fit begins with the cuts, or the dual points, of others;
    where solutions at a larger and at a smaller alpha are known, with what these foretell. `n_iter` is zero
    where that was good enough. Ctrl-C ends all of them: those that follow have the bounds that come for free.

    Parameters
    ----------
    problem : Problem
        Its own alpha plays no part.
    alphas : positive numbers, in any order
    checkpoint : path, default=None
        A file that keeps the fits of all alphas, as in `solve`; the same call goes on from it.
    known : mapping from alphas to solutions, default={}
        What was found before, of this very problem: of others nothing is taken.
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
    alphas, resumable = list(alphas), options.get("resumable", True)
    # what is known of other alphas is handed on within the path, whether it is to last or not
    problem = problem.sealed(briefly=not resumable and checkpoint is None)
    mark = problem.fingerprint()
    downwards = sorted(set(alphas), reverse=True)
    # for all fits at once: to tell BLAS of its threads takes longer than a small fit
    with threads.using(options.get("n_jobs")), _kept(checkpoint, problem, alphas, solver) as file:
        plain = is_auto(solver) and file is None and is_plain({**_USUAL, **options})
        quick = plain and by_moments(problem)

        early: dict[float, Solution] = {}
        how, cut, tol = dict(options), False, options.get("tol", _USUAL["tol"])

        def fit(alpha: float, start: Start) -> tuple[Solution, Problem]:
            nonlocal cut
            at = problem.at(alpha)
            if alpha in early:
                return early[alpha], at
            if quick:  # then a fit is little more than its proof
                found = at_once(at, least_squares, tol).solution
                if found is not None:
                    return replace(found, fingerprint=mark, state={"alone": True}), at
            if isinstance(start, Outlook):
                with limits.Interrupts() as interrupts:
                    start = _weighed(at, start, tol)
                cut |= interrupts.pressed
                if start is not None and start.converged:
                    return _unless(cut, start), at
            if cut:
                how["max_iter"] = 0  # the bounds that come for free
            solution = solve(at, solver, start=start, checkpoint=file, **how)
            cut |= solution.status is Status.INTERRUPTED
            return replace(solution, fingerprint=mark), at

        if plain and len(downwards) > 1 and suits(problem, len(downwards)):
            with limits.Interrupts() as interrupts:
                early = along_alphas(problem, downwards, as_tolerance(tol))
            cut |= interrupts.pressed
            early = {alpha: _unless(cut, solution) for alpha, solution in early.items()}
        ours = {
            alpha: replace(solution, fingerprint=mark)
            for alpha, solution in known.items()
            if solution.minorant.maker == problem.maker
        }
        if ours and problem.penalty.smooth:
            solutions = _among(problem, downwards, fit, ours)
        elif problem.penalty.smooth and len(downwards) > _FEW:
            solutions = _inwards(problem, downwards, fit)
        else:
            solutions = _downwards(downwards, fit)
    kept = mark if resumable else None
    return [replace(solutions[alpha], fingerprint=kept) for alpha in alphas]


def _downwards(alphas: list[float], fit: Fit) -> dict[float, Solution]:
    """Each from the one above, unless its solver has all that it needs without."""
    solutions: dict[float, Solution] = {}
    start = None
    for alpha in alphas:
        solutions[alpha], _ = fit(alpha, start)
        start = None if _alone(solutions[alpha]) else solutions[alpha]
    return solutions


def _unless(cut: bool, solution: Solution) -> Solution:
    """It, though it may not be the end that somebody wanted who has pressed Ctrl-C."""
    return replace(solution, status=Status.INTERRUPTED) if cut else solution


def _weighed(problem: Problem, outlook: Outlook, tol: float) -> Solution | None:
    """What is foretold, if anything is known of its scores proved as far as they go."""
    start, scores, slack = outlook.start, outlook.scores, outlook.slack
    if scores is None or slack is None:
        return replace(start, status=Status.STOPPED)
    return foretold(problem, start, scores, slack, outlook.tries, tol, outlook.near)


def _alone(solution: Solution) -> bool:
    """Did it come from what is kept of the data? Then another start would only cost a look at it."""
    return bool(solution.state.get("alone"))


def _inwards(problem: Problem, alphas: list[float], fit: Fit) -> dict[float, Solution]:
    """The ends, then what lies between. A fit that was worked for, and no other, foretells its neighbours."""
    foresight = Foresight(problem)
    for end in (alphas[0], alphas[-1]):  # too far apart to know anything of each other
        foresight.add(end, *fit(end, None))
    solutions = foresight.known.copy()
    if all(map(_alone, solutions.values())):
        return solutions | _downwards(alphas[1:-1], fit)
    open_ranges = deque([(alphas[0], alphas[-1], alphas[1:-1])])
    while open_ranges:
        upper, lower, inside = open_ranges.popleft()  # wide ones first
        if not inside:
            continue
        middle = len(inside) // 2
        alpha, ends = inside[middle], (upper, lower)
        solution, at = fit(alpha, foresight.outlook(upper, lower, alpha))
        solutions[alpha] = solution
        if solution.n_iter > 0:
            foresight.add(alpha, solution, at)
            ends = (alpha, alpha)
        open_ranges.append((ends[0], lower, inside[middle + 1 :]))
        open_ranges.append((upper, ends[1], inside[:middle]))
    return solutions


def _among(
    problem: Problem, alphas: list[float], fit: Fit, known: dict[float, Solution]
) -> dict[float, Solution]:
    """Each between those that are known on both sides, or from the nearer end of them."""
    foresight, solutions = Foresight(problem), dict[float, Solution]()
    start: Start
    for alpha, solution in known.items():
        foresight.add(alpha, solution)
    for alpha in alphas:
        upper = min((other for other in foresight.known if other >= alpha), default=None)
        lower = max((other for other in foresight.known if other <= alpha), default=None)
        if upper is None or lower is None or upper == lower:
            start = foresight.known[upper or lower]  # type: ignore[index]
        else:
            start = foresight.outlook(upper, lower, alpha)
        solutions[alpha], at = fit(alpha, start)
        foresight.add(alpha, solutions[alpha], at)
    return solutions


def _kept(checkpoint: Any, problem: Problem, alphas: list[float], solver: Any) -> Any:
    """One file for the fits of all alphas, if there is to be one; that of a larger fit holds them as well."""
    if checkpoint is None or isinstance(checkpoint, Checkpoint):
        return nullcontext(checkpoint)
    things = {"solver": solver, "loss": problem.loss, "alphas": sorted(set(alphas))}
    return Checkpoint(checkpoint, Identity.of({**things, "data": problem.fingerprint()}))
