from benchmark_utils.peer import Peer
from sklearn.linear_model import SGDClassifier


class Solver(Peer):
    """scikit-learn's stochastic gradient descent, with its own step sizes, for a number of epochs."""

    name = "SGD"
    requirements = ["pip::scikit-learn"]
    sampling_strategy = "iteration"
    parameters = {"average": [False, True]}
    takes = {(loss, "l2"): ("none", "free") for loss in ("hinge", "squared_hinge", "logistic")}

    def fit(self, X, y, epochs):
        loss = "log_loss" if self.loss == "logistic" else self.loss
        model = SGDClassifier(
            loss=loss, alpha=self.alpha, fit_intercept=self.intercept == "free", max_iter=epochs, tol=None,
            average=self.average, random_state=0,
        )  # fmt: skip
        model.fit(X, y)
        return model.coef_, model.intercept_
