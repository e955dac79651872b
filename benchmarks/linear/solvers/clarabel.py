import cvxpy as cp
from benchmark_utils.peer import Peer


class Solver(Peer):
    """An interior point method on the problem written down in CVXPY, modelling included: for small ones."""

    name = "Clarabel"
    requirements = ["pip::cvxpy", "pip::clarabel"]
    sampling_strategy = "run_once"
    most_entries = 2_000_000
    takes = {
        (loss, penalty): ("none", "free")
        for loss in ("hinge", "squared_hinge", "logistic", "quantile", "squared")
        for penalty in ("l2", "l1")
    }

    def fit(self, X, y, stop):
        w, b = cp.Variable(X.shape[1]), cp.Variable() if self.intercept == "free" else 0.0
        f = X @ w + b
        losses = {
            "hinge": lambda: cp.pos(1 - cp.multiply(y, f)),
            "squared_hinge": lambda: cp.square(cp.pos(1 - cp.multiply(y, f))),
            "logistic": lambda: cp.logistic(-cp.multiply(y, f)),
            "quantile": lambda: cp.maximum(self.q * (y - f), (self.q - 1) * (y - f)),
            "squared": lambda: cp.square(y - f) / 2,
        }
        penalty = cp.norm1(w) if self.penalty == "l1" else cp.sum_squares(w) / 2
        mean = cp.sum(losses[self.loss]()) / len(y)
        cp.Problem(cp.Minimize(self.alpha * penalty + mean)).solve(solver=cp.CLARABEL)
        return w.value, b.value if self.intercept == "free" else 0.0
