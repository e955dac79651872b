"""The fit of estimators that are one problem with weights of their own shape: chains and other structures."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gapfit import limits
from gapfit.errors import as_number
from gapfit.estimators.base import check_flag, seeded, shown
from gapfit.estimators.checkpoints import kept
from gapfit.problem import Problem
from gapfit.registry import as_solver
from gapfit.solution import Solution, Status
from gapfit.solve import solve


def fit_single(estimator: Any, problem: Problem) -> Solution:
    """Solve the problem as the estimator's parameters say, and set the attributes that every fit has."""
    check_flag("warm_start", estimator.warm_start)
    last: Solution | None = getattr(estimator, "_warm", None) if estimator.warm_start else None
    start = last if last is not None and len(last.w) == problem.design.shape[1] else None
    limit = np.inf if estimator.max_time is None else as_number("max_time", estimator.max_time)
    data = None if estimator.checkpoint is None else problem.fingerprint()
    solver = seeded(as_solver(estimator.solver), estimator.random_state)
    with shown(estimator.verbose), kept(estimator, data) as checkpoint:
        solution = solve(
            problem, solver, tol=estimator.tol, max_iter=estimator.max_iter, max_time=limits.remaining(limit),
            start=start, n_jobs=estimator.n_jobs, resumable=bool(estimator.warm_start), checkpoint=checkpoint,
        )  # fmt: skip
    certificate = solution.certificate
    estimator.certificates_ = [certificate]
    estimator.objective_, estimator.dual_objective_ = certificate.primal, certificate.dual
    estimator.dual_gap_ = certificate.gap
    estimator.status_ = solution.status
    estimator.converged_ = solution.converged
    estimator.n_iter_ = solution.n_iter
    estimator.history_ = solution.history
    estimator.alpha_ = float(estimator.alpha)
    estimator._warm = solution if estimator.warm_start else None
    if solution.status not in (Status.CERTIFIED, Status.STOPPED):
        warnings.warn(
            f"{solution.status.value}. The duality gap is {certificate.gap:.3g}, that is "
            f"{certificate.relative_gap:.3g} of the objective, and tol asks for {estimator.tol:.3g}. "
            "Next: raise tol, max_iter or max_time, or raise alpha.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return solution
