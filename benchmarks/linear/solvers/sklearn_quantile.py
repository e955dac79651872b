from benchmark_utils.peer import Peer
from sklearn.linear_model import QuantileRegressor


class Solver(Peer):
    """scikit-learn's QuantileRegressor: a linear program for HiGHS. Its penalty is L1, and it has no knob."""

    name = "QuantileRegressor"
    requirements = ["pip::scikit-learn"]
    test_config = {"objective": {"loss": "quantile", "penalty": "l1"}}
    sampling_strategy = "run_once"
    takes = {("quantile", "l1"): ("none", "free")}

    def fit(self, X, y, stop):
        model = QuantileRegressor(
            quantile=self.q, alpha=self.alpha, fit_intercept=self.intercept == "free", solver="highs"
        )
        model.fit(X, y)
        return model.coef_, model.intercept_
