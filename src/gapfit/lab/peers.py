"""Other libraries on the same objective, where they are installed and minimise it.

    alpha * Omega(w) + (1/n) sum_i loss_i

Each entry says which losses, penalties and intercepts it takes, and fits with a given effort: a number of
iterations, or a tolerance. liblinear and those built like it penalise their intercept, which is another
objective, so they run without one only. SGD diverges with the squared hinge, whose slope is unbounded.
"""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import Lasso, LogisticRegression, Ridge, SGDClassifier
from sklearn.svm import LinearSVC

from gapfit._types import Slope
from gapfit.problem import Problem

GROWTH = 1.4  # of the effort from one fit to the next
ITERATIONS = tuple(int(GROWTH**k) for k in range(3, 60))
TOLERANCES = tuple(10.0**-k for k in range(1, 12))


class Task(NamedTuple):
    """A problem as other libraries want it: the numbers of an unweighted fit."""

    problem: Problem
    X: Any
    y: Any
    loss: str
    penalty: str
    intercept: bool

    @property
    def alpha(self) -> float:
        return self.problem.alpha

    @property
    def C(self) -> float:
        """The factor of the sum of losses beside a penalty without one."""
        return 1.0 / (self.alpha * len(self.y))


class Peer(NamedTuple):
    """A solver of another library."""

    name: str
    package: str  # what must be installed
    takes: frozenset[tuple[str, str]]  # pairs of loss and penalty
    intercept: bool  # has it an unpenalised one?
    efforts: tuple[Any, ...]
    model: Callable[[Task, Any], Any]  # for a task and an effort, not fitted yet

    def applicable(self, task: Task) -> bool:
        """Is it installed, and does it minimise this objective?"""
        fits = (task.loss, task.penalty) in self.takes and (self.intercept or not task.intercept)
        return fits and find_spec(self.package) is not None

    def fit(self, task: Task, effort: Any) -> tuple[Slope, float]:
        """The weights and the intercept that so much effort leads to."""
        model = self.model(task, effort)
        model.fit(task.X, task.y)
        b = float(np.ravel(model.intercept_)[0]) if task.intercept else 0.0
        return np.ravel(model.coef_).astype(np.float64), b


def _liblinear(task: Task, iterations: int) -> Any:
    shared = dict(C=task.C, fit_intercept=False, tol=1e-8, max_iter=iterations, random_state=0)
    if task.loss == "logistic":
        return LogisticRegression(solver="liblinear", dual=True, **shared)
    return LinearSVC(loss=task.loss, dual=True, **shared)


def _sgd(task: Task, epochs: int) -> Any:
    return SGDClassifier(
        loss="log_loss" if task.loss == "logistic" else task.loss, alpha=task.alpha,
        fit_intercept=task.intercept, max_iter=epochs, tol=None, average=True, random_state=0,
    )  # fmt: skip


def _lbfgs(task: Task, iterations: int) -> Any:
    return LogisticRegression(C=task.C, fit_intercept=task.intercept, tol=1e-12, max_iter=iterations)


def _ridge(task: Task, tol: float) -> Any:
    return Ridge(alpha=task.alpha * len(task.y), fit_intercept=task.intercept, tol=tol)


def _lasso(task: Task, iterations: int) -> Any:
    return Lasso(alpha=task.alpha, fit_intercept=task.intercept, tol=1e-12, max_iter=iterations)


def _rehline(task: Task, iterations: int) -> Any:
    from rehline import plq_Ridge_Classifier  # type: ignore[import-untyped, import-not-found, unused-ignore]

    loss = {"name": "svm"}
    return plq_Ridge_Classifier(loss=loss, C=task.C, fit_intercept=False, tol=1e-12, max_iter=iterations)


def _snapml(task: Task, epochs: int) -> Any:
    from snapml import SupportVectorMachine  # type: ignore[import-untyped, import-not-found, unused-ignore]

    alpha = task.alpha * len(task.y)
    return SupportVectorMachine(loss=task.loss, regularizer=alpha, max_iter=epochs, tol=1e-12, random_state=0)


_MARGIN = frozenset((loss, "l2") for loss in ("hinge", "squared_hinge", "logistic"))
PEERS = (
    Peer("liblinear (scikit-learn)", "sklearn", _MARGIN, False, ITERATIONS, _liblinear),
    Peer("SGD (scikit-learn)", "sklearn", _MARGIN - {("squared_hinge", "l2")}, True, ITERATIONS, _sgd),
    Peer("lbfgs (scikit-learn)", "sklearn", frozenset({("logistic", "l2")}), True, ITERATIONS, _lbfgs),
    Peer("Ridge (scikit-learn)", "sklearn", frozenset({("squared", "l2")}), True, TOLERANCES, _ridge),
    Peer("Lasso (scikit-learn)", "sklearn", frozenset({("squared", "l1")}), True, ITERATIONS, _lasso),
    Peer("ReHLine", "rehline", frozenset({("hinge", "l2")}), False, ITERATIONS, _rehline),
    Peer("Snap ML", "snapml", _MARGIN - {("logistic", "l2")}, False, ITERATIONS, _snapml),
)  # fmt: skip


def applicable(task: Task) -> Iterator[Peer]:
    """The peers that can be raced on this task."""
    return (peer for peer in PEERS if peer.applicable(task))
