import numpy as np
from benchmark_utils.peer import Peer
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC


class Solver(Peer):
    """liblinear as scikit-learn ships it, which lets us limit the iterations, too.

    The dual is coordinate descent, the primal a trust region Newton method (L2) or newGLMNET (L1). The dual
    solver takes back what it has shrunk only when the rest meets the tolerance: with none it stalls.
    """

    name = "liblinear"
    requirements = ["pip::scikit-learn"]
    sampling_strategy = "iteration"
    both_knobs = True
    parameters = {"dual": [True, False]}

    @property
    def takes(self):
        kinds = ("none", "penalised")
        if self.dual:
            return {(loss, "l2"): kinds for loss in ("hinge", "squared_hinge", "logistic")}
        smooth = ("squared_hinge", "logistic")
        # with L1 its intercept would be in the penalty: nobody has that objective
        return {(loss, "l2"): kinds for loss in smooth} | {(loss, "l1"): ("none",) for loss in smooth}

    def fit(self, X, y, stop):
        iterations, tol = self.limits(stop)
        settings = dict(
            C=self.C(y), dual=self.dual, fit_intercept=self.intercept == "penalised", intercept_scaling=1,
            tol=tol, max_iter=iterations, random_state=0,
        )  # fmt: skip
        if self.loss == "logistic":
            model = LogisticRegression(solver="liblinear", l1_ratio=float(self.penalty == "l1"), **settings)
        else:
            model = LinearSVC(loss=self.loss, penalty=self.penalty, **settings)
        model.fit(X, y)
        return model.coef_, np.ravel(model.intercept_)[0] if self.intercept == "penalised" else 0.0
