from benchmark_utils.peer import Peer
from snapml import LogisticRegression, SupportVectorMachine


class Solver(Peer):
    """Snap ML: dual coordinate descent, one thread as by default, for a number of epochs."""

    name = "snapml"
    requirements = ["pip::snapml"]
    sampling_strategy = "iteration"
    both_knobs = True
    takes = {(loss, "l2"): ("none",) for loss in ("hinge", "squared_hinge", "logistic")}

    def fit(self, X, y, stop):
        epochs, tol = self.limits(stop)
        settings = dict(regularizer=self.alpha * len(y), max_iter=epochs, tol=tol, random_state=0)
        if self.loss == "logistic":
            model = LogisticRegression(dual=True, **settings)
        else:
            model = SupportVectorMachine(loss=self.loss, **settings)
        model.fit(X, y)
        return model.coef_, 0.0
