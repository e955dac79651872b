"""A solver for benchmark_logreg_l2: sum log(1 + exp(-y X beta)) + lmbd/2 |beta|^2."""

from benchopt import BaseSolver
from benchopt.stopping_criterion import SufficientProgressCriterion

from gapfit import LinearClassifier


class Solver(BaseSolver):
    """The estimator, to a certified gap that falls with benchopt's tolerance."""

    name = "gapfit"
    requirements = ["pip::gapfit"]
    # a step may do for several tolerances
    stopping_criterion = SufficientProgressCriterion(patience=20, strategy="tolerance")

    def set_objective(self, X, y, lmbd):
        self.data = X, y
        self.model = LinearClassifier(loss="logistic", C=1.0 / lmbd, fit_intercept=False)

    def run(self, tolerance):
        self.model.set_params(tol=max(0.01 * tolerance**2, 1e-14)).fit(*self.data)

    def get_result(self):
        return {"beta": self.model.coef_.ravel()}
