"""gapfit's own entry in the race: the estimators, as a user calls them."""

import numpy as np

from gapfit import (
    KernelNoveltyDetector,
    KernelSVC,
    KernelSVR,
    LinearClassifier,
    LinearRegressor,
    OrdinalClassifier,
    Problem,
    registry,
)
from gapfit.losses import OrdinalThresholds
from gapfit.solvers.base import missing_need

from .objective import EPSILON
from .problems import LABELS


def fit(task, solver="auto"):
    """The answer, and how the fit ended."""
    drawn = task.drawn
    if drawn.penalty == "kernel":
        model = machine(task, drawn.tol)
        return model, model.status_.name
    options = {"alpha": task.alpha, "tol": drawn.tol, "solver": solver, "penalty": task.penalty, "n_jobs": 1}
    if drawn.loss == "ordinal":
        model = OrdinalClassifier(loss=OrdinalThresholds(base="logistic"), **options).fit(task.X, task.y)
        return (np.ravel(model.coef_), np.ravel(model.thresholds_)), model.status_.name
    kind = LinearClassifier if drawn.loss in LABELS or task.y.dtype.kind == "i" else LinearRegressor
    loss = "squared_hinge" if drawn.loss == "one_vs_rest" else task.loss
    model = kind(loss=loss, fit_intercept=drawn.intercept, **options).fit(task.X, task.y)
    several = task.y.dtype.kind == "i"
    w = model.coef_ if several else np.ravel(model.coef_)
    return (w, model.intercept_ if several else float(np.sum(model.intercept_))), model.status_.name


def machine(task, tol):
    """A fitted kernel machine."""
    made = {
        "svc": lambda: KernelSVC(C=task.C, tol=tol),
        "multiclass_svc": lambda: KernelSVC(C=task.C, tol=tol),
        "nu_svc": lambda: KernelSVC(nu=task.nu, tol=tol),
        "svr": lambda: KernelSVR(C=task.C, epsilon=EPSILON, tol=tol),
        "one_class": lambda: KernelNoveltyDetector(nu=task.nu, tol=tol),
    }[task.drawn.loss]()
    return made.fit(task.X, task.y)


def solvers(task):
    """All that take the problem, where it is one problem."""
    if task.drawn.penalty == "kernel" or task.y.dtype.kind == "i":
        return []
    problem = Problem(task.X, task.y, task.loss, task.penalty, task.alpha, intercept=task.drawn.intercept)
    methods = {name: registry.as_solver(name) for name in registry.SOLVERS if name != "auto"}
    return [name for name, method in methods.items() if missing_need(method, problem) is None]
