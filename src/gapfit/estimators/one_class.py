"""What both novelty detectors have: nu, the threshold, and predictions of which side of it a sample is on."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin

from gapfit._types import Vector
from gapfit.declaration import attribute, declared, parameter
from gapfit.elsewhere import fetched
from gapfit.estimators.blocks import by_blocks
from gapfit.estimators.fitting import warn_caller
from gapfit.persistence.values import FINITE

ON_IT = 1e-9  # of the threshold: the optimum puts some samples right on it, where rounding must not decide


@declared
class OneClass(OutlierMixin, BaseEstimator):
    """A detector whose score exceeds a threshold for most samples."""

    nu: float = parameter(
        "0 < nu <= 1. At the optimum at most a share nu of the weight lies below the threshold.", default=0.5
    )

    offset_: float = attribute(FINITE, "", "The threshold rho; `intercept_` is -rho.")

    def _told_if_nothing_is_novel(self) -> None:
        """Warn where w = 0, whose objective is zero, may be optimal: then all rows are on the threshold."""
        if self.converged_ and self.objective_ >= -self.dual_gap_:
            warn_caller(
                "no row is novel: nothing parts the samples from the origin, which lies among them, as after "
                "centring. Leave the centring out, or take KernelNoveltyDetector with kernel='rbf'",
                UserWarning,
            )

    @abstractmethod
    def _above(self, X: Any) -> Vector:
        """The scores of the rows of X, less the threshold."""

    @by_blocks
    def score_samples(self, X: Any) -> Vector:
        """The score of each row: the larger, the more like the training samples."""
        return self.decision_function(X) + self.offset_

    @by_blocks
    def decision_function(self, X: Any) -> Vector:
        """Scores less `offset_`: negative for outliers, zero where only rounding parts them from the
        threshold."""
        above = self._above(X)
        return np.where(np.abs(above) <= ON_IT * abs(self.offset_), 0.0, above)

    @by_blocks
    def predict(self, X: Any) -> NDArray[np.intp]:
        """+1 for rows that resemble the training samples, -1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def certified(self, X: Any) -> NDArray[np.bool_]:
        """Which predictions are provably those of the exact optimum (of every one, if there are several)."""
        lo, hi = self.score_bounds(X)
        return np.where(fetched(self.decision_function(X)) >= 0, lo >= 0, hi < 0)
