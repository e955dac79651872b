"""Linear regression: least squares, quantiles, support vector regression, Huber's loss, counts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from gapfit._types import Maybe, Slope, Target, Vector
from gapfit.declaration import attribute, declared, parameter
from gapfit.estimators.blocks import by_blocks
from gapfit.estimators.fitting import all_or_nothing
from gapfit.estimators.linear import LinearParts, Posed, WithIntercept
from gapfit.estimators.streams import StreamOfNumbers
from gapfit.estimators.targets import as_real, check_loss, target_of
from gapfit.estimators.what_if import WhatIf
from gapfit.persistence.objects import LOSS
from gapfit.persistence.values import FLAG

TAKES = Target.REAL | Target.COUNTS


@declared
class LinearRegressor(RegressorMixin, WithIntercept, StreamOfNumbers, WhatIf):
    """A linear regression whose fit carries a proof of how close to optimal it is.

    It minimises ::

        J(w, b) = alpha * Omega(w) + sum_i s_i phi(y_i, x_i'w + o_i + b) / sum_i s_i

    over w and the intercept b, which is *not* penalised. s_i are the weights, o_i known offsets, zero unless
    given. The loss is a weighted mean, so `C = 1 / (alpha * sum_i s_i)` gives the C of libraries that
    minimise Omega(w) + C * sum_i s_i phi_i. A sample of weight k counts as k samples, one of weight 0 is
    absent.

    Examples
    --------
    >>> import numpy as np
    >>> from gapfit.losses import Quantile
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> y = 3 * X[:, 0] + np.tile([0.0, 1.0], 10)
    >>> model = LinearRegressor(loss=Quantile(q=0.9), alpha=1e-6, tol=1e-8).fit(X, y)
    >>> model.predict([[30.0]]).round(2)
    array([91.])
    >>> lo, hi = model.score_bounds([[30.0]])  # true of the exact optimum
    >>> bool(90 < lo[0] <= hi[0] < 92)
    True
    """

    loss: Any = parameter(
        """phi: "squared" (r^2 / 2), "absolute", "quantile", "epsilon_insensitive",
        "squared_epsilon_insensitive", "huber", "poisson" (the mean is exp of the score), or an object of
        `gapfit.losses`, such as `Quantile(q=0.9)` or `Huber(delta=2)`, or a loss of your own.""",
        "str or Loss", default="squared", form=LOSS,
    )  # fmt: skip
    fit_intercept: bool = parameter("Whether to have the intercept b.", default=True)

    _exponential_mean: bool = attribute(FLAG)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = Target.COUNTS in target_of(self.loss)
        return tags

    @all_or_nothing
    def fit(
        self, X: Any, y: Maybe = None, sample_weight: Maybe = None, offset: Maybe = None
    ) -> "LinearRegressor":
        """offset : array of shape (n,), default=None
        Known numbers added to the scores while fitting (and not when predicting), such as the logarithm
        of the exposure for loss="poisson".
        """
        self._end_stream()
        self._solve(*self._posed(X, y, sample_weight, offset))
        return self

    def _posed(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Posed:
        loss = check_loss(self.loss, TAKES)
        samples = self._samples(X, y, as_real, sample_weight, offset)
        self._exponential_mean = Target.COUNTS in target_of(loss)
        return Posed(samples, [samples.y], loss, self.fit_intercept)

    def _point(self, parts: LinearParts, w: Sequence[Slope], b: Sequence[Any]) -> dict[str, Any]:
        return {"coef_": w[0], "intercept_": b[0]}

    @by_blocks
    def predict(self, X: Any) -> Vector:
        """The prediction for each row of X: x'coef_ + intercept_, and its exponential for loss="poisson"."""
        scores = self._scores(X)
        return self._mean(scores)

    def score_bounds(self, X: Any) -> tuple[Vector, Vector]:
        """Bounds lo, hi on the predictions of the exact optimum, true of every optimal model."""
        lo, hi = super().score_bounds(X)
        return self._mean(lo), self._mean(hi)

    def _mean(self, scores: Vector) -> Vector:
        """The inverse link."""
        with np.errstate(over="ignore"):
            return np.exp(scores) if self._exponential_mean else scores
