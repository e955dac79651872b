"""Linear regression: least squares, quantiles, support vector regression, Huber's loss, counts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_pinball_score
from sklearn.utils.validation import check_is_fitted

from gapfit._types import Maybe, Slope, Target, Vector
from gapfit.declaration import attribute, declared, parameter
from gapfit.elsewhere import fetched
from gapfit.estimators.blocks import by_blocks
from gapfit.estimators.fitting import all_or_nothing
from gapfit.estimators.judged import Judged
from gapfit.estimators.linear import WithIntercept
from gapfit.estimators.linear_parts import LinearParts, Posed
from gapfit.estimators.outputs import joint_bounds, rows_of_outputs
from gapfit.estimators.streams import StreamOfNumbers
from gapfit.estimators.targets import as_codes, as_real, as_several, check_loss, target_of
from gapfit.estimators.what_if import WhatIf
from gapfit.losses import Quantiles
from gapfit.persistence.objects import LOSS
from gapfit.persistence.values import FLAG, ONE_OR_A_ROW, floats

TAKES = Target.REAL | Target.COUNTS


@declared
class LinearRegressor(Judged, RegressorMixin, WithIntercept, StreamOfNumbers, WhatIf):
    """A linear regression whose fit carries a proof of how close to optimal it is.

    It minimises ::

        J(w, b) = alpha * Omega(w) + sum_i s_i phi(y_i, x_i'w + o_i + b) / sum_i s_i

    over w and the intercept b, which is *not* penalised. s_i are the weights, o_i known offsets, zero unless
    given. The loss is a weighted mean, so `C = 1 / (alpha * sum_i s_i)` gives the C of libraries that
    minimise Omega(w) + C * sum_i s_i phi_i. A sample of weight k counts as k samples, one of weight 0 is
    absent. Each column of a matrix y has a problem of its own.

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
        "squared_epsilon_insensitive", "huber", "scaled_huber", "poisson" (the mean is exp of the score), or
        an object of `gapfit.losses`, such as `Quantile(q=0.9)`, `Quantiles([0.1, 0.5, 0.9])` or
        `Huber(delta=2)`, or one of your own.""",
        "str or Loss", default="squared", form=LOSS,
    )  # fmt: skip
    fit_intercept: bool = parameter("Whether to have the intercept b.", default=True)

    coef_: NDArray[Any] = attribute(
        floats(1, 2), "array of shape (d,), or (k, d) for k targets or quantiles", "w, in the precision of X."
    )
    intercept_: Any = attribute(ONE_OR_A_ROW, "float, or array of shape (k,)", "b.")
    _exponential_mean: bool = attribute(FLAG)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        counts = Target.COUNTS in target_of(self.loss)
        # scikit-learn's checks of several outputs know no counts; these take several columns, too
        tags.target_tags.positive_only, tags.target_tags.multi_output = counts, not counts
        return tags

    @all_or_nothing
    def fit(
        self, X: Any, y: Maybe = None, sample_weight: Maybe = None, offset: Maybe = None
    ) -> "LinearRegressor":
        """y : array of shape (n,), or (n, k): then a problem for each column, with a certificate of its own
        offset : array of shape (n,), default=None
            Known numbers added to the scores while fitting (and not when predicting), such as the logarithm
            of the exposure for loss="poisson".
        """
        self._end_stream()
        self._solve(self._posed(X, y, sample_weight, offset))
        return self

    def _posed(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Posed:
        loss = check_loss(self.loss, TAKES)
        self._exponential_mean = target_of(loss).meets(Target.COUNTS)
        if (several := as_several(y)) is not None:
            if isinstance(loss, Quantiles):
                k = several.patterns.shape[1]
                raise ValueError(f"y must have one dimension for {loss!r}, got {k} columns")
            samples = self._samples(X, several, as_codes, sample_weight, offset)
            return Posed(samples, list(several.patterns[samples.y].T), loss, self.fit_intercept)
        samples = self._samples(X, y, as_real, sample_weight, offset)
        return Posed(samples, [samples.y], loss, self.fit_intercept)

    def _point(self, parts: LinearParts, w: Sequence[Slope], b: Sequence[Any]) -> dict[str, Any]:
        outputs = len(w[0]) // self.n_features_in_
        if outputs > 1:
            coef, intercept = rows_of_outputs(w[0], b[0], outputs, centred=False)
            return {"coef_": coef, "intercept_": intercept}
        if parts.count == 1:
            return {"coef_": w[0], "intercept_": b[0]}
        return {"coef_": np.stack(w), "intercept_": np.array(b, dtype=np.float64)}

    @by_blocks
    def predict(self, X: Any) -> Vector:
        """The prediction for each row of X: x'coef_ + intercept_, and its exponential for loss="poisson"; of
        shape (n, k) if y had k columns, or if the loss has k quantiles, which are sorted in each row."""
        scores = self._scores(X)
        return np.sort(scores, axis=1) if self._is_joint() else self._mean(scores)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2; for loss=Quantiles(...) the mean over its quantiles of scikit-learn's d2_pinball_score."""
        loss = check_loss(self.loss, TAKES)
        if not isinstance(loss, Quantiles):
            return float(super().score(X, y, sample_weight))
        pairs = zip(loss.quantiles, fetched(self.predict(X)).T, strict=True)
        y, weight = fetched(y), fetched(sample_weight)
        each = [d2_pinball_score(y, f, sample_weight=weight, alpha=q) for q, f in pairs]
        return float(np.mean(each))

    def _is_joint(self) -> bool:
        """Has one problem several scores a sample?"""
        return isinstance(check_loss(self.loss, TAKES), Quantiles)

    def score_bounds(self, X: Any) -> tuple[Vector, Vector]:
        """Bounds lo, hi on the predictions of the exact optimum, true of every optimal model."""
        check_is_fitted(self)
        if self._is_joint() and (ball := self._balls[0]) is not None:
            lo, hi = joint_bounds(ball, self._checked(X), len(self.coef_))
            return np.sort(lo, axis=1), np.sort(hi, axis=1)
        lo, hi = super().score_bounds(X)
        return self._mean(lo), self._mean(hi)

    def _mean(self, scores: Vector) -> Vector:
        """The inverse link."""
        with np.errstate(over="ignore"):
            return np.exp(scores) if self._exponential_mean else scores
