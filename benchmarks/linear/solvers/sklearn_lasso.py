from benchmark_utils.peer import Peer
from scipy import sparse
from sklearn.linear_model import Lasso


class Solver(Peer):
    """scikit-learn's Lasso: coordinate descent, stopped after a number of epochs."""

    name = "scikit-learn Lasso"
    requirements = ["pip::scikit-learn"]
    test_config = {"objective": {"loss": "squared", "penalty": "l1"}}
    sampling_strategy = "iteration"
    takes = {("squared", "l1"): ("none", "free")}

    def convert(self, X):
        return sparse.csc_matrix(X) if sparse.issparse(X) else X

    def fit(self, X, y, epochs):
        model = Lasso(self.alpha, fit_intercept=self.intercept == "free", tol=0.0, max_iter=epochs)
        model.fit(X, y)
        return model.coef_, model.intercept_
