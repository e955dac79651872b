"""One solver on one problem: objective, bound and test accuracy, against steps and seconds."""

import warnings
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from gapfit._types import Slope
from gapfit.lab.data import Split
from gapfit.lab.warm import warm_up
from gapfit.problem import Problem
from gapfit.registry import as_solver
from gapfit.solution import Progress, Solution, Status
from gapfit.solve import solve

GROWTH = 1.06  # steps between two points of a curve grow by this factor


class Curve(NamedTuple):
    """Columns of equal length. J is the best objective so far; D the best bound so far, -inf if none."""

    step: list[float]
    seconds: list[float]
    J: list[float]
    D: list[float]
    accuracy: list[float]


class Entry(NamedTuple):
    """A method of the figures: how it is run, and whether it has the unpenalised intercept."""

    solver: str  # its name in the registry, or "liblinear"
    options: dict[str, Any] = {}  # noqa: RUF012 (nobody changes it)
    intercept: bool = False


METHODS: dict[str, Entry] = {
    "liblinear": Entry("liblinear"),
    "Pegasos-1": Entry("pegasos", {"batch": "sample"}),
    "Pegasos-n": Entry("pegasos", {"batch": "full"}),
    "ls-bmrm": Entry("line_search_bundle"),
    "qp-bmrm": Entry("bundle", {"stabilise": None}),
    "level bundle": Entry("bundle"),
    "Pragam": Entry("pragam"),
    "Pragam-b": Entry("pragam", intercept=True),
}


def trace(method: str, data: Split, alpha: float, limit: float, tol: float) -> Curve:
    """Run a method for `limit` seconds at most, or until its gap is `tol` (relative)."""
    entry = METHODS[method]
    if entry.solver == "liblinear":
        return _liblinear(data, alpha, limit)
    problem = Problem(data.X, data.y, "hinge", alpha=alpha, intercept=entry.intercept)
    solver = partial(as_solver(entry.solver), **entry.options)
    warm_up(problem, solver)
    watch = _Watch(data)
    made = solve(problem, solver, tol=tol, max_iter=10**7, max_time=limit, callbacks=[watch], n_jobs=1)
    _not_interrupted(made)
    watch.end(made, limit)
    return watch.curve


def reference(data: Split, alpha: float, limit: float) -> tuple[float, float]:
    """(lower bound, objective) of the minimum, as close as `limit` seconds allow."""
    problem = Problem(data.X, data.y, "hinge", alpha=alpha, intercept=False)
    warm_up(problem, "auto")
    made = solve(problem, "auto", tol=1e-9, max_iter=10**7, max_time=limit)
    _not_interrupted(made)
    return made.certificate.dual, made.certificate.primal


def _not_interrupted(solution: Solution) -> None:
    """A fit that was interrupted ends well; half a curve must not be kept for a whole one."""
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt


class _Watch:
    """A callback that keeps some points of a fit, and leaves its own time out of account."""

    def __init__(self, data: Split) -> None:
        self.data = data
        self.curve = Curve([], [], [], [], [])
        self.own = self.next = 0.0
        self.last: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        began = perf_counter()
        if progress.n_iter >= self.next:
            self._keep(progress)
            self.next = max(progress.n_iter + 1, progress.n_iter * GROWTH)
        else:
            self.last = progress._replace(time=progress.time - self.own)
        self.own += perf_counter() - began

    def end(self, made: Solution, limit: float) -> None:
        """The end of the fit, if it is not there: one whose time is up in its first step tells nothing."""
        if not self.curve.step:
            self.last = Progress(made.n_iter, limit, *made.certificate[:3], made.w, made.intercept)
        if self.last is not None and self.last.n_iter > max(self.curve.step, default=-1.0):
            self.own = 0.0
            self._keep(self.last)

    def _keep(self, progress: Progress) -> None:
        found = accuracy(self.data, progress.w, progress.intercept)
        row = (progress.n_iter, progress.time - self.own, progress.primal, progress.dual, found)
        for column, value in zip(self.curve, row, strict=True):
            column.append(float(value))


def accuracy(data: Split, w: Slope, b: Any = 0.0) -> float:
    """The share of samples set aside that are on the right side."""
    return float(np.mean((data.X_test @ w + np.sum(b) > 0) == (data.y_test > 0)))


def _liblinear(data: Split, alpha: float, limit: float) -> Curve:
    """Fits with 1, 2, 3, 4, 6, ... passes, each from the start: liblinear does not tell how it goes.

    Each may take the limit.
    """
    problem = Problem(data.X, data.y, "hinge", alpha=alpha, intercept=False)
    curve, passes, best, found, longest = Curve([], [], [], [], []), 1, np.inf, 0.0, 0.0
    while 1.6 * longest <= limit:
        model = LinearSVC(
            loss="hinge", dual=True, C=1 / (alpha * len(data.y)), fit_intercept=False, tol=1e-8,
            max_iter=passes, random_state=0,
        )  # fmt: skip
        start = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(data.X, data.y)
        longest = max(longest, perf_counter() - start)  # more passes take longer, whatever the clock says
        w = model.coef_.ravel()
        J = problem.evaluate(w, np.zeros(0))
        if best > J:
            best, found = J, accuracy(data, w)
        for column, value in zip(curve, (passes, longest, best, -np.inf, found), strict=True):
            column.append(float(value))
        if model.n_iter_ < passes:
            break
        passes = max(passes + 1, int(1.6 * passes))
    return curve
