"""StructuredClassifier: predict whatever objects have joint features and a best one that can be found."""

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gapfit.checks import as_weights
from gapfit.errors import ContractError
from gapfit.estimators.base import seeded
from gapfit.estimators.single import fit_single
from gapfit.penalties import Penalty
from gapfit.problem import Problem
from gapfit.registry import as_solver
from gapfit.solution import Progress, Status
from gapfit.solve import solve
from gapfit.structures import StructuredMargin, WeightDesign
from gapfit.structures.margin import joint_features

METHODS = ("joint_features", "loss_augmented_argmax", "loss", "argmax")


class StructuredClassifier(BaseEstimator):
    """Max-margin model of a structure, with a certificate of its fit.

    It predicts the y that maximises <coef, joint_features(x, y)>, and minimises

        alpha * Omega(coef) + weighted mean of  max over y' of loss(y, y')
                                                + <coef, joint_features(x, y') - joint_features(x, y)>.

    Parameters
    ----------
    structure : object
        With the methods joint_features(x, y), loss_augmented_argmax(x, y, w), loss(y, other) and
        argmax(x, w), such as those of `gapfit.structures`. If it says `exact = False`, its argmax may miss
        the maximum.
    alpha : float, default=1e-2
    penalty : str or Penalty, default="l2"
    inexact : bool, default=False
        Take a structure whose inference is not exact. What is found is then no bound on the maximum, so the
        certificate does not hold: status_ is LOCAL, dual_gap_ infinite and converged_ False.
    solver, tol, max_iter, max_time, checkpoint, warm_start, random_state, n_jobs, verbose : as for
        SequenceLabeler

    Attributes
    ----------
    coef_ : array (d,)
    objective_, dual_objective_, dual_gap_, converged_, status_, n_iter_, history_, certificates_
    """

    def __init__(
        self,
        structure: Any,
        *,
        alpha: float = 1e-2,
        penalty: str | Penalty = "l2",
        inexact: bool = False,
        solver: str | Callable[..., Any] = "auto",
        tol: float = 1e-3,
        max_iter: int = 10_000,
        max_time: float | None = None,
        checkpoint: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.structure = structure
        self.alpha = alpha
        self.penalty = penalty
        self.inexact = inexact
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "StructuredClassifier":
        """Fit to a list of inputs and a list of the objects that belong to them."""
        fitted = copy(self)  # a fit that fails changes nothing
        fitted._fit(X, y, sample_weight)
        self.__dict__ = fitted.__dict__
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        missing = [name for name in METHODS if not callable(getattr(self.structure, name, None))]
        if missing:
            raise TypeError(f"structure {self.structure!r} lacks {', '.join(missing)}")
        _check_objects("X", X)
        _check_objects("y", y)
        if len(X) != len(y) or not len(X):
            raise ValueError(
                f"X has {len(X)} objects and y {len(y)}; there must be as many, and at least one"
            )
        exact = getattr(self.structure, "exact", True)
        if not exact and not self.inexact:
            raise ValueError(
                "the inference of this structure is not exact, so that no certificate would hold; "
                "inexact=True fits all the same, and says so"
            )
        loss = StructuredMargin(self.structure, X, y)
        design = WeightDesign(len(X), len(joint_features(self.structure, X, y, 0)))
        weight = as_weights(sample_weight, len(X))
        problem = Problem(design, np.arange(len(X)), loss, self.penalty, self.alpha, weight, intercept=False)
        if exact:
            self.coef_ = fit_single(self, problem).w
        else:
            self.coef_ = self._fit_inexact(problem)

    def _fit_inexact(self, problem: Problem) -> Any:
        """The best weights met; a value that was missed may contradict a bound, which ends the search."""
        met: list[Progress] = []
        limit = np.inf if self.max_time is None else self.max_time
        solver = seeded(as_solver(self.solver), self.random_state)
        try:
            found = solve(
                problem, solver, tol=self.tol, max_iter=self.max_iter, max_time=limit,
                callbacks=[met.append], checkpoint=self.checkpoint,
            ).w  # fmt: skip
        except ContractError:
            found = met[-1].w if met else problem.start()
        self.status_, self.converged_, self.dual_gap_ = Status.LOCAL, False, np.inf
        self.objective_, self.dual_objective_ = problem.evaluate(found, np.zeros(0)), -np.inf
        self.n_iter_ = len(met)
        self.history_: list[Any] = []
        self.certificates_: list[Any] = []
        self.alpha_ = float(self.alpha)
        return found

    def predict(self, X: Any) -> list[Any]:
        """The best object for each input."""
        check_is_fitted(self, "coef_")
        return [self.structure.argmax(x, self.coef_) for x in X]

    def losses(self, X: Any, y: Any) -> Any:
        """What each prediction costs."""
        pairs = zip(y, self.predict(X), strict=True)
        return np.array([float(self.structure.loss(truth, found)) for truth, found in pairs])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of predictions that cost nothing."""
        return float(np.average(self.losses(X, y) == 0, weights=sample_weight))


def _check_objects(name: str, objects: Any) -> None:
    """Something that has a length, and can be asked for each of its objects by number."""
    countable = hasattr(objects, "__len__") and hasattr(objects, "__getitem__")
    if not countable or isinstance(objects, str | bytes | Mapping) or sparse.issparse(objects):
        found = type(objects).__name__
        raise TypeError(f"{name} must be a list with an object for each sample, got {found}")
