from benchmark_utils.peer import Peer
from rehline import plq_Ridge_Classifier, plq_Ridge_Regressor


class Solver(Peer):
    """ReHLine: dual coordinate descent for piecewise linear-quadratic losses, for a number of epochs."""

    name = "ReHLine"
    requirements = ["pip::rehline"]
    sampling_strategy = "iteration"
    both_knobs = True
    takes = {("hinge", "l2"): ("none", "penalised"), ("quantile", "l2"): ("none", "penalised")}

    def fit(self, X, y, stop):
        iterations, tol = self.limits(stop)
        hinge = self.loss == "hinge"
        model = (plq_Ridge_Classifier if hinge else plq_Ridge_Regressor)(
            loss={"name": "svm"} if hinge else {"name": "QR", "qt": self.q},
            C=self.C(y),
            fit_intercept=self.intercept == "penalised",
            intercept_scaling=1.0,
            tol=tol,
            max_iter=iterations,
        )
        model.fit(X, y)
        return model.coef_, model.intercept_
