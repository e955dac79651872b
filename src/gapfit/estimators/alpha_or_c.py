"""How much the penalty weighs: as alpha, beside a mean of losses, or as C, the weight of their sum."""

import numpy as np
from sklearn.base import BaseEstimator

from gapfit.declaration import declared, parameter, parameters
from gapfit.errors import as_number


@declared
class AlphaOrC(BaseEstimator):
    """An estimator that is told one of the two; a fit tells both, as `alpha_` and `C_`."""

    alpha: float = parameter("Multiplies the penalty.", default=1e-4)
    C: float | None = parameter(
        """In place of alpha, as other libraries have it: alpha = 1 / (C * sum of weights), and 1 / (C n)
        without weights. `alpha` is then left as it is by default. Finite: there is always a penalty.""",
        default=None,
    )

    def _alpha(self, total: float) -> float:
        """alpha, or what C amounts to for samples of this total weight."""
        if self.C is None:
            return self.alpha
        if self.alpha != parameters(type(self))["alpha"].default:
            raise ValueError(
                f"alpha={self.alpha!r} and C={self.C!r} say the same thing twice, for alpha = 1 / (C * sum "
                "of weights); give one of them"
            )
        C = as_number("C", self.C)
        if not 0 < C < np.inf:
            raise ValueError(
                f"C must be positive and finite, got {self.C!r}; without a penalty there may be no minimum, "
                "and C = 1e6 is next to none"
            )
        return 1.0 / C / total
