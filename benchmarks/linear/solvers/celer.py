from benchmark_utils.peer import Peer
from celer import Lasso, LogisticRegression
from scipy import sparse


class Solver(Peer):
    """celer: working sets by dual extrapolation, to a gap that it computes itself."""

    name = "celer"
    requirements = ["pip::celer"]
    test_config = {"objective": {"loss": "squared", "penalty": "l1"}}
    sampling_strategy = "tolerance"
    takes = {("squared", "l1"): ("none", "free"), ("logistic", "l1"): ("none",)}

    def convert(self, X):
        return sparse.csc_matrix(X) if sparse.issparse(X) else X

    def fit(self, X, y, tol):
        if self.loss == "squared":
            model = Lasso(self.alpha, fit_intercept=self.intercept == "free", tol=tol)
        else:
            model = LogisticRegression(C=self.C(y), fit_intercept=False, tol=tol)
        model.fit(X, y)
        return model.coef_, model.intercept_
