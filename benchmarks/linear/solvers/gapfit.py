from benchmark_utils.columns import with_ones
from benchmark_utils.peer import Peer

from gapfit import LinearClassifier, LinearRegressor
from gapfit.losses import Quantile

ALL = ("none", "free", "penalised")
SQUARE = ("newton", "semismooth_newton")  # factorise a matrix of features x features


class Solver(Peer):
    """The estimators, default settings, to a certified gap of `tol`. Validation and proof are timed."""

    name = "gapfit"
    requirements = ["pip::gapfit"]
    sampling_strategy = "tolerance"
    parameters = {"solver": ["auto"]}
    takes = {
        (loss, penalty): ALL
        for loss in ("hinge", "squared_hinge", "logistic", "quantile", "squared")
        for penalty in ("l2", "l1")
    }

    @property
    def most_features(self):
        return 5000 if self.solver in SQUARE else float("inf")

    def convert(self, X):
        return with_ones(X) if self.intercept == "penalised" else X

    def fit(self, X, y, tol):
        regression = self.loss in ("quantile", "squared")
        self.model = (LinearRegressor if regression else LinearClassifier)(
            loss=Quantile(self.q) if self.loss == "quantile" else self.loss,
            penalty=self.penalty,
            alpha=self.alpha,
            fit_intercept=self.intercept == "free",
            solver=self.solver,
            tol=tol,
        ).fit(X, y)
        w = self.model.coef_.ravel()
        return (w[:-1], w[-1]) if self.intercept == "penalised" else (w, self.model.intercept_)

    def bound(self):
        model = getattr(self, "model", None)
        return None if model is None else model.dual_objective_

    def history(self):
        return [(r.time, r.gap / max(abs(r.primal), abs(r.dual))) for r in self.model.history_ if r.proved]

    def certified(self):
        return self.model.converged_
