"""Linear one-class novelty detection."""

from collections.abc import Sequence
from typing import Any

from gapfit._types import Maybe, Slope, Vector
from gapfit.declaration import declared
from gapfit.estimators.fitting import all_or_nothing
from gapfit.estimators.linear import LinearModel, WithIntercept
from gapfit.estimators.linear_parts import LinearParts, Posed
from gapfit.estimators.one_class import OneClass
from gapfit.estimators.targets import as_none
from gapfit.losses import Novelty


@declared
class NoveltyDetector(OneClass, WithIntercept, LinearModel):
    """A linear one-class support vector machine whose fit carries a proof of how close to optimal it is.

    It looks for the direction w and the threshold rho that most samples exceed, and minimises ::

        J(w, rho) = alpha * Omega(w) - rho + sum_i s_i max(0, rho - x_i'w) / (nu * sum_i s_i)

    over w and rho, which is not penalised. s_i are the weights; `C = 1 / (alpha * sum_i s_i)`. With the L2
    penalty, alpha sets the scale of w and rho and nothing else (scikit-learn's OneClassSVM has the scale of
    alpha = 1 / (nu n)). With the L1 penalty there may be no minimum. A sample
    of weight k counts as k samples, one of weight 0 is absent.

    Examples
    --------
    >>> import numpy as np
    >>> X = 5 + np.random.default_rng(0).normal(size=(200, 3))
    >>> model = NoveltyDetector(nu=0.05).fit(X)
    >>> model.predict([[5.0, 5.0, 5.0], [0.0, 0.0, 0.0]])
    array([ 1, -1])
    """

    alpha: float = 1.0  # it sets the scale of w and rho

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Maybe = None) -> "NoveltyDetector":
        """y : ignored"""
        loss = Novelty(self.nu)
        samples = self._samples(X, y, as_none, sample_weight)
        self._solve(Posed(samples, [samples.y], loss, True))
        self._told_if_nothing_is_novel()
        return self

    def _point(self, parts: LinearParts, w: Sequence[Slope], b: Sequence[Any]) -> dict[str, Any]:
        return {"coef_": w[0], "intercept_": b[0], "offset_": -b[0]}

    def _above(self, X: Any) -> Vector:
        return self._scores(X)
