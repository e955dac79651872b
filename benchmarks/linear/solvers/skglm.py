from benchmark_utils.peer import Peer
from scipy import sparse
from skglm import Lasso, LinearSVC, SparseLogisticRegression


class Solver(Peer):
    """skglm: working sets and Anderson acceleration. Its tolerance bounds a subgradient."""

    name = "skglm"
    requirements = ["pip::skglm"]
    sampling_strategy = "tolerance"
    takes = {
        ("squared", "l1"): ("none", "free"),
        ("logistic", "l1"): ("none", "free"),
        ("hinge", "l2"): ("none",),
    }

    def convert(self, X):
        return sparse.csc_matrix(X) if sparse.issparse(X) else X

    def fit(self, X, y, tol):
        if self.loss == "hinge":
            model = LinearSVC(C=self.C(y), fit_intercept=False, tol=tol)
        else:
            kind = Lasso if self.loss == "squared" else SparseLogisticRegression
            model = kind(alpha=self.alpha, fit_intercept=self.intercept == "free", tol=tol)
        model.fit(X, y)
        return model.coef_, model.intercept_
