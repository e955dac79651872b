"""StructuredClassifier: predict whatever objects have joint features and a best one that can be found."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from gapfit._types import Maybe, Vector
from gapfit.checkpoint import Checkpoint
from gapfit.checks import as_weights
from gapfit.declaration import attribute, declared, parameter
from gapfit.errors import ContractError
from gapfit.estimators.certified import CertifiedFit
from gapfit.estimators.fitting import Solver, all_or_nothing
from gapfit.estimators.single import Given, OneProblem
from gapfit.persistence.agreement import check_weights
from gapfit.persistence.objects import PENALTY
from gapfit.persistence.structures import STRUCTURE
from gapfit.persistence.values import floats
from gapfit.problem import Problem
from gapfit.solution import Certificate, Progress, Record, Solution, Status
from gapfit.solvers.base import solver_name
from gapfit.structures import StructuredMargin, WeightDesign
from gapfit.structures.margin import joint_features

METHODS = ("joint_features", "loss_augmented_argmax", "loss", "argmax")


@declared
class StructuredClassifier(CertifiedFit):
    """Max-margin model of a structure, with a certificate of its fit.

    It predicts the y that maximises <coef, joint_features(x, y)>, and minimises

        alpha * Omega(coef) + weighted mean of  max over y' of loss(y, y')
                                                + <coef, joint_features(x, y') - joint_features(x, y)>.

    """

    structure: Any = parameter(
        """With the methods joint_features(x, y), loss_augmented_argmax(x, y, w), loss(y, other) and
        argmax(x, w), such as those of `gapfit.structures`. If it says `exact = False`, its argmax may miss
        the maximum.""",
        "object", kw_only=False, form=STRUCTURE, needed="joblib stores it where its class can be imported",
    )  # fmt: skip
    alpha: float = parameter("Weight of the penalty; the loss is a mean.", default=1e-2)
    penalty: Any = parameter("Omega.", "str or Penalty", default="l2", form=PENALTY)
    inexact: bool = parameter(
        """Take a structure whose inference is not exact. What is found is then no bound on the maximum, so
        the certificate does not hold: status_ is LOCAL, dual_gap_ infinite and converged_ False.""",
        default=False,
    )
    tol: float = 1e-3

    coef_: Vector = attribute(floats(1), "array of shape (d,)", "The weights of the joint features.")

    @classmethod
    def _check_stored(cls, fit: dict[str, Any]) -> None:
        check_weights(fit)

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Maybe = None) -> "StructuredClassifier":
        """X : list of inputs
        y : list of the objects that belong to them
        """
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
        kind = OneProblem if exact else _Unproved
        self._certify(kind(problem, "coef_", Given(X, y, sample_weight)))
        return self

    def predict(self, X: Any) -> list[Any]:
        """The best object for each input."""
        check_is_fitted(self, "coef_")
        return [self.structure.argmax(x, self.coef_) for x in X]

    def losses(self, X: Any, y: Any) -> Any:
        """What each prediction costs."""
        pairs = zip(y, self.predict(X), strict=True)
        return np.array([float(self.structure.loss(truth, found)) for truth, found in pairs])

    def score(self, X: Any, y: Any, sample_weight: Maybe = None) -> float:
        """The share of predictions that cost nothing."""
        return float(np.average(self.losses(X, y) == 0, weights=as_weights(sample_weight, len(y))))


class _Unproved(OneProblem):
    """The best weights met; a value that was missed may contradict a bound, which ends the search."""

    resumable = False

    def solution(self, problem: Problem, solver: Solver, checkpoint: Checkpoint | None, how: Any) -> Solution:
        met: list[Progress] = []
        how = {**how, "callbacks": [*how["callbacks"], met.append]}
        try:
            w = super().solution(problem, solver, checkpoint, how).w
        except ContractError:
            w = met[-1].w if met else problem.start()
        J = problem.evaluate(w, np.zeros(0))
        return Solution(
            w=w,
            intercept=0.0,
            status=Status.LOCAL,
            certificate=Certificate(J, -np.inf, np.inf, "none: the inference is not exact"),
            n_iter=len(met),
            history=[Record(*one[:3], -np.inf, np.inf, False) for one in met],
            minorant=problem.nothing(),
            solver=solver_name(solver),
            fingerprint=None,
            state={},
        )


def _check_objects(name: str, objects: Any) -> None:
    """Something that has a length, and can be asked for each of its objects by number."""
    countable = hasattr(objects, "__len__") and hasattr(objects, "__getitem__")
    if not countable or isinstance(objects, str | bytes | Mapping) or sparse.issparse(objects):
        found = type(objects).__name__
        raise TypeError(f"{name} must be a list with an object for each sample, got {found}")
