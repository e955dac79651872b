import numpy as np
from benchmark_utils.peer import LITTLE, Peer
from sklearn.linear_model import LogisticRegression


class Solver(Peer):
    """scikit-learn's own solvers for logistic regression, stopped after a number of iterations."""

    name = "scikit-learn"
    requirements = ["pip::scikit-learn"]
    test_config = {"objective": {"loss": "logistic"}}
    sampling_strategy = "iteration"
    parameters = {"solver": ["lbfgs", "newton-cg", "newton-cholesky"]}
    takes = {("logistic", "l2"): ("none", "free")}

    @property
    def most_features(self):
        return 5000 if self.solver == "newton-cholesky" else np.inf

    def fit(self, X, y, iterations):
        model = LogisticRegression(
            C=self.C(y), solver=self.solver, fit_intercept=self.intercept == "free", tol=LITTLE,
            max_iter=iterations,
        )  # fmt: skip
        model.fit(X, y)
        return model.coef_, model.intercept_
