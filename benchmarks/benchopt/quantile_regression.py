"""A solver for benchmark_quantile_regression: mean of pinball losses + lmbd |beta|_1, the intercept last."""

import numpy as np
from benchopt import BaseSolver
from benchopt.stopping_criterion import SufficientProgressCriterion

from gapfit import LinearRegressor
from gapfit.losses import Quantile


class Solver(BaseSolver):
    """The estimator, to a certified gap that falls with benchopt's tolerance."""

    name = "gapfit"
    requirements = ["pip::gapfit"]
    # a step may do for several tolerances
    stopping_criterion = SufficientProgressCriterion(patience=20, strategy="tolerance")

    def set_objective(self, X, y, lmbd, quantile, fit_intercept):
        self.data = X, y
        self.model = LinearRegressor(
            loss=Quantile(quantile), penalty="l1", alpha=lmbd, fit_intercept=fit_intercept
        )

    def run(self, tolerance):
        self.model.set_params(tol=max(0.01 * tolerance**2, 1e-14)).fit(*self.data)

    def get_result(self):
        return {
            "beta": np.append(self.model.coef_, self.model.intercept_)
            if self.model.fit_intercept
            else self.model.coef_
        }
